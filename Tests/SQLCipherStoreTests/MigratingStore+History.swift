import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import XCTest
import _StoreSpecification

@testable import SQLCipherStore

/// Migrations of stores with a history.
extension MigratingStore {
  typealias Contents = [String: [String: String]]
  typealias Change = PersistentHistoryTransaction.SchemaChange

  /// Makes a store with a history.
  static func tracked(
    _ model: ManagedObjectModel, _ level: HistoryLevel = .values, _ body: (ManagedObjectContext) throws -> Void
  ) throws -> MigratingStore {
    let store = try MigratingStore()
    try store.open(
      model,
      {
        $0.historyTracking = true
        $0.historyLevel = level
      }, body)
    return store
  }

  /// Migrates a store, and returns its contents before and after with the new transactions.
  func migrateTracked(
    _ older: ManagedObjectModel, _ newer: ManagedObjectModel, _ stages: [any MigrationStage]
  ) throws -> (before: Contents, after: Contents, transactions: [PersistentHistoryTransaction]) {
    let (before, token) = try open(older) { context in
      (try context.contents(), try context.persistentStoreCoordinator.currentPersistentHistoryToken())
    }
    return try open(
      newer,
      {
        if !stages.isEmpty { $0.stagedMigrationManager = StagedMigrationManager(stages) }
        $0.migrationAuthor = "release"
      }
    ) { context in
      let found = try context.persistentStoreCoordinator.execute(.fetchHistory(after: token)).transactions
      XCTAssertEqual(Set(found.map(\.kind)), [.migration])
      XCTAssertEqual(Set(found.map(\.author)), ["release"])
      XCTAssertEqual(Set(found.map(\.processID)), ["\(ProcessInfo.processInfo.processIdentifier)"])
      return (before, try context.contents(), found)
    }
  }

  func migrateTracked(
    _ older: ManagedObjectModel, _ newer: ManagedObjectModel
  ) throws -> (before: Contents, after: Contents, changes: [Change]) {
    let (before, after, found) = try migrateTracked(older, newer, [])
    XCTAssertEqual(found.count, 1)
    XCTAssertEqual(found.map(\.isWhole), [false])
    XCTAssertEqual(found.flatMap { $0.changes ?? [] }, [])
    return (before, after, found.flatMap(\.schemaChanges))
  }
}

extension [PersistentHistoryTransaction.SchemaChange] {
  /// The changes in short form.
  var lines: [String] {
    map { change in
      let property = [change.entityName, change.propertyName].compactMap { $0 }.joined(separator: ".")
      return "\(change.kind) \(property)" + (change.formerPropertyName.map { " from \($0)" } ?? "") + (change.value.map { " \($0)" } ?? "")
    }
  }
}
