// SnapshotGeneration: a state of an encrypted store that holds still: a snapshot with a connection of its own.
import Foundation
import ObjectStore
import SQLCipherConnection

/// A snapshot that contexts read as long as they like.
final class SnapshotGeneration: StoreGeneration {
  let snapshot: HeldSnapshot
  /// Stands for the open store that it is a state of.
  let source: any AnyObject & Sendable
  /// The file, for errors.
  private let path: String

  init(_ snapshot: HeldSnapshot, of source: any AnyObject & Sendable, path: String) {
    (self.snapshot, self.source, self.path) = (snapshot, source, path)
  }

  var isOver: Bool { snapshot.isOver }

  /// Runs `body` in the snapshot; one request at a time does.
  ///
  /// - Parameter checks: Whether the sentinel is asked at the end; otherwise the body does, if it has to.
  @inline(__always) func read<Result>(checks: Bool = true, _ body: (ReadTransaction) throws -> Result) throws -> Result {
    do {
      return try snapshot.read(checks: checks) { try body(ReadTransaction(connection: $0)) }
    } catch let ending as HeldSnapshot.Ending {
      throw error(ending)
    }
  }

  private func error(_ ending: HeldSnapshot.Ending) -> StoreError {
    switch ending {
    case .expired: StoreError(.queryGenerationExpired, operation: .read, path: path)
    case .lost(let error): StoreError(.queryGenerationLost, operation: .read, path: path, underlying: error)
    }
  }
}
