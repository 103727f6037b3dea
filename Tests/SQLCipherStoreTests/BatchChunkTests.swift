import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification

@testable import SQLCipherStore

/// Batch requests that are processed in chunks have the same results as others.
final class BatchChunkTests: XCTestCase {
  private static let model = try? SpecificationModels.compiled([
    SpecificationModels.entity(
      "Owner",
      [
        SpecificationModels.text("name"),
        .relationship(
          RelationshipDescription(name: "things", destination: "Thing", inverse: "owner", isToMany: true, deleteRule: .nullify)),
        .relationship(RelationshipDescription(name: "parts", destination: "Part", inverse: "owner", isToMany: true, deleteRule: .cascade)),
      ]),
    SpecificationModels.entity(
      "Thing", [SpecificationModels.text("name"), SpecificationModels.toOne("owner", "Owner", "things")]),
    SpecificationModels.entity(
      "Part", [SpecificationModels.text("name"), SpecificationModels.toOne("owner", "Owner", "parts")]),
  ])

  private final class Names: TransactionObserver {
    let texts = LockedBox<[String]>([])
    func didChange(_ change: RowChange, in transaction: ObservedTransaction) {
      switch change {
      case .insert(let row): texts.append("+\(row.entityName)\(row.objectID.key)")
      case .update(let row): texts.append("~\(row.entityName)\(row.objectID.key) \(row.changedProperties)")
      case .delete(let row): texts.append("-\(row.entityName)\(row.objectID.key)")
      case .links, .order, .schema, .unspecified: texts.append("other")
      }
    }
    func willCommit(_ transaction: ObservedTransaction) {}
    func didUndoChanges(in transaction: ObservedTransaction, keeping count: Int) {}
    func didCommit(_ transaction: ObservedTransaction) {}
    func didRollback(_ transaction: ObservedTransaction) {}
  }

  private final class LockedBox<Value: Sendable>: @unchecked Sendable {
    private(set) var value: Value
    init(_ value: Value) { self.value = value }
    func append(_ text: String) where Value == [String] { value.append(text) }
  }

  /// Runs a request in a new store, and returns the number of affected objects, all changes, and all rows.
  private func run(_ chunk: Int, _ body: (ManagedObjectContext) throws -> BatchResult) throws -> (result: [String], statements: [String]) {
    let store = try TestStore()
    let open = try store.open(try XCTUnwrap(Self.model))
    let context = open.newContext()
    var owners: [ManagedObjectID] = []
    var request = BatchInsertRequest(entityName: "Owner", objects: (0..<50).map { ["name": "owner \($0 % 7)"] })
    request.resultType = .objectIDs
    owners = try context.execute(request).objectIDs
    for entity in ["Thing", "Part"] {
      let rows = (0..<200).map { number in
        number % 9 == 0 ? ["name": "n\(number)"] : ["name": "n\(number)", "owner": owners[number * 31 % 50]] as [String: Any]
      }
      try context.execute(BatchInsertRequest(entityName: entity, objects: rows))
    }
    let names = Names()
    try open.coordinator.addTransactionObserver(names)
    var lines: [String] = []
    let statements = try store.statements {
      let result = try BatchTransaction.$chunkSize.withValue(chunk) { try body(context) }
      lines.append("\(result.insertedCount) \(result.updatedCount) \(result.deletedCount)")
    }
    open.coordinator.removeTransactionObserver(names)
    lines += names.texts.value.sorted()
    for entity in ["Owner", "Thing", "Part"] {
      guard case .rows(let rows) = try open.store.execute(.fetch(FetchSpecification(entityName: entity)), in: open.scope) else { continue }
      let described = rows.map { row in "\(entity) \(row.key) v\(row.version) \((0..<row.slotCount).map { Self.text(row, $0) })" }
      lines += described.sorted()
    }
    try open.close()
    return (lines, statements)
  }

  private static func text(_ row: RowImage, _ slot: Int) -> String {
    if row.isNull(slot) { return "nil" }
    if let text = try? row.slot(slot, kind: .text), case .text(let value) = text { return value }
    return "\(row.reference(slot).key)"
  }

  private func check(_ body: (ManagedObjectContext) throws -> BatchResult) throws {
    let (whole, few) = try run(1_000_000, body)
    let (divided, many) = try run(7, body)
    XCTAssertEqual(whole, divided)
    XCTAssertGreaterThan(whole.count, 10)
    XCTAssertGreaterThan(many.count, few.count + 4)
  }

