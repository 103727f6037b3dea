import Foundation
import ObjectModel
import ObjectStore
import SQLCipherStore
import _ProofStore
import _StoreSpecification
import _TestSupport

/// Checks a store that killed processes replaced or removed: it is one of two whole stores, or missing after a removal.
struct ReplacementVerification {
  let round: KillRound
  let journals: [KillJournal]

  /// Makes the replacement stores, a plaintext copy of the first, and the store itself, which equals the first.
  static func makeSources(_ round: KillRound) throws {
    for name in KillRound.sources {
      let films = (0..<KillRound.filmsOfSource).map { "\(name) \($0)" }
      try KilledWriters.make(round.source(name), films, round.settings)
    }
    let first = try round.settings.unlock(round.source(KillRound.sources[0]))
    let (store, plain) = (round.store, round.source(KillRound.plainSource))
    try waitFor {
      try await first.backUp(to: store)
      try await first.exportPlaintext(to: plain)
    }
  }

  func problem() throws -> String? {
    var settings = round.settings
    settings.patience = 5
    settings.makesStore = false
    let expected = try KillRound.sources.map { try settings.contents(round.source($0)) }
    let isRemoved = journals.contains { $0.removes }
    if let problem = try problem(expected, settings, mayBeMissing: isRemoved) { return problem }
    for copy in journals.flatMap(\.copies) {
      let (films, damage) = try copy.contents(in: round, round.settings)
      guard expected.contains(films), damage.isEmpty else { return "\(copy.name) has \(films.count) objects: \(damage.prefix(3))" }
    }
    if let problem = try problemOfRemoval() { return problem }
    // The store can be replaced again.
    let (source, store) = (settings.description(round.source(KillRound.sources[1])), settings.description(round.store))
    try waitFor {
      let coordinator = try PersistentStoreCoordinator(managedObjectModel: ManagedObjectModel())
      try await coordinator.replacePersistentStore(with: store, withPersistentStoreFrom: source)
    }
    return try problem([expected[1]], settings, mayBeMissing: false)
  }

  /// Checks that the store is one of the expected ones, and usable.
  private func problem(_ expected: [[String]], _ settings: ProofSettings, mayBeMissing: Bool) throws -> String? {
    var settings = settings
    let found: [String]
    do { found = try contents(&settings) } catch let error as StoreError
      where mayBeMissing && [.storeNotFound, .keyFileMissing, .keyFileCorrupt, .notAStore].contains(error.code)
    { return nil }
    guard expected.contains(found) else {
      return "the store has \(found.count) objects, such as \(found.prefix(2)), and is not one of the stores placed there"
    }
    let damage = try settings.damage(round.store)
    guard damage.isEmpty else { return "\(damage.prefix(3))" }
    let store = try settings.open(round.store)
    try store.addFilms(["after the kills"], poster: 4_000)
    let later = try store.contents()
    try store.close()
    return try settings.contents(round.store) == later ? nil : "what was saved after the kills is missing"
  }

  /// A store imported from a plaintext copy has the tool's passphrase only.
  private func contents(_ settings: inout ProofSettings) throws -> [String] {
    do { return try settings.contents(round.store) } catch let error as StoreError where error.code == .wrongKey {
      settings.passphrase = KilledWriters.toolPassphrase
      return try settings.contents(round.store)
    }
  }

  /// Checks that the remains can be removed completely.
  private func problemOfRemoval() throws -> String? {
    let store = round.settings.description(round.store)
    do {
      try waitFor { try await PersistentStoreCoordinator(managedObjectModel: ManagedObjectModel()).destroyPersistentStore(with: store) }
    } catch let error as StoreError where error.code == .storeNotFound {}
    let names = try FileManager.default.contentsOfDirectory(atPath: round.storeFolder.path)
    let left = names.filter { $0.contains(round.store.lastPathComponent) }
    return left.isEmpty ? nil : "\(left) is left of a store that was removed"
  }
}
