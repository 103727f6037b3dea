import Foundation
import ObjectStore
import SQLCipherConnection

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
