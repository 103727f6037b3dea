import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest
import _StoreSpecification

@testable import SQLCipherStore

/// Names and values that look like SQL affect neither the schema nor the statements.
final class InjectionTests: XCTestCase {
  private final class RecordedStatements: Sendable {
    private let texts = Mutex<[String]>([])
    func add(_ text: String) { texts.withLock { $0.append(text) } }
    func take() -> [String] {
      texts.withLock { texts in
        defer { texts = [] }
        return texts
      }
    }
  }

  /// Opens a store with an observer of the statements that SQLite reports.
  private func open(_ store: TestStore, _ model: CompiledModel) throws -> (OpenStore, RecordedStatements) {
    let received = RecordedStatements()
    var description = store.description
    description.sqlObserver = SQLObserver { received.add($0.text) }
    return (try OpenStore(description, model: model), received)
  }

  func testEveryNameUsesTheStatementsOfAHarmlessName() throws {
    let names = ["harmless"] + HostileStrings.names
    let store = try TestStore()
    let model = try SpecificationModels.frozen([SpecificationModels.entity("Thing", names.map { SpecificationModels.text($0) })])
    let (open, received) = try open(store, model)
    let schema = try store.ddl()
    XCTAssertEqual(schema.count { $0.hasPrefix("CREATE TABLE \"Thing\"") }, 1)
    let id = try open.insert("Thing", ["harmless": .text("a")])
    var expected: [Int] = []
    for name in names {
      _ = received.take()
      try open.save { try $0.update(id, [name: .text("b")]) }
      var fetch = FetchSpecification(
        entityName: "Thing",
        predicate: .comparison(FetchComparison(left: .keyPath([name]), op: .contains, right: .constant(.string("b")))))
      fetch.sortDescriptors = [FetchSortDescriptor(name)]
      XCTAssertEqual(try open.ids(fetch), [id], name)
      _ = try open.store.execute(.batchUpdate(BatchUpdateRequest(entityName: "Thing", propertiesToUpdate: [name: "c"])), in: open.scope)
      let count = received.take().count
      expected.append(count)
    }
    // The first round creates what is created once.
    XCTAssertEqual(Set(expected.dropFirst()).count, 1, "\(expected)")
    XCTAssertEqual(try store.ddl(), schema)
    try open.close()
    try store.open(model).close()
    XCTAssertEqual(try store.ddl(), schema)
  }

  func testEveryValueUsesTheStatementsOfAHarmlessValue() throws {
    let store = try TestStore()
    let (open, received) = try open(store, SpecificationModels.library)
    let schema = try store.ddl()
    let id = try open.insert("Author", ["name": .text("harmless")])
    func statements(_ value: String) throws -> [String] {
      _ = received.take()
      try open.save { try $0.update(id, ["name": .text(value)]) }
      XCTAssertEqual(
        try open.ids(FetchSpecification(entityName: "Author", predicate: .compare("name", .equal, value))), [id], value)
      return received.take()
    }
    _ = try statements("once")
    let expected = try statements("harmless")
    XCTAssertGreaterThan(expected.count, 2)
    for value in HostileStrings.values { XCTAssertEqual(try statements(value), expected, value) }
    XCTAssertEqual(try store.ddl(), schema)
    try open.close()
  }
}
