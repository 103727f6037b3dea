import ObjectQuery
import ObjectStore

/// The numbers of inserted, updated, and deleted objects in a transaction.
struct HistoryCounts: Sendable, Hashable {
  var inserted = 0
  var updated = 0
  var deleted = 0

  mutating func add(_ changes: [PersistentHistoryChange]) {
    for change in changes {
      switch change.changeType {
      case .insert: inserted += 1
      case .update: updated += 1
      case .delete: deleted += 1
      }
    }
  }
}

extension HistoryCounts {
  /// Counts the changes of a transaction from its first part. A transaction with several parts is fetched once for that.
  init(
    of part: PersistentHistoryTransaction, in coordinator: PersistentStoreCoordinator, changes: FetchPredicate?
  ) async throws {
    self.init()
    guard part.isContinued else {
      add(part.changes ?? [])
      return
    }
    let only: FetchPredicate = .and([
      .compare("token", .greater, part.transactionNumber - 1), .compare("token", .lessOrEqual, part.transactionNumber),
    ])
    for try await other in coordinator.history(where: only, changes: changes) { add(other.changes ?? []) }
  }
}
