import Foundation
import ObjectStore
import SQLCipherStore
import StoreKeys
import _ProofStore
import _StoreSpecification
import _TestSupport

/// A power loss at one point of a workload, and a random state of the disk. The same seed reproduces the same case.
struct PowerCut: ProofCase {
  let work: RecordedWork
  /// The number of preceding calls.
  let count: Int
  let image: DiskImage

  init(_ work: RecordedWork, seed: UInt64, ignoresSyncs: Bool = false) {
    self.work = work
    var random = SeededGenerator(seed: seed)
    count = Int.random(in: 0...work.record.actions.count, using: &random)
    let manner = CrashManner.allCases.randomElement(using: &random) ?? .nothing
    image = CrashDisk(work.record, after: count, ignoresSyncs: ignoresSyncs).image(manner, &random)
  }

  /// Opens the remaining files as a restarted application does.
  func problem() throws -> String? {
    let folder = try WatchedFolder()
    try CrashDisk.write(image, to: folder.url)
    return try problem(folder.store)
  }

  func keep(in folder: URL) throws { try CrashDisk.write(image, to: folder) }

  private var begun: Int { work.progress(after: count).begun }
  private var acknowledged: Int { work.progress(after: count).acknowledged }

  /// The position in the workload.
  var description: String {
    let step = begun >= 0 ? work.steps[begun].name : "before the first step"
    return "\(work.name), after call \(count) of \(work.record.actions.count), in step \(begun) (\(step)), \(acknowledged + 1) acknowledged"
  }

  /// The steps one of whose states the store must have.
  private var allowed: [WorkStep?] {
    var first = acknowledged
    if work.steps.first?.settings.isFast == true {
      while first >= 0, !work.steps[first].isDurable { first -= 1 }
    }
    return (first...max(begun, first)).map { $0 < 0 ? nil : work.steps[$0] }
  }

  private func problem(_ url: URL) throws -> String? {
    let allowed = allowed
    // The restarted application uses the newest model that was in use.
    var settings = allowed.last??.settings ?? work.steps[0].settings
    let keys = Set([acknowledged, begun].map { work.steps[max(0, $0)].settings.key })
    // Another call completes an interrupted removal.
    if allowed.contains(where: { $0?.contents == nil }), begun > 0, let key = keys.first {
      settings.key = key
      if (try? settings.open(url).close()) == nil { try destroy(url, settings) }
    }
    var found: OpenStore?
    for key in keys.sorted(by: >) where found == nil {
      settings.key = key
      do { found = try settings.open(url) } catch let error as StoreError where error.code == .wrongKey && keys.count > 1 {}
    }
    guard let store = found else { return "no key opens the store" }
    let contents = try store.contents()
    // The first step makes a store, as this opening does if it is missing.
    let expected = allowed.map { ($0 ?? work.steps.first)?.contents ?? [] }
    guard expected.contains(contents) else {
      try? store.close()
      return "found \(contents.count) lines, expected \(expected.map(\.count)): \(Self.difference(contents, expected.last ?? []))"
    }
    // The store is still usable.
    try store.addFilms(["after the cut"], poster: 4_000)
    let later = try store.contents()
    try store.close()
    let damage = try settings.damage(url)
    guard damage.isEmpty else { return "\(damage.prefix(3))" }
    guard try settings.contents(url) == later else { return "what was saved after the cut is missing" }
    return try problemOfCopies(url)
  }

  /// Checks that each copy is complete, or missing if it was not acknowledged.
  private func problemOfCopies(_ url: URL) throws -> String? {
    for (number, step) in work.steps.enumerated() where number <= begun {
      for (name, contents) in step.copies {
        let place = url.deletingLastPathComponent().appendingPathComponent(name)
        guard FileManager.default.fileExists(atPath: place.path) else {
          if number <= acknowledged { return "\(name) is missing" }
          continue
        }
        var settings = step.settings
        settings.isFast = false
        let found = try settings.contents(place)
        // A copy of a store that can lose its last saves contains them all.
        guard found == contents else { return "\(name) holds something else" }
      }
    }
    return nil
  }

  private func destroy(_ url: URL, _ settings: ProofSettings) throws {
    let coordinator = PersistentStoreCoordinator(compiledModel: try ProofModel.model(settings.model))
    let description = settings.description(url)
    do {
      try waitFor { try await coordinator.destroyPersistentStore(with: description) }
    } catch let error as StoreError where error.code == .storeNotFound {}
  }

  private static func difference(_ found: [String], _ expected: [String]) -> String {
    let (more, less) = (Set(found).subtracting(expected), Set(expected).subtracting(found))
    return "more \(more.sorted().prefix(2).map { $0.prefix(60) }), less \(less.sorted().prefix(2).map { $0.prefix(60) })"
  }
}
