import Foundation
import ObjectStore
import SQLCipherConnection
import StoreFiles
import Synchronization

/// A query generation of an encrypted store: a snapshot with its own connection, which contexts can read for any length of time.
final class SnapshotGeneration: StoreGeneration {
  let snapshot: HeldSnapshot
  /// An object that identifies the open store of the snapshot.
  let source: any AnyObject & Sendable
  private let path: String

  init(_ snapshot: HeldSnapshot, of source: any AnyObject & Sendable, path: String) {
    (self.snapshot, self.source, self.path) = (snapshot, source, path)
  }

  var isOver: Bool { snapshot.isOver }

  /// Runs `body` in the snapshot. Requests run one at a time.
  ///
  /// - Parameter checks: Whether to check for damaged pages afterward (`checkSentinel`). With `false`, the body does so if needed.
  @inline(__always) func read<Result>(checks: Bool = true, _ body: (ReadTransaction) throws -> Result) throws -> Result {
    do {
      return try snapshot.read(checks: checks) { try body(ReadTransaction(connection: $0)) }
    } catch let endReason as HeldSnapshot.EndReason {
      throw error(endReason)
    }
  }

  private func error(_ endReason: HeldSnapshot.EndReason) -> StoreError {
    switch endReason {
    case .expired: StoreError(.queryGenerationExpired, operation: .read, path: path)
    case .lost(let error): StoreError(.queryGenerationLost, operation: .read, path: path, underlying: error)
    }
  }
}

// MARK: - Position in history

extension SnapshotGeneration: HistoryGeneration {
  func historyPosition() throws -> HistoryPosition? {
    try StoreError.mapping {
      try read { transaction in
        guard try MetadataTable.readHistory(transaction.connection, path: path) != nil else { return nil }
        return try SideTableFailure.converting(HistoryTables.all.name) {
          let statement = try transaction.connection.statement(.newestTransaction)
          defer { statement.reset() }
          return try statement.step() ? HistoryPosition(number: statement.int64(0), mark: statement.int64(1)) : nil
        }
      }
    }
  }
}

// MARK: - Generations of a store

/// A weak reference to the newest generation.
final class LastGeneration: Sendable {
  private struct Place {
    weak var generation: SnapshotGeneration?
  }
  private let place = Mutex(Place())

  /// Returns the generation of a snapshot: the existing one if it is still referenced, else a new one.
  func generation(of snapshot: HeldSnapshot, path: String) -> SnapshotGeneration {
    // Release the former generation after the lock.
    let (found, previous) = place.withLock { place -> (SnapshotGeneration, SnapshotGeneration?) in
      let previous = place.generation
      if let previous, previous.snapshot === snapshot { return (previous, nil) }
      let made = SnapshotGeneration(snapshot, of: self, path: path)
      place.generation = made
      return (made, previous)
    }
    withExtendedLifetime(previous) {}
    return found
  }
}

extension StoreEngine {
  /// Returns the current state of the store: the same generation as before if nothing was committed since.
  func currentGeneration() throws -> SnapshotGeneration {
    let snapshot = try pool.holdSnapshot {
      // Lock the folder before taking the snapshot, so that the files its rows refer to are not removed while it exists.
      guard let folder = externals?.folder else { return nil }
      return try folder.lockForReading()
    }
    return lastGeneration.generation(of: snapshot, path: path)
  }

  /// Returns the generation that a request reads, or `nil` for the newest state.
  func generation(of scope: RequestScope) throws -> SnapshotGeneration? {
    guard let generation = scope.generation else { return nil }
    return try own(generation)
  }

  /// Returns the generation as one of this store, or throws if it belongs to another store.
  func own(_ generation: any StoreGeneration) throws -> SnapshotGeneration {
    if let generation = generation as? SnapshotGeneration, generation.source === lastGeneration { return generation }
    throw StoreError(.queryGenerationOfOtherStore, operation: .read, path: path)
  }
}
