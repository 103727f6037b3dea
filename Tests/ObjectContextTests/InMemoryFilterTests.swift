import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest

/// Fetches that need evaluation in memory (rows P15, F8).
final class InMemoryFilterTests: XCTestCase {
  private let model = ManagedObjectModel {
    Entity("Thing", class: "Mooded") {
      Attribute("name", .string)
      Attribute("rank", .integer64)
      Attribute("mood", .string).transient()
    }
  }
  private let classes = ManagedObjectClasses(["Thing": Mooded.self])

  /// A thing whose transient mood is computed from its rank.
  final class Mooded: ManagedObject {
    override func awakeFromFetch() { setMood() }
    override func awakeFromInsert() { setMood() }
    private func setMood() {
      let rank = self["rank"] as? Int64 ?? 0
      try? setValue(rank % 3 == 0 ? "glad" : "sad", forKey: "mood")
    }
  }

  /// 2,000 saved things with ranks from 0.
  private func onThings(_ kinds: [StoreKind] = StoreKind.allCases, _ body: (Stack) throws -> Void) async throws {
    try await onEachStore(kinds, model: model, classes: classes) { stack in
      let context = stack.makeShortLivedContext()
      for rank in 0..<2_000 { try context.make("Thing", ["name": rank % 2 == 0 ? "even" : "odd", "rank": rank]) }
      try context.save()
      stack.forgetRows()
      try body(stack)
    }
  }

