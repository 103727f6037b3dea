import Foundation
import ObjectStore

extension StoreReplica {
  /// The name of the history's consumer on behalf of synchronization.
  package static let consumer = "sync"

  /// The maximum number of rows of the history that one transaction deletes.
  private static let deletedRows = 500

  /// Lets the history that was read be deleted, and deletes it if no one else uses it.
  func releaseHistory(_ state: ReplicaState) throws {
    guard let position = try history.historyPosition(of: state.consumedThrough) else { return }
    let seen = Date().timeIntervalSinceReferenceDate
    try history.setHistoryConsumer(HistoryConsumerRecord(name: Self.consumer, position: position, seen: seen))
    guard state.ownsHistory else { return }
    let consumed = try history.historyConsumers().map { $0.position?.number ?? 0 }
    _ = try history.deleteHistory(before: min(position.number, consumed.min() ?? 0), rowLimit: Self.deletedRows)
  }
}
