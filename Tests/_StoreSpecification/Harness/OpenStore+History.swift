// OpenStore+History: the history of a store in few words.
import ObjectModel
import ObjectStore
import XCTest

extension StoreSpecification {
  /// A new store that keeps a history.
  func makeTracked(_ model: CompiledModel = SpecificationModels.library, level: HistoryLevel? = nil) throws -> OpenStore {
    try openStore(in: makeFolder(), model) {
      $0.historyTracking = true
      $0.historyLevel = level
    }
  }

  /// The transactions behind a place.
  func transactions(_ open: OpenStore, after token: PersistentHistoryToken? = nil) throws -> [PersistentHistoryTransaction] {
    try open.coordinator.execute(.fetchHistory(after: token)).transactions
  }

  /// The present place.
  func token(_ open: OpenStore) throws -> PersistentHistoryToken { try XCTUnwrap(open.coordinator.currentPersistentHistoryToken()) }

  /// The changes in short: type, entity, properties.
  func lines(_ transaction: PersistentHistoryTransaction?) -> [String] {
    (transaction?.changes ?? []).map { change in
      ([change.changeType.rawValue, change.changedObjectID.entityName]
        + (change.updatedProperties.isEmpty ? [] : [change.updatedProperties.joined(separator: ",")]))
        .joined(separator: " ")
    }
  }
}