  private func request(_ predicate: FetchPredicate?, by key: String = "rank", ascending: Bool = true) -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: "Thing", predicate: predicate)
    request.allowsInMemoryFiltering = true
    request.sortDescriptors = [FetchSortDescriptor(key, ascending: ascending)]
    return request
  }

  private func ranks(_ objects: [ManagedObject]) -> [Int64] { objects.compactMap { $0["rank"] as? Int64 } }

  /// Returns a predicate for divisible ranks, and a counter of its evaluations.
  private func divisible(by divisor: Int64) -> (predicate: FetchPredicate, calls: Counter) {
    let calls = Counter()
    let predicate = FetchPredicate.block("divisible by \(divisor)") { (thing: ManagedObject) in
      calls.add()
      return (thing["rank"] as? Int64 ?? 1) % divisor == 0
    }
    return (predicate, calls)
  }

  final class Counter: Sendable {
    private let number = Mutex(0)
    var value: Int { number.withLock { $0 } }
    func add() { number.withLock { $0 += 1 } }
  }

  func testBlockPredicateIsRejectedUnlessFilteringIsAllowed() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      var request = request(.block("vowels") { (_: ManagedObject) in true })
      request.allowsInMemoryFiltering = false
      for attempt in [{ _ = try context.fetch(request) }, { _ = try context.count(for: request) }] {
        XCTAssertThrowsError(try attempt()) { error in
          XCTAssertEqual(error as? FetchPredicateError, .blockPredicate(name: "vowels"))
          XCTAssertTrue("\(error)".contains("allowsInMemoryFiltering"), "\(error)")
        }
      }
      // With unsaved changes too.
      try context.make("Thing", ["name": "new", "rank": 1])
      XCTAssertThrowsError(try context.fetch(request))
      request.predicate = try FetchPredicate(format: "mood == 'glad'")
      XCTAssertThrowsError(try context.fetch(request)) { XCTAssertTrue("\($0)".contains("allowsInMemoryFiltering"), "\($0)") }
    }
  }

  func testBlockDescriptionIsItsNameOrLocation() {
    XCTAssertEqual(FetchPredicate.block("vowels") { (_: ManagedObject) in true }.predicateFormat, "BLOCKPREDICATE(vowels)")
    let unnamed = FetchPredicate.block { (_: ManagedObject) in true }
    XCTAssertTrue(unnamed.predicateFormat.hasPrefix("BLOCKPREDICATE(ObjectContextTests/InMemoryFilterTests.swift:"))
    XCTAssertEqual(unnamed, unnamed)
    XCTAssertNotEqual(unnamed, .block { (_: ManagedObject) in true })
  }

  func testObjectsAreFilteredByBlocksAndTransientProperties() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      XCTAssertEqual(ranks(try context.fetch(request(divisible(by: 500).predicate))), [0, 500, 1_000, 1_500])
      let glad = try FetchPredicate(format: "mood == 'glad' AND rank < 10")
      XCTAssertEqual(ranks(try context.fetch(request(glad))), [0, 3, 6, 9])
      let either = try FetchPredicate(format: "rank == 7") || divisible(by: 500).predicate
      XCTAssertEqual(ranks(try context.fetch(request(either))), [0, 7, 500, 1_000, 1_500])
      let neither = try FetchPredicate(format: "rank < 6") && !(try FetchPredicate(format: "mood == 'glad'"))
      XCTAssertEqual(ranks(try context.fetch(request(neither))), [1, 2, 4, 5])
    }
  }

  func testStoreEvaluatesSupportedConditions() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let (block, calls) = divisible(by: 5)
      let predicate = try FetchPredicate(format: "rank < 20") && (block || FetchPredicate(format: "rank == 3"))
      XCTAssertEqual(ranks(try context.fetch(request(predicate))), [0, 3, 5, 10, 15])
      XCTAssertEqual(calls.value, 20)
      // For a disjunction, the stored part of each side.
      let (other, others) = divisible(by: 7)
      let both = try (FetchPredicate(format: "rank < 10") && other) || (FetchPredicate(format: "rank > 1990") && other)
      XCTAssertEqual(ranks(try context.fetch(request(both))), [0, 7, 1_995])
      XCTAssertLessThanOrEqual(others.value, 19 * 2)
      // The negation of a conjunction is a disjunction.
      let (third, thirds) = divisible(by: 10)
      let opposite = try !(FetchPredicate(format: "rank >= 30") || third)
      XCTAssertEqual(try context.count(for: request(opposite)), 27)
      XCTAssertEqual(thirds.value, 30)
    }
  }

  func testLimitsAndOffsetsApplyAfterFiltering() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let (block, calls) = divisible(by: 3)
      var request = request(block)
      (request.fetchLimit, request.fetchOffset) = (3, 2)
      XCTAssertEqual(ranks(try context.fetch(request)), [6, 9, 12])
      // Evaluation stops at the end of the window.
      XCTAssertEqual(calls.value, 13)
      var ids = FetchRequest<ManagedObjectID>(entityName: "Thing")
      ids.specification = request.specification
      XCTAssertEqual(try context.fetch(ids).map { context.object(with: $0)["rank"] as? Int64 }, [6, 9, 12])
      XCTAssertEqual(try context.count(for: request), 3)
      (request.fetchLimit, request.fetchOffset) = (0, 660)
      XCTAssertEqual(try context.count(for: request), 7)
      XCTAssertEqual(ranks(try context.fetch(request)).first, 1_980)
    }
  }

  func testUnsavedChangesAreFilteredToo() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let request = request(try FetchPredicate(format: "rank < 12 OR rank > 5000") && divisible(by: 5).predicate)
      context.delete(try XCTUnwrap(context.objects("Thing", where: "rank == 5").first))
      try context.make("Thing", ["name": "new", "rank": 6_000])
      try XCTUnwrap(context.objects("Thing", where: "rank == 10").first).setValue(11, forKey: "rank")
      try XCTUnwrap(context.objects("Thing", where: "rank == 1").first).setValue(5_005, forKey: "rank")
      XCTAssertEqual(ranks(try context.fetch(request)), [0, 5_005, 6_000])
      XCTAssertEqual(try context.count(for: request), 3)
      try context.save()
      XCTAssertEqual(ranks(try context.fetch(request)), [0, 5_005, 6_000])
    }
  }

  func testTransientPropertiesSortInMemory() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      var request = request(try FetchPredicate(format: "rank < 6"), by: "mood", ascending: false)
      request.sortDescriptors.append(FetchSortDescriptor("rank"))
      XCTAssertEqual(ranks(try context.fetch(request)), [1, 2, 4, 5, 0, 3])
      (request.fetchLimit, request.fetchOffset) = (2, 3)
      XCTAssertEqual(ranks(try context.fetch(request)), [5, 0])
      request.allowsInMemoryFiltering = false
      XCTAssertThrowsError(try context.fetch(request))
    }
  }

  func testSupportedPredicatesAreNotFilteredInMemory() async throws {
    try await onThings([.sqlcipher]) { stack in
      let context = stack.makeContext()
      stack.statements?.reset()
      XCTAssertEqual(try context.fetch(request(try FetchPredicate(format: "name == 'odd'"))).count, 1_000)
      XCTAssertEqual(stack.statements?.count, 1)
    }
  }

  func testFetchRethrowsBlockErrors() async throws {
    struct Failure: Error {}
    try await onThings { stack in
      let context = stack.makeContext()
      XCTAssertThrowsError(try context.fetch(request(.block { (_: ManagedObject) in throw Failure() }))) { XCTAssertTrue($0 is Failure) }
      XCTAssertThrowsError(try context.fetch(request(.block("authors") { (_: Author) in true }))) {
        XCTAssertTrue("\($0)".contains("authors"), "\($0)")
      }
    }
  }

  func testDictionariesAreNotFiltered() async throws {
    try await onThings { stack in
      var request = FetchRequest<[String: Any]>(entityName: "Thing", predicate: try FetchPredicate(format: "mood == 'glad'"))
      request.allowsInMemoryFiltering = true
      XCTAssertThrowsError(try stack.makeContext().fetch(request)) { XCTAssertTrue("\($0)".contains("dictionaries"), "\($0)") }
    }
  }

  func testInvalidPredicatesWithBlocksThrow() async throws {
    try await onThings { stack in
      let predicate = try FetchPredicate(format: "nme == 'x'") && divisible(by: 2).predicate
      XCTAssertThrowsError(try stack.makeContext().fetch(request(predicate))) {
        XCTAssertEqual($0 as? FetchPredicateError, .unknownKey(key: "nme", keyPath: "nme", entity: "Thing", suggestion: "name"))
      }
    }
  }
}
