import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification

@testable import SQLCipherStore

/// Random predicates have the same results in SQL as in memory, and survive printing and parsing.
final class PredicateDifferentialTests: XCTestCase {
  func testTwentyThousandPredicatesMatchInBothEngines() throws {
    // Run more seeds with: PREDICATE_SEEDS=200 swift test --filter PredicateDifferentialTests
    let seeds = ProcessInfo.processInfo.environment["PREDICATE_SEEDS"].flatMap(UInt64.init) ?? 20
    var total = Tally()
    for seed in 1...seeds { try ask(seed: seed, count: 1_000, &total) }
    XCTAssertGreaterThanOrEqual(total.asked, Int(seeds) * 1_000)
    XCTAssertLessThan(total.refused, total.asked / 8, "Too many predicates are refused.")
    XCTAssertGreaterThan(total.telling, total.asked / 4, "Too few predicates distinguish objects.")
  }

  private struct Tally {
    /// Evaluated predicates.
    var asked = 0
    /// Predicates that the model rejects.
    var refused = 0
    /// Predicates that match some objects but not all.
    var telling = 0
  }

  /// Evaluates random predicates on one graph.
  private func ask(seed: UInt64, count: Int, _ tally: inout Tally) throws {
    let store = try TestStore()
    let open = try store.open(RandomModel.model)
    let graph = try RandomGraph(seed: seed, count: 18, in: open)
    var predicates = RandomPredicates(seed: seed &* 7_919, graph: graph)
    let entities = try ["Thing", "Thing", "Thing", "Special", "Person", "Shelf"].map(open.entity)
    let counts = try entities.map { try open.count($0.name) }
    var (asked, tried) = (0, 0)
    while asked < count, tried < count * 2 {
      tried += 1
      let entity = entities[tried % entities.count]
      let predicate = predicates.next(entity)
      let expected: Set<Int64>
      do {
        expected = try graph.keys(entity.name, predicate)
      } catch {
        tally.refused += 1
        XCTAssertThrowsError(try open.ids(FetchSpecification(entityName: entity.name, predicate: predicate)), "\(predicate)")
        continue
      }
      asked += 1
      if asked % 250 == 0 { try queryWithManyValues(open, entity.name, predicate, expected, seed: seed) }
      if !expected.isEmpty, expected.count < counts[tried % entities.count] { tally.telling += 1 }
      let text = predicate.predicateFormat
      let found: Set<Int64>
      do {
        found = Set(try open.ids(FetchSpecification(entityName: entity.name, predicate: predicate)).map(\.key))
      } catch let error as StoreError where error.code == .nestingTooDeep {
        continue
      } catch {
        XCTFail("seed \(seed), \(entity.name): \(text)\n\(error)")
        continue
      }
      if found != expected {
        XCTFail("seed \(seed), \(entity.name): \(text)\nSQL \(found.sorted()), memory \(expected.sorted())")
      }
      do {
        let parsed = try FetchPredicate(format: text)
        if parsed != predicate { XCTFail("printed and parsed: \(text)\n\(parsed)") }
      } catch {
        XCTFail("printed, not parsed: \(error)")
      }
    }
    tally.asked += asked
    try open.close()
  }

  /// Combining a predicate with more values than a statement has parameters does not change the result.
  private func queryWithManyValues(
    _ open: OpenStore, _ entityName: String, _ predicate: FetchPredicate, _ expected: Set<Int64>, seed: UInt64
  ) throws {
    let others = (0..<500).map { number in
      FetchPredicate.compare("name", .equal, "nothing \(number)") && .compare("objectID", .notEqual, nil)
        && .compare("name", .notEqual, "\(number)")
    }
    do {
      let found = Set(try open.ids(FetchSpecification(entityName: entityName, predicate: .or(others + [predicate]))).map(\.key))
      XCTAssertEqual(found, expected, "seed \(seed), \(entityName), next to many values: \(predicate)")
    } catch let error as StoreError where error.code == .nestingTooDeep {
      return
    }
  }
}
