import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import SQLCipherConnection
import XCTest
import _StoreSpecification
import _TestSupport

@testable import ObjectStore
@testable import SQLCipherStore

/// Histories of any length are read in batches; records of other stores are tolerated.
final class HistoryReadingTests: XCTestCase {
  private func tracked(_ store: TestStore) throws -> OpenStore {
    var description = store.description
    description.historyTracking = true
    return try OpenStore(description, model: SpecificationModels.library)
  }

  func testTransactionsAreReadInBatchesOfAThousand() throws {
    let store = try TestStore()
    let open = try tracked(store)
    let context = open.newContext()
    let tag = try context.insert("Tag", ["name": "0"])
    try context.save()
    try context.performTransaction {
      for number in 1...5_000 {
        // Consecutive requests of one author would form one transaction.
        context.transactionAuthor = number.isMultiple(of: 2) ? "even" : "odd"
        try tag.setValue("\(number)", forKey: "name")
        try context.save()
      }
    }
    let coordinator = open.coordinator
    var found: [Int64] = []
    let statements = try store.statements {
      found = try waitFor {
        var found: [Int64] = []
        for try await transaction in coordinator.history() { found.append(transaction.transactionNumber) }
        return found
      }
    }
    XCTAssertEqual(found, Array(2...5_002))
    let reads = statements.filter { $0.contains("FROM cipherdata_history h") }
    XCTAssertGreaterThanOrEqual(reads.count, 5, "\(reads.count)")
    XCTAssertLessThanOrEqual(reads.count, 8)
    // Finding one of them does not skip the later ones.
    let only = FetchPredicate.and([.compare("token", .greater, 2_999), .compare("token", .lessOrEqual, 3_000)])
    var request = PersistentHistoryChangeRequest.fetchHistory(after: nil)
    request.transactionPredicate = only
    XCTAssertEqual(try open.coordinator.execute(request).transactions.map(\.transactionNumber), [3_000])
    let plan = try self.plan(of: HistoryStatement.entries(narrowed(after: 2_999, upTo: 3_000)).sql, store)
    XCTAssertTrue(plan.contains { $0.contains("rowid>? AND rowid<?") }, "\(plan)")
  }

  private func narrowed(after: Int64, upTo: Int64) -> HistoryQuery {
    var query = HistoryQuery()
    (query.after, query.upTo) = (after, upTo)
    return query
  }

  /// Returns SQLite's query plan for a statement.
  private func plan(of sql: String, _ store: TestStore) throws -> [String] {
    let connection = try Connection(opening: store.url.path, key: try store.databaseKey())
    defer { connection.close() }
    let statement = try connection.statement(sql: "EXPLAIN QUERY PLAN \(sql)")
    defer { statement.reset() }
    var lines: [String] = []
    while try statement.step() { lines.append(statement.text(3)) }
    return lines
  }

  func testCanceledReaderStopsInsideAFilteredTransaction() async throws {
    let store = try TestStore()
    let open = try tracked(store)
    try open.newContext().execute(BatchInsertRequest(entityName: "Tag", objects: [["name": "red"], ["name": "blue"]]))
    let nothing = open.coordinator.history(changes: .compare("entity", .equal, "Book"))
    let all = try await HistoryCursor(nothing).next()
    XCTAssertEqual(all.count, 0, "no record is about a book")
    let calledOff = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await HistoryCursor(nothing).next()
    }
    do {
      let found = try await calledOff.value
      XCTFail("it read to the end: \(found)")
    } catch is CancellationError {}
  }

  func testImportedStoreIsRecordedAsOneTransaction() throws {
    let store = try TestStore()
    let open = try tracked(store)
    let tag = try XCTUnwrap(SpecificationModels.library.entities.first { $0.name == "Tag" })
    let transfer = try RowTransfer(into: open.persistentStore, scope: open.scope)
    for round in 0..<2 {
      try transfer.transaction {
        for portion in 0..<2 {
          let distance = try transfer.reserveKeys(upTo: 3, rootEntity: tag.root)
          let writer = RowWriter(rowCapacity: 3)
          for key in 1...3 as ClosedRange<Int64> {
            writer.beginRow(entityNumber: tag.number, slotCount: tag.slots.count, key: distance + key, version: 1)
            writer.set(.text("\(round) \(portion) \(key)"), at: tag.slots.firstIndex { $0.name == "name" } ?? 0)
            writer.endRow()
          }
          try transfer.insert(writer.finish(), places: [])
        }
      }
    }
    XCTAssertEqual(try open.count("Tag"), 12)
    let found = try open.coordinator.execute(.fetchHistory(after: nil)).transactions
    XCTAssertEqual(found.map(\.kind), [.transfer, .transfer])
    XCTAssertEqual(found.map(\.isWhole), [false, false])
    XCTAssertEqual(found.map { $0.changes?.count }, [6, 6])
    XCTAssertEqual(found.last?.changeSet.inserted.count, 6)
  }

  func testStoreMovedIntoAHistoryStoreIsOneTransaction() throws {
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: SpecificationModels.library.model)
    let store = try TestStore()
    var description = store.description
    description.historyTracking = true
    let target = description
    let memory = try waitFor { try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: .inMemory)) }
    let context = ManagedObjectContext(coordinator: coordinator)
    for number in 0..<50 { try context.insert("Tag", ["name": "\(number)"]) }
    try context.save()
    _ = try waitFor { try await coordinator.migratePersistentStore(memory, to: target) }
    let found = try coordinator.execute(.fetchHistory(after: nil)).transactions
    XCTAssertEqual(found.map(\.kind), [.transfer])
    XCTAssertEqual(found.map(\.isWhole), [false])
    XCTAssertEqual(found.last?.changes?.map(\.changeType), Array(repeating: .insert, count: 50))
  }
}
