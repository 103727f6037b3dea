import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Unsaved changes in the results of fetches.
final class FetchMergingTests: XCTestCase {
  private let model = ManagedObjectModel {
    Entity("Thing") {
      Attribute("name", .string)
      Attribute("rank", .integer64)
      Relationship("owner", to: "Owner", inverse: "things")
    }
    Entity("Special", parent: "Thing")
    Entity("Owner") {
      Attribute("name", .string)
      Relationship("things", toMany: "Thing", inverse: "owner")
    }
  }

  /// Ten saved things with ranks 0, 10, … 90, of which two are deleted and two changed, with three new ones in between.
  private func onChangedThings(_ body: (Stack, ManagedObjectContext) throws -> Void) async throws {
    try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
      let writer = stack.makeContext()
      for rank in stride(from: 0, to: 100, by: 10) { try writer.make("Thing", ["name": "t\(rank)", "rank": rank]) }
      try writer.save()
      let context = stack.makeContext()
      for name in ["t20", "t90"] { context.delete(try context.named(name, "Thing")) }
      try context.named("t50", "Thing").setValue(5, forKey: "rank")
      try context.named("t60", "Thing").setValue("other", forKey: "name")
      for rank in [1, 45, 99] { try context.make(rank == 45 ? "Special" : "Thing", ["name": "t\(rank)", "rank": rank]) }
      try body(stack, context)
    }
  }

  private func ranks(_ objects: [ManagedObject]) -> [Int64] { objects.compactMap { $0["rank"] as? Int64 } }

  private func request(
    _ format: String? = nil, ascending: Bool = true, limit: Int = 0, offset: Int = 0
  ) throws -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: "Thing")
    request.predicate = try format.map { try FetchPredicate(format: $0) }
    request.sortDescriptors = [FetchSortDescriptor("rank", ascending: ascending)]
    request.fetchLimit = limit
    request.fetchOffset = offset
    return request
  }

  func testInsertsDeletesAndUpdatesAreSortedIn() async throws {
    try await onChangedThings { _, context in
      XCTAssertEqual(ranks(try context.fetch(try request())), [0, 1, 5, 10, 30, 40, 45, 60, 70, 80, 99])
      XCTAssertEqual(ranks(try context.fetch(try request(ascending: false))), [99, 80, 70, 60, 45, 40, 30, 10, 5, 1, 0])
    }
  }

  func testPredicateIsEvaluatedOnUnsavedValues() async throws {
    try await onChangedThings { _, context in
      XCTAssertEqual(ranks(try context.fetch(try request("rank < 30"))), [0, 1, 5, 10])
      XCTAssertEqual(ranks(try context.fetch(try request("name BEGINSWITH 't'"))), [0, 1, 5, 10, 30, 40, 45, 70, 80, 99])
      XCTAssertEqual(ranks(try context.fetch(try request("name == 'other'"))), [60])
    }
  }

  func testLimitAndOffsetAreAppliedAfterMerging() async throws {
    try await onChangedThings { _, context in
      let all: [Int64] = [0, 1, 5, 10, 30, 40, 45, 60, 70, 80, 99]
      for limit in [1, 3, 5, 11, 20] {
        for offset in [0, 1, 4, 10, 11, 30] {
          let expected = Array(all.dropFirst(offset).prefix(limit))
          XCTAssertEqual(ranks(try context.fetch(try request(limit: limit, offset: offset))), expected, "\(limit) \(offset)")
        }
      }
    }
  }

  func testCountsAndIDsMatchTheObjects() async throws {
    try await onChangedThings { _, context in
      for format in [nil, "rank < 30", "rank > 1000", "name == 'other'"] {
        for (limit, offset) in [(0, 0), (3, 0), (3, 2), (0, 4)] {
          let request = try request(format, limit: limit, offset: offset)
          let objects = try context.fetch(request)
          XCTAssertEqual(try context.count(for: request), objects.count)
          var ids = FetchRequest<ManagedObjectID>(entityName: "Thing")
          ids.specification = request.specification
          XCTAssertEqual(try context.fetch(ids), objects.map(\.objectID))
        }
      }
    }
  }

  func testFetchWithoutPendingChangesUsesOnlyTheStore() async throws {
    try await onChangedThings { _, context in
      var request = try request()
      request.includesPendingChanges = false
      XCTAssertEqual(try context.count(for: request), 10)
      XCTAssertEqual(try context.fetch(request).count, 10)
    }
  }

  func testSubentitiesCanBeExcluded() async throws {
    try await onChangedThings { _, context in
      var request = try request()
      request.includesSubentities = false
      XCTAssertFalse(ranks(try context.fetch(request)).contains(45))
      XCTAssertEqual(try context.objects("Special").count, 1)
    }
  }

  func testPredicateIncludesChangedRelationships() async throws {
    try await onChangedThings { stack, context in
      let owner = try context.make("Owner", ["name": "me"])
      let thing = try context.named("t10", "Thing")
      try thing.setValue(owner, forKey: "owner")
      XCTAssertEqual(try context.objects("Thing", where: "owner.name == 'me'"), [thing])
      XCTAssertEqual(try context.objects("Owner", where: "ANY things.rank == 10"), [owner])
      var request = try request("owner == nil")
      request.fetchLimit = 2
      XCTAssertEqual(ranks(try context.fetch(request)), [0, 1])
      try context.save()
      XCTAssertEqual(try stack.makeContext().objects("Thing", where: "owner.name == 'me'").count, 1)
    }
  }

  func testAFetchOfAnEntityWithoutChangesIsNotMerged() async throws {
    try await onChangedThings { stack, context in
      stack.statements?.reset()
      XCTAssertEqual(try context.objects("Owner"), [])
      if let statements = stack.statements { XCTAssertEqual(statements.count, 1) }
    }
  }

  func testObjectsAreMergedInTheOrderOfExpressions() async throws {
    try await onChangedThings { _, context in
      var request = try request()
      request.sortDescriptors = [
        FetchSortDescriptor(expression: try FetchExpression(format: "rank %% 2"), ascending: false),
        FetchSortDescriptor(expression: try FetchExpression(format: "length(name)")), FetchSortDescriptor("rank"),
      ]
      request.fetchLimit = 7
      let found = ranks(try context.fetch(request))
      XCTAssertEqual(found, [1, 5, 45, 99, 0, 10, 30])
      try context.save()
      XCTAssertEqual(ranks(try context.fetch(request)), found)
    }
  }

  func testDictionariesShowSavedValues() async throws {
    try await onChangedThings { _, context in
      var request = FetchRequest<[String: Any]>(entityName: "Thing")
      request.propertiesToFetch = ["name", "rank"]
      request.sortDescriptors = [FetchSortDescriptor("rank")]
      let rows = try context.fetch(request)
      XCTAssertEqual(rows.count, 10)
      XCTAssertEqual(rows[6]["name"] as? String, "t60")
      XCTAssertEqual(rows[5]["rank"] as? Int64, 50)
    }
  }

  func testStringsAreMergedInStoreOrder() async throws {
    try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
      let context = stack.makeContext()
      let words = ["b", "a", "Z", "é", "e", "ä", "", "10", "9", "🐠", "ﬀ"]
      for (position, word) in words.enumerated() where position % 2 == 0 { try context.make("Thing", ["name": word]) }
      try context.make("Thing")
      try context.save()
      for (position, word) in words.enumerated() where position % 2 == 1 { try context.make("Thing", ["name": word]) }
      try context.make("Thing")
      let merged = try context.objects("Thing", by: "name").map { $0.text("name") }
      try context.save()
      XCTAssertEqual(merged, try stack.makeContext().objects("Thing", by: "name").map { $0.text("name") })
      XCTAssertEqual(merged.prefix(2), [nil, nil])
    }
  }

  func testFindPrecedesCreate() async throws {
    try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
      let context = stack.makeContext()
      for number in 0..<600 {
        let name = "t\(number % 200)"
        var request = FetchRequest<ManagedObject>(entityName: "Thing")
        request.predicate = try FetchPredicate(format: "name == %@ AND rank < 1000", name)
        request.fetchLimit = 1
        let found = try context.fetch(request).first
        XCTAssertEqual(found == nil, number < 200)
        let thing = try found ?? context.make("Thing", ["name": name])
        try thing.setValue(number, forKey: "rank")
        if number == 100 || number == 300 { try context.save() }
      }
      try context.save()
      XCTAssertEqual(try stack.makeContext().objects("Thing").count, 200)
    }
  }
}
