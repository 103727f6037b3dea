import ObjectModel
import ObjectStore
import XCTest

extension StoreSpecification {
  /// Makes a store with a history.
  func makeTracked(_ model: CompiledModel = SpecificationModels.library, level: HistoryLevel? = nil) throws -> OpenStore {
    try openStore(in: makeFolder(), model) {
      $0.historyTracking = true
      $0.historyLevel = level
    }
  }

  /// Returns the transactions after a token.
  func transactions(_ open: OpenStore, after token: PersistentHistoryToken? = nil) throws -> [PersistentHistoryTransaction] {
    try open.coordinator.execute(.fetchHistory(after: token)).transactions
  }

  /// Returns the current token.
  func token(_ open: OpenStore) throws -> PersistentHistoryToken { try XCTUnwrap(open.coordinator.currentPersistentHistoryToken()) }

  /// Returns the changes in short form: type, entity, properties.
  func lines(_ transaction: PersistentHistoryTransaction?) -> [String] {
    (transaction?.changes ?? []).map { change in
      ([change.changeType.rawValue, change.changedObjectID.entityName]
        + (change.updatedProperties.isEmpty ? [] : [change.updatedProperties.joined(separator: ",")]))
        .joined(separator: " ")
    }
  }
}
