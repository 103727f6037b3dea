import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification

@testable import SQLCipherStore

/// The number of statements per batch request; requests of any size are accepted.
final class BatchStatementTests: XCTestCase {
  private func insert(_ open: OpenStore, _ count: Int, _ policy: BatchConflictPolicy = .error) throws -> BatchResult {
    var next = 0
    let context = open.newContext()
    return try context.execute(
      BatchInsertRequest(entityName: "Book", onConflict: policy) { row in
        if next == count { return true }
        row["isbn"] = "\(next)"
        row["pages"] = next
        next += 1
        return false
      })
  }

  func testAnInsertionReusesItsStatements() throws {
    let store = try TestStore()
    let open = try store.open()
    let statements = try store.statements { XCTAssertEqual(try insert(open, 4_000).count, 4_000) }
    XCTAssertEqual(statements.filter { $0.hasPrefix("INSERT") }.count, 200, "twenty rows a statement")
    XCTAssertEqual(Set(statements).count, 2, "one statement in addition to the reservation of keys: \(Set(statements))")
    XCTAssertLessThanOrEqual(statements.count, 202)
  }

  func testAnUpsertReusesItsStatements() throws {
    let store = try TestStore()
    let open = try store.open()
    _ = try insert(open, 1_000)
    let same = try store.statements { XCTAssertEqual(try insert(open, 1_000, .update()).count, 0) }
    XCTAssertEqual(same.filter { $0.hasPrefix("SELECT") }.count, 1_000, "A row without the compound key asks for one constraint.")
    XCTAssertEqual(same.filter { $0.hasPrefix("UPDATE") || $0.hasPrefix("INSERT") }, [])
    let more = try store.statements { XCTAssertEqual(try insert(open, 1_200, .update()).count, 200) }
    XCTAssertLessThanOrEqual(Set(more).count, 3)
  }

  func testUpdateOfManyRowsUsesFewStatements() throws {
    let store = try TestStore()
    let open = try store.open()
    _ = try insert(open, 10_000)
    let context = open.newContext()
    let request = BatchUpdateRequest(
      entityName: "Book", predicate: .compare("pages", .greaterOrEqual, 100),
      propertiesToUpdate: ["year": 5, "pages": FetchExpression.function("add:to:", [.keyPath("pages"), .constant(.int(1))])])
    let statements = try store.statements { XCTAssertEqual(try context.execute(request).count, 9_900) }
    XCTAssertLessThanOrEqual(statements.count, 4, "\(statements)")
  }

  func testDeletionOfManyRowsUsesFewStatements() throws {
    let store = try TestStore()
    let open = try store.open()
    _ = try insert(open, 10_000)
    let context = open.newContext()
    let request = BatchDeleteRequest(entityName: "Book", predicate: .compare("pages", .less, 9_000))
    let statements = try store.statements { XCTAssertEqual(try context.execute(request).count, 9_000) }
    XCTAssertLessThanOrEqual(statements.count, 10, "\(statements)")
    XCTAssertEqual(try open.count("Book"), 1_000)
  }

  func testAHundredThousandRows() throws {
    let store = try TestStore()
    let open = try store.open()
    XCTAssertEqual(try insert(open, 100_000).count, 100_000)
    let context = open.newContext()
    let update = BatchUpdateRequest(
      entityName: "Book", propertiesToUpdate: ["rating": FetchExpression.function("divide:by:", [.keyPath("pages"), .constant(.real(2))])])
    XCTAssertEqual(try context.execute(update).count, 100_000)
    XCTAssertEqual(
      try open.texts("isbn", FetchSpecification(entityName: "Book", predicate: .compare("rating", .equal, 49_999.5))), ["99999"])
    XCTAssertEqual(try context.execute(BatchDeleteRequest(entityName: "Book")).count, 100_000)
    XCTAssertEqual(try open.count("Book"), 0)
  }

  func testACascadeThroughAHundredThousandRows() throws {
    let model = try SpecificationModels.compiled([
      SpecificationModels.entity(
        "Node",
        [
          SpecificationModels.text("name"), SpecificationModels.toOne("parent", "Node", "children"),
          .relationship(
            RelationshipDescription(name: "children", destination: "Node", inverse: "parent", isToMany: true, deleteRule: .cascade)),
        ])
    ])
    let store = try TestStore()
    let open = try store.open(model)
    let context = open.newContext()
    func insert(_ count: Int, parent: (Int) -> ManagedObjectID?) throws -> [ManagedObjectID] {
      let rows: [[String: Any]] = (0..<count).map { number in
        parent(number).map { ["name": "n", "parent": $0] } ?? ["name": "root"]
      }
      var request = BatchInsertRequest(entityName: "Node", objects: rows)
      request.resultType = .objectIDs
      return try context.execute(request).objectIDs
    }
    // A wide tree with four levels, and a chain of 200.
    let roots = try insert(2) { _ in nil }
    let second = try insert(200) { roots[$0 % 2] }
    let third = try insert(10_000) { second[$0 % 200] }
    _ = try insert(90_000) { third[$0 % 10_000] }
    var last = roots[1]
    for _ in 0..<200 { last = try insert(1) { _ in last }[0] }
    let statements = try store.statements {
      XCTAssertEqual(try context.execute(BatchDeleteRequest(objectIDs: [roots[0]])).count, 1 + 100 + 5_000 + 45_000)
    }
    XCTAssertLessThanOrEqual(statements.count, 14, "A level of a cascade is a statement.")
    XCTAssertEqual(try context.execute(BatchDeleteRequest(objectIDs: [roots[1]])).count, 50_101 + 200)
    XCTAssertEqual(try open.count("Node"), 0)
  }
}
