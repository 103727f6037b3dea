import Foundation
import ObjectStore
import SQLCipherConnection
import StoreFiles
import StoreKeys
import Synchronization

/// Watches the files of an open store, and checks after each file event whether another connection committed.
final class RemoteCommitWatch: Sendable {
  private let pool: ConnectionPool
  private let onCommit: @Sendable () -> Void
  private let queue = DispatchQueue(label: "CipherData.RemoteChanges", qos: .userInitiated)
  /// Whether a check is queued. It covers all events that arrive before it runs.
  private let isWaiting = Atomic<Bool>(false)
  private let isOver = Atomic<Bool>(false)
  private let files = Mutex<StoreWatch?>(nil)

  /// Begins to watch. All later commits are reported.
  ///
  /// - Parameter onCommit: Called on a private queue. A read that begins in it sees the commit.
  static func begin(_ pool: ConnectionPool, _ onCommit: @escaping @Sendable () -> Void) throws -> RemoteCommitWatch {
    let watch = RemoteCommitWatch(pool, onCommit)
    let path = try pool.withWriter { connection in
      guard !connection.isReadWithoutLocks else {
        throw StoreAccessError(.notWatchable(.readWithoutLocks), path: connection.path, operation: .watch)
      }
      return connection.databasePath
    }
    try makeNotice(path)
    // Start the file watch before the pool records the current state, so that no commit in between is missed.
    let files = try StoreWatch(databasePath: path) { [weak watch] in watch?.scheduleCheck() }
    watch.files.withLock { $0 = files }
    try pool.observeRemoteCommits { [weak watch] in watch?.scheduleCallback() }
    return watch
  }

  /// Creates the notice file. If the location is not writable, the log file's events report commits too, though later.
  private static func makeNotice(_ path: String) throws(StoreAccessError) {
    do throws(StoreAccessError) {
      try NoticeFile.make(for: path)
    } catch {
      guard error.kind == .permissionDenied || error.kind == .readOnly else { throw error }
    }
  }

  private init(_ pool: ConnectionPool, _ onCommit: @escaping @Sendable () -> Void) { (self.pool, self.onCommit) = (pool, onCommit) }

  /// Stops watching. A callback that is already running completes.
  func end() {
    isOver.store(true, ordering: .releasing)
    files.withLock { files in
      files?.end()
      files = nil
    }
  }

  /// Queues a check after a file event, which this coordinator may have caused itself. The event thread serves all stores of the process,
  /// so the check does not run on it.
  private func scheduleCheck() {
    guard !isWaiting.exchange(true, ordering: .sequentiallyConsistent) else { return }
    queue.async { [self] in
      isWaiting.store(false, ordering: .sequentiallyConsistent)
      if !isOver.load(ordering: .acquiring) { pool.checkForRemoteCommits() }
    }
  }

  private func scheduleCallback() {
    queue.async { [self] in
      if !isOver.load(ordering: .acquiring) { onCommit() }
    }
  }
}
