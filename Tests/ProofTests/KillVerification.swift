import Foundation
import ObjectStore
import SQLCipherStore
import StoreKeys
import _ProofStore
import _StoreSpecification
import _TestSupport

/// The steps that a process recorded.
struct KillJournal {
  /// The contents of the process's films by title, after all acknowledged steps.
  private(set) var films: [String: String] = [:]
  /// The same including the unfinished step, if any.
  private(set) var possible: [String: String]?
  private(set) var acknowledged = 0
  private(set) var failure: String?
  private(set) var copies: [KillCopy] = []
  /// Whether the store may have been removed.
  private(set) var removes = false
  private(set) var hasMigrated = false
  /// The passphrase that unlocks the store, and the unfinished step that changes it.
  private(set) var passphrase: String?
  private(set) var pending: KillStep?

  init(_ file: URL) throws {
    // A process that is killed before its first step has no journal.
    guard let data = try? Data(contentsOf: file) else { return }
    // An unterminated last line is incomplete.
    for line in data.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast() {
      try take(JSONDecoder().decode(KillLine.self, from: Data(line)))
    }
    possible = pending.map { Self.applied($0, films) }
  }

  private mutating func take(_ line: KillLine) throws {
    switch line {
    case .begun(let step):
      pending = step
      if step.removes { removes = true }
    case .refused: pending = nil
    case .failed(let problem):
      failure = "\(pending?.name ?? "between steps"): \(problem)"
    case .done:
      guard let step = pending else { throw TortureError.noAnswer("a journal is out of order") }
      films = Self.applied(step, films)
      acknowledged += 1
      if let copy = step.copy { copies.append(copy) }
      if step.migrates { hasMigrated = true }
      if let new = step.passphrase { passphrase = new }
      pending = nil
    }
  }

  private static func applied(_ step: KillStep, _ films: [String: String]) -> [String: String] {
    var films = films
    for (title, line) in step.films { films[title] = line }
    return films
  }
}

/// Checks the store and the journals of processes that were killed.
struct KillVerification {
  let round: KillRound
  let journals: [KillJournal]
  /// The films that existed before.
  let before: [String]

  func problem() throws -> String? {
    var settings = round.settings
    settings.patience = 5
    // The restarted application uses the newer model if any process used it.
    if round.orders.contains(where: { [.migrate, .toolMigrate].contains($0.role) }) { settings.model = 2 }
    let store = try settings.open(round.store)
    let contents = try store.contents()
    if let problem = problem(of: contents) {
      try? store.close()
      return problem
    }
    try store.addFilms(["after the kills"], poster: 4_000)
    let later = try store.contents()
    try store.close()
    let damage = try settings.damage(round.store)
    guard damage.isEmpty else { return "\(damage.prefix(3))" }
    guard try settings.contents(round.store) == later else { return "what was saved after the kills is missing" }
    return try problemOfPassphrases() ?? problemOfCopies(settings) ?? problemOfMigrationCopies()
  }

  private func problem(of contents: [String]) -> String? {
    let films = contents.filter { !$0.hasPrefix("tag ") && !$0.hasPrefix("history ") }
    for title in before where !films.contains(where: { $0.hasPrefix("\(title) ") }) { return "“\(title)” is missing" }
    for (order, journal) in zip(round.orders, journals) {
      let found = Set(films.filter { $0.hasPrefix("p\(order.number).") })
      let expected = [journal.films, journal.possible].compactMap { $0 }.map { Set($0.values) }
      guard !expected.contains(found) else { continue }
      let (lost, strange) = (expected[0].subtracting(found).sorted(), found.subtracting(expected[0]).sorted())
      return
        "process \(order.number), \(order.role.rawValue), \(journal.acknowledged) acknowledged, under way: \(journal.pending?.name ?? "-"): "
        + "\(lost.count) lost \(lost.prefix(2)), \(strange.count) strange \(strange.prefix(2))"
    }
    return nil
  }

  private func problemOfPassphrases() throws -> String? {
    for (order, journal) in zip(round.orders, journals) {
      let possible = [journal.passphrase, journal.pending?.passphrase].compactMap { $0 }
      guard let passphrase = journal.passphrase else { continue }
      let fitting = try possible.filter { try unlocks($0) }
      if fitting.isEmpty { return "no passphrase of process \(order.number) opens the store" }
      if journal.pending?.passphrase == nil, fitting != [passphrase] {
        return "another passphrase of process \(order.number) opens the store"
      }
    }
    return nil
  }

  private func unlocks(_ passphrase: String) throws -> Bool {
    let url = round.store
    do {
      _ = try waitFor { try await SQLCipherStoreFile.unlock(at: url, key: .passphrase(passphrase, .cheapForTests())) }
      return true
    } catch let error as StoreError where error.code == .wrongKey { return false }
  }

  /// Every file with the name of a migration's backup is a whole store of the older model.
  private func problemOfMigrationCopies() throws -> String? {
    guard round.settings.backsUp else { return nil }
    var settings = round.settings
    settings.backsUp = false
    let names = try FileManager.default.contentsOfDirectory(atPath: round.storeFolder.path)
    for name in names where name.hasPrefix("before-") && name.hasSuffix(".store") {
      let place = round.storeFolder.appendingPathComponent(name)
      let films = try settings.contents(place)
      for title in before where !films.contains(where: { $0.hasPrefix("\(title) ") }) { return "“\(title)” is not in \(name)" }
      let damage = try settings.damage(place)
      guard damage.isEmpty else { return "\(name): \(damage.prefix(3))" }
    }
    return nil
  }

  /// Every acknowledged copy is complete.
  private func problemOfCopies(_ settings: ProofSettings) throws -> String? {
    for copy in journals.flatMap(\.copies) {
      let (films, damage) = try copy.contents(in: round, settings)
      for title in before where !films.contains(where: { $0.hasPrefix("\(title) ") }) { return "“\(title)” is not in \(copy.name)" }
      guard damage.isEmpty else { return "\(copy.name): \(damage.prefix(3))" }
    }
    return nil
  }
}

extension KillCopy {
  /// Returns the contents and the damage of the copy. A plaintext copy is imported first.
  func contents(in round: KillRound, _ settings: ProofSettings) throws -> (films: [String], damage: [String]) {
    var place = round.storeFolder.appendingPathComponent(name)
    var settings = settings
    switch kind {
    case .sameKeys: break
    case .toolKey: settings.passphrase = KilledWriters.toolPassphrase
    case .plain:
      let plain = place
      place = round.storeFolder.appendingPathComponent(name + ".again")
      let (target, key) = (place, ProofSettings.key(settings.key))
      try waitFor { _ = try await SQLCipherStoreFile.importPlaintext(from: plain, to: target, key: key) }
    }
    return (try settings.contents(place), try settings.damage(place))
  }
}