  private func text(_ name: String) -> FetchExpression { .function("uppercase:", [.keyPath(name)]) }

  func testUpdates() throws {
    try check { try $0.execute(BatchUpdateRequest(entityName: "Thing", propertiesToUpdate: ["name": "same"])) }
    try check {
      try $0.execute(
        BatchUpdateRequest(
          entityName: "Thing", predicate: try FetchPredicate(format: "name ENDSWITH '5' OR name ENDSWITH '6'"),
          propertiesToUpdate: ["name": text("name")]))
    }
    try check { try $0.execute(BatchUpdateRequest(entityName: "Part", propertiesToUpdate: ["owner": nil])) }
  }

  func testUpdatesWithPredicatesOnOtherRows() throws {
    try check {
      try $0.execute(
        BatchUpdateRequest(
          entityName: "Thing", predicate: try FetchPredicate(format: "owner.name < 'owner 4'"), propertiesToUpdate: ["name": "x"]))
    }
    try check {
      try $0.execute(
        BatchUpdateRequest(
          entityName: "Owner", predicate: try FetchPredicate(format: "things.@count > 2"), propertiesToUpdate: ["name": "x"]))
    }
    try check {
      try $0.execute(
        BatchUpdateRequest(
          entityName: "Thing", predicate: try FetchPredicate(format: "owner.things.@count > 2"), propertiesToUpdate: ["owner": nil]))
    }
  }

  func testUpdatesWithValuesOfOtherRows() throws {
    try check {
      try $0.execute(BatchUpdateRequest(entityName: "Thing", propertiesToUpdate: ["name": FetchExpression.keyPath("owner.name")]))
    }
  }

  func testDeletions() throws {
    try check { try $0.execute(BatchDeleteRequest(entityName: "Thing")) }
    try check { try $0.execute(BatchDeleteRequest(entityName: "Owner")) }
    try check { try $0.execute(BatchDeleteRequest(entityName: "Owner", predicate: try FetchPredicate(format: "name > 'owner 2'"))) }
  }

  func testDeletionsWithPredicatesOnOtherRows() throws {
    try check { try $0.execute(BatchDeleteRequest(entityName: "Thing", predicate: try FetchPredicate(format: "owner.name < 'owner 3'"))) }
    try check {
      try $0.execute(BatchDeleteRequest(entityName: "Owner", predicate: try FetchPredicate(format: "ANY things.name BEGINSWITH 'n1'")))
    }
    try check {
      try $0.execute(BatchDeleteRequest(entityName: "Thing", predicate: try FetchPredicate(format: "owner.things.@count > 3")))
    }
  }

  func testDeletionsWithALimit() throws {
    try check {
      var fetch = FetchRequest<ManagedObjectID>(entityName: "Owner").sorted(by: "name", ascending: false)
      (fetch.fetchLimit, fetch.fetchOffset) = (31, 3)
      return try $0.execute(BatchDeleteRequest(fetchRequest: fetch))
    }
  }

  func testACascadeFromFewRowsToMany() throws {
    try check {
      var fetch = FetchRequest<ManagedObjectID>(entityName: "Owner").sorted(by: "name")
      fetch.fetchLimit = 5
      return try $0.execute(BatchDeleteRequest(fetchRequest: fetch))
    }
  }

  func testATemporaryTableHoldsAChunk() throws {
    let store = try TestStore()
    let open = try store.open(try XCTUnwrap(Self.model))
    let context = open.newContext()
    try context.execute(BatchInsertRequest(entityName: "Thing", objects: (0..<10_500).map { ["name": "\($0)"] }))
    try BatchTransaction.$chunkSize.withValue(1_000) {
      let update = BatchUpdateRequest(entityName: "Thing", propertiesToUpdate: ["name": "x"])
      let updating = try store.statements { XCTAssertEqual(try context.execute(update).count, 10_500) }
      XCTAssertEqual(updating.filter { $0.hasPrefix("INSERT") }.count, 1 + 11)
      let deleting = try store.statements { XCTAssertEqual(try context.execute(BatchDeleteRequest(entityName: "Thing")).count, 10_500) }
      XCTAssertEqual(deleting.filter { $0.hasPrefix("INSERT") }.count, 1 + 11)
    }
    XCTAssertEqual(try open.count("Thing"), 0)
  }
}
