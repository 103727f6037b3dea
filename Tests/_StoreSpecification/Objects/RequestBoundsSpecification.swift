import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// A negative limit, offset or batch size makes every kind of request throw; numbers near the largest integer are valid.
public final class RequestBoundsSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testANegativeNumberMakesEveryKindOfFetchThrow", { $0.testANegativeNumberMakesEveryKindOfFetchThrow }),
        ("testANegativeNumberMakesAFetchWithUnsavedChangesThrow", { $0.testANegativeNumberMakesAFetchWithUnsavedChangesThrow }),
        ("testANegativeNumberMakesFetchesOfANestedContextThrow", { $0.testANegativeNumberMakesFetchesOfANestedContextThrow }),
        ("testANegativeNumberMakesAsynchronousFetchesThrow", { $0.testANegativeNumberMakesAsynchronousFetchesThrow }),
        ("testANegativeNumberMakesBatchRequestsThrow", { $0.testANegativeNumberMakesBatchRequestsThrow }),
        ("testANegativeNumberMakesAControllerThrow", { $0.testANegativeNumberMakesAControllerThrow }),
        ("testANegativeNumberMakesADecodedRequestThrow", { $0.testANegativeNumberMakesADecodedRequestThrow }),
        ("testANegativeNumberMakesChainedRequestsThrow", { $0.testANegativeNumberMakesChainedRequestsThrow }),
        ("testLargestLimitsAndOffsetsAreValid", { $0.testLargestLimitsAndOffsetsAreValid }),
      ] as [(String, (RequestBoundsSpecification) -> () throws -> Void)])
  }

  /// Sets one of the three numbers of a request.
  private typealias Change = @Sendable (inout FetchSpecification) -> Void

  private static let mistakes: [(clause: FetchClause, change: Change)] = [
    (.fetchLimit, { $0.fetchLimit = -1 }), (.fetchOffset, { $0.fetchOffset = -1 }), (.fetchBatchSize, { $0.fetchBatchSize = -1 }),
    (.fetchLimit, { $0.fetchLimit = .min }), (.fetchOffset, { $0.fetchOffset = .min }), (.fetchBatchSize, { $0.fetchBatchSize = .min }),
    (.fetchOffset, { ($0.fetchLimit, $0.fetchOffset) = (2, -3) }), (.fetchLimit, { ($0.fetchLimit, $0.fetchOffset) = (-2, 3) }),
  ]

  private func makeAuthors() throws -> OpenStore {
    let open = try makeStore()
    let context = open.newContext()
    for name in ["Ada", "Bob", "Cyd"] { try context.insert("Author", ["name": name, "born": 1800]) }
    try context.save()
    return open
  }

  private func request<Result: FetchResult>(_ type: Result.Type, _ change: Change) -> FetchRequest<Result> {
    var request = FetchRequest<Result>(entityName: "Author")
    request.sortDescriptors = [FetchSortDescriptor("name")]
    change(&request.specification)
    return request
  }

  private func request(_ change: Change) -> FetchRequest<ManagedObject> { request(ManagedObject.self, change) }

  private func expect(_ clause: FetchClause, _ what: String, line: UInt = #line, _ body: () throws -> Void) {
    XCTAssertThrowsError(try body(), "\(what), \(clause)", line: line) { error in
      XCTAssertEqual(error as? FetchPredicateError, .negativeNumber(clause: clause), "\(what): \(error)", line: line)
      XCTAssertTrue("\(error)".hasPrefix("\(clause.rawValue) is negative. Give "), "\(error)", line: line)
    }
  }

  /// Runs every operation that takes a request.
  private func expectErrors(in context: ManagedObjectContext, explains: Bool = true, line: UInt = #line) {
    for (clause, change) in Self.mistakes {
      let objects = request(change)
      expect(clause, "objects", line: line) { _ = try context.fetch(objects) }
      expect(clause, "IDs", line: line) { _ = try context.fetch(request(ManagedObjectID.self, change)) }
      expect(clause, "dictionaries", line: line) { _ = try context.fetch(request([String: Any].self, change)) }
      expect(clause, "groups", line: line) {
        var groups = request([String: Any].self, change)
        groups.sortDescriptors = []
        groups.propertiesToGroupBy = [.keyPath("born")]
        groups.propertiesToFetch = [.keyPath("born"), .expression(.function("count:", [.evaluatedObject]), as: "n")]
        _ = try context.fetch(groups)
      }
      expect(clause, "a count", line: line) { _ = try context.count(for: objects) }
      expect(clause, "a count of dictionaries", line: line) { _ = try context.count(for: request([String: Any].self, change)) }
      expect(clause, "keys only", line: line) {
        var keys = objects
        keys.includesPropertyValues = false
        _ = try context.fetch(keys)
      }
      expect(clause, "filtered in memory", line: line) {
        var filtered = objects
        filtered.allowsInMemoryFiltering = true
        filtered.predicate = .block { (_: ManagedObject) in true }
        _ = try context.fetch(filtered)
      }
      expect(clause, "batches", line: line) { _ = try context.fetch(objects, batchSize: 2) }
      expect(clause, "a walk", line: line) { try context.enumerateBatches(of: objects) { _, _ in } }
      expect(clause, "small batches", line: line) { try context.enumerateBatches(of: objects, size: 2) { _, _ in } }
      expect(clause, "all IDs", line: line) { _ = try context.fetchIdentifiers(objects) }
      expect(clause, "the first", line: line) { _ = try context.fetchFirst(objects) }
      expect(clause, "the only one", line: line) { _ = try context.fetchExactlyOne(objects) }
      expect(clause, "snapshots", line: line) { _ = try context.fetch(objects, as: ObjectSnapshot.self) }
      if explains { expect(clause, "explained", line: line) { _ = try context.explain(objects) } }
    }
    XCTAssertThrowsError(try context.fetch(request({ _ in }), batchSize: -1), line: line)
    XCTAssertThrowsError(try context.enumerateBatches(of: request({ _ in }), size: -1) { _, _ in }, line: line)
  }

  func testANegativeNumberMakesEveryKindOfFetchThrow() throws {
    let open = try makeAuthors()
    let context = open.newContext()
    expectErrors(in: context)
    XCTAssertEqual(try context.count(for: request({ _ in })), 3)
  }

  func testANegativeNumberMakesAFetchWithUnsavedChangesThrow() throws {
    let open = try makeAuthors()
    let context = open.newContext()
    try context.insert("Author", ["name": "Dot"])
    try find("Author", "name", "Ada", in: context).setValue("Eve", forKey: "name")
    context.delete(try find("Author", "name", "Bob", in: context))
    expectErrors(in: context)
    XCTAssertEqual(try context.texts("name", request { ($0.fetchLimit, $0.fetchOffset) = (1, 1) }), ["Dot"])
  }

  func testANegativeNumberMakesFetchesOfANestedContextThrow() throws {
    let open = try makeAuthors()
    let parent = open.newContext()
    try parent.insert("Author", ["name": "Dot"])
    let child = ManagedObjectContext(parent: parent)
    expectErrors(in: child, explains: false)
    XCTAssertEqual(try child.texts("name", request { $0.fetchOffset = 3 }), ["Dot"])
  }

  func testANegativeNumberMakesAsynchronousFetchesThrow() throws {
    let open = try makeAuthors()
    let context = open.newContext()
    for (clause, change) in Self.mistakes {
      expect(clause, "asynchronously") { _ = try context.asynchronousFetch(request(change)) }
      expect(clause, "snapshots asynchronously") { _ = try context.asynchronousFetch(request(change), as: ObjectSnapshot.self) }
    }
  }

  func testANegativeNumberMakesBatchRequestsThrow() throws {
    let open = try makeAuthors()
    let context = open.newContext()
    for (clause, change) in Self.mistakes {
      expect(clause, "a batch deletion") { _ = try context.execute(BatchDeleteRequest(fetchRequest: request(change))) }
      expect(clause, "a deletion") { _ = try context.delete(request(change)) }
      expect(clause, "an update") { _ = try context.update(request(change)) { _ in XCTFail("values are asked for") } }
    }
    for change: Change in [{ $0.fetchLimit = 1 }, { $0.fetchOffset = 1 }] {
      assertStoreError(.invalidRequest) { try context.update(request(change)) { _ in } }
    }
    XCTAssertEqual(try context.count(for: request({ _ in })), 3)
  }

  func testANegativeNumberMakesAControllerThrow() throws {
    let open = try makeAuthors()
    let context = open.newContext()
    for (clause, change) in Self.mistakes {
      let controller = FetchedResultsController(fetchRequest: request(change), context: context, sectionNameExpression: nil)
      expect(clause, "results") { try controller.performFetch() }
    }
  }

  func testANegativeNumberMakesADecodedRequestThrow() throws {
    let open = try makeAuthors()
    let context = open.newContext()
    for (clause, change) in Self.mistakes {
      let data = try JSONEncoder().encode(request(change))
      let decoded = try JSONDecoder().decode(FetchRequest<ManagedObject>.self, from: data)
      XCTAssertEqual(decoded, request(change))
      expect(clause, "a decoded fetch") { _ = try context.fetch(decoded) }
      expect(clause, "a decoded count") { _ = try context.count(for: decoded) }
      expect(clause, "a decoded update") { _ = try context.update(decoded) { _ in } }
    }
  }

  func testANegativeNumberMakesChainedRequestsThrow() throws {
    let open = try makeAuthors()
    let context = open.newContext()
    let all = request { _ in }
    for (clause, request) in [
      (FetchClause.fetchLimit, all.limit(-1)), (.fetchOffset, all.offset(-1)), (.fetchLimit, all.limit(3).limit(-1)),
    ] {
      expect(clause, "a fetch") { _ = try context.fetch(request) }
      expect(clause, "an update") { _ = try context.update(request) { _ in } }
      expect(clause, "a deletion") { _ = try context.delete(request) }
      expect(clause, "prefetching") {
        var request = request
        request.relationshipKeyPathsForPrefetching = ["books"]
        _ = try context.fetch(request)
      }
      expect(clause, "a selection") { _ = try context.fetch(request.select { $0.objectCount }) }
    }
    expect(.fetchLimit, "a selection's own limit") { _ = try context.fetch(all.select { $0.objectCount }.limit(-1)) }
    expect(.fetchOffset, "a selection's own offset") { _ = try context.fetch(all.select { $0.objectCount }.offset(-1)) }
  }

  func testLargestLimitsAndOffsetsAreValid() throws {
    let open = try makeAuthors()
    let context = open.newContext()
    func check(_ limit: Int, _ offset: Int, _ names: [String], line: UInt = #line) throws {
      let change: Change = { ($0.fetchLimit, $0.fetchOffset) = (limit, offset) }
      XCTAssertEqual(try context.texts("name", request(change)), names, line: line)
      XCTAssertEqual(try context.count(for: request(change)), names.count, line: line)
      XCTAssertEqual(try context.fetch(request([String: Any].self, change)).compactMap { $0["name"] as? String }, names, line: line)
    }
    try check(.max, 1, ["Bob", "Cyd"])
    try check(.max, .max, [])
    try check(1, .max, [])
    try check(0, .max, [])
    try check(.max, 0, ["Ada", "Bob", "Cyd"])
    let eve = try context.insert("Author", ["name": "Eve"])
    XCTAssertEqual(try context.texts("name", request { ($0.fetchLimit, $0.fetchOffset) = (.max, 3) }), ["Eve"])
    XCTAssertEqual(try context.texts("name", request { ($0.fetchLimit, $0.fetchOffset) = (.max, .max) }), [])
    context.delete(eve)
  }
}
