import ObjectModel
import XCTest
import _TestSupport

@testable import SyncEngine

/// Random saves and random synchronization, by seed.
final class RandomMirrorTests: XCTestCase {
  /// Runs seeds, and reports the first one that violates an invariant.
  private func run(_ seeds: Range<Int>, stepCount: Int, model: CompiledModel = MirrorModel.model) {
    for seed in seeds {
      var mirror: RandomMirror?
      do {
        mirror = try RandomMirror(seed: UInt64(seed), model: model)
        // A verification takes longer than all steps.
        try mirror?.run(stepCount: stepCount, verifies: seed % 10 == 0)
      } catch {
        return XCTFail("Seed \(seed), after \(mirror?.steps.suffix(8).joined(separator: ", ") ?? "the beginning"): \(error)")
      }
    }
  }

  func testStoresWithFewSavesAreEqual() { run(0..<RandomSteps.count(40), stepCount: 15) }

  func testStoresWithManySavesAreEqual() { run(1_000..<1_000 + RandomSteps.count(16), stepCount: 60) }

  func testStoresWithLinksAreEqual() {
    run(3_000..<3_000 + RandomSteps.count(24), stepCount: 20, model: MirrorModel.withLinks)
    run(4_000..<4_000 + RandomSteps.count(10), stepCount: 60, model: MirrorModel.withLinks)
    PendingSaves.$limit.withValue(3) { run(5_000..<5_000 + RandomSteps.count(8), stepCount: 40, model: MirrorModel.withLinks) }
  }

  func testStoresWithOrderedRelationshipsAreEqual() {
    run(6_000..<6_000 + RandomSteps.count(20), stepCount: 20, model: MirrorModel.withLists)
    run(7_000..<7_000 + RandomSteps.count(6), stepCount: 60, model: MirrorModel.withLists)
    PendingSaves.$limit.withValue(3) { run(8_000..<8_000 + RandomSteps.count(4), stepCount: 40, model: MirrorModel.withLists) }
  }

  func testStoresThatKeepFewPendingChangesInMemoryAreEqual() {
    PendingSaves.$limit.withValue(3) { run(2_000..<2_000 + RandomSteps.count(16), stepCount: 40) }
  }
}
