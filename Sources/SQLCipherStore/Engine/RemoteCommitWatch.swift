// RemoteCommitWatch: hears what others commit to the file of an open store: other processes, and other coordinators of this one.
import Foundation
import ObjectStore
import SQLCipherConnection
import StoreFiles
import StoreKeys
import Synchronization

/// Watches the files of an open store, and finds out of each sign whether it was somebody else's commit.
final class RemoteCommitWatch: Sendable {
  private let pool: ConnectionPool
  private let tell: @Sendable () -> Void
  private let queue = DispatchQueue(label: "CipherData.RemoteChanges", qos: .userInitiated)
  /// Whether a look is waiting for the queue: signs that come meanwhile are seen by it.
  private let isWaiting = Atomic<Bool>(false)
  private let isOver = Atomic<Bool>(false)
  private let files = Mutex<StoreWatch?>(nil)

  /// Begins to watch. What is committed from here on is told.
  ///
  /// - Parameter tell: Called on a queue of the store's own; whoever begins to read then sees what was committed.
  static func begin(_ pool: ConnectionPool, _ tell: @escaping @Sendable () -> Void) throws -> RemoteCommitWatch {
    let watch = RemoteCommitWatch(pool, tell)
    let path = try pool.withWriter { connection in
      guard !connection.isReadWithoutLocks else {
        throw StoreAccessError(.notWatchable(.readWithoutLocks), path: connection.path, operation: .watch)
      }
      return connection.databasePath
    }
    try makeNotice(path)
    // First the watch, then the state that it begins from: what comes between is told.
    let files = try StoreWatch(databasePath: path) { [weak watch] in watch?.lookSoon() }
    watch.files.withLock { $0 = files }
    try pool.watchOthers { [weak watch] in watch?.tellSoon() }
    return watch
  }

  /// Makes the notice file. Where nothing may be written the log tells too, if later.
  private static func makeNotice(_ path: String) throws(StoreAccessError) {
    do throws(StoreAccessError) {
      try NoticeFile.make(for: path)
    } catch {
      guard error.kind == .permissionDenied || error.kind == .readOnly else { throw error }
    }
  }

  private init(_ pool: ConnectionPool, _ tell: @escaping @Sendable () -> Void) { (self.pool, self.tell) = (pool, tell) }

  /// Ends it: nothing more is told, but what is just being told.
  func end() {
    isOver.store(true, ordering: .releasing)
    files.withLock { files in
      files?.end()
      files = nil
    }
  }

  /// Something was written, perhaps by this coordinator itself. Not at once: the thread that says so serves all stores of the process.
  private func lookSoon() {
    guard !isWaiting.exchange(true, ordering: .sequentiallyConsistent) else { return }
    queue.async { [self] in
      isWaiting.store(false, ordering: .sequentiallyConsistent)
      if !isOver.load(ordering: .acquiring) { pool.lookForOthers() }
    }
  }

  /// Others have committed.
  private func tellSoon() {
    queue.async { [self] in
      if !isOver.load(ordering: .acquiring) { tell() }
    }
  }
}
