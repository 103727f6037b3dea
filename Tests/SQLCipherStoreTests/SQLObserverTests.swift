import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Observers receive the SQL, duration and row count of statements, never a value.
final class SQLObserverTests: XCTestCase {
  private final class RecordedStatements: Sendable {
    private let statements = Mutex<[ObservedStatement]>([])
    func add(_ statement: ObservedStatement) { statements.withLock { $0.append(statement) } }
    /// Returns the statements since the last call, except for those that begin and end transactions.
    func take(_ prefix: String = "") -> [ObservedStatement] {
      statements.withLock { statements in
        defer { statements = [] }
        return statements.filter { $0.text.hasPrefix(prefix) }
      }
    }
  }

  private func stack() throws -> (TestStore, OpenStore, RecordedStatements) {
    let (store, received) = (try TestStore(), RecordedStatements())
    var description = store.description
    description.sqlObserver = SQLObserver { received.add($0) }
    return (store, try OpenStore(description, model: SpecificationModels.assets), received)
  }

  func testStatementsAreReportedWithRowsAndTimes() throws {
    let (files, store, received) = try stack()
    defer { withExtendedLifetime(files) {} }
    _ = received.take()
    let context = store.newContext()
    for number in 0..<7 { _ = try context.insert("Note", ["body": "note \(number)"]) }
    try context.save()
    let writing = received.take()
    XCTAssertEqual(writing.filter { $0.text.hasPrefix("INSERT OR FAIL") }.map(\.rowCount).reduce(0, +), 7, "\(writing)")
    XCTAssertEqual(writing.first?.text, "BEGIN IMMEDIATE")
    XCTAssertEqual(writing.last?.text, "COMMIT")
    XCTAssertTrue(writing.allSatisfy { $0.duration > .zero })

    var request = FetchRequest<ManagedObject>(entityName: "Note")
    request.predicate = try FetchPredicate(format: "body != %@", "note 3")
    XCTAssertEqual(try store.newContext().fetch(request).count, 6)
    let reading = received.take("SELECT")
    XCTAssertEqual(reading.map(\.rowCount), [6], "\(reading)")
    XCTAssertFalse(reading.contains { $0.text == "SELECT 1 FROM sqlite_master LIMIT 1" })

    let update = BatchUpdateRequest(entityName: "Note", propertiesToUpdate: ["body": "other"])
    _ = try store.newContext().execute(update)
    XCTAssertEqual(received.take("UPDATE").map(\.rowCount).max(), 7)
    try store.close()
  }

  func testObserversReceiveNoValues() throws {
    let (files, store, received) = try stack()
    defer { withExtendedLifetime(files) {} }
    let context = store.newContext()
    let marker = "marker-of-a-value"
    let note = try context.insert("Note", ["body": marker])
    try context.save()
    try note.setValue(marker + "2", forKey: "body")
    try context.save()
    for format in [
      "body == %@", "body CONTAINS[cd] %@", "body BEGINSWITH %@", "body IN {%@, 'x'}", "body LIKE %@", "uppercase(body) == %@",
    ] {
      var request = FetchRequest<ManagedObject>(entityName: "Note")
      request.predicate = try FetchPredicate(format: format, marker)
      _ = try store.newContext().fetch(request)
      _ = try store.newContext().execute(
        BatchUpdateRequest(entityName: "Note", predicate: request.predicate, propertiesToUpdate: ["body": marker]))
    }
    let all = received.take()
    XCTAssertGreaterThan(all.count, 20)
    for statement in all { XCTAssertFalse("\(statement)".contains(marker), "\(statement)") }
    try store.close()
  }

  func testStatementAbandonedEarlyIsReportedOnce() throws {
    let (files, store, received) = try stack()
    defer { withExtendedLifetime(files) {} }
    let context = store.newContext()
    for number in 0..<5 { _ = try context.insert("Note", ["body": "\(number)"]) }
    try context.save()
    _ = received.take()
    var request = FetchRequest<ManagedObject>(entityName: "Note")
    request.fetchLimit = 2
    _ = try store.newContext().fetch(request)
    XCTAssertEqual(received.take("SELECT").map(\.rowCount), [2])
    try store.close()
  }

  func testMigrationStatementsAreReported() throws {
    let store = try TestStore()
    try OpenStore(store.description, model: try SpecificationModels.frozen([Self.entity(["a"])])).close()
    let received = RecordedStatements()
    var description = store.description
    description.sqlObserver = SQLObserver { received.add($0) }
    try OpenStore(description, model: try SpecificationModels.frozen([Self.entity(["a", "b"])])).close()
    XCTAssertEqual(received.take("ALTER TABLE").count, 1)
  }

  private static func entity(_ names: [String]) -> EntityDescription {
    var entity = EntityDescription(name: "Thing")
    entity.properties = names.map { .attribute(AttributeDescription(name: $0, type: .string, isOptional: true)) }
    return entity
  }

  func testCountingObserverReportsNoConnections() throws {
    XCTAssertNil(EnvironmentLog().profiler(of: "/a", observer: SQLObserver()))
    XCTAssertNil(EnvironmentLog().profiler(of: "/a", observer: nil))
    XCTAssertNotNil(EnvironmentLog().profiler(of: "/a", observer: SQLObserver { _ in }))
  }

  func testADescriptionIsOneLine() {
    let statement = ObservedStatement(text: "SELECT a\n  FROM b", duration: .microseconds(12_345), rowCount: 1)
    XCTAssertEqual(statement.description, "12.35 ms, 1 row: SELECT a FROM b")
    let fast = ObservedStatement(text: "COMMIT", duration: .microseconds(49), rowCount: 0)
    XCTAssertEqual(fast.description, "0.05 ms, 0 rows: COMMIT")
  }

  func testEnvironmentVariableSelectsTheReports() {
    XCTAssertEqual(EnvironmentLog.parse("").0, EnvironmentLog())
    XCTAssertEqual(EnvironmentLog.parse("sql").0, EnvironmentLog(sql: true))
    let (log, unknown) = EnvironmentLog.parse("SQL, migration,sqll")
    XCTAssertEqual(log, EnvironmentLog(sql: true, migration: true))
    XCTAssertEqual(unknown, ["sqll"])
  }
}
