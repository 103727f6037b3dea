import Dispatch
import Foundation
import StoreFiles
import StoreKeys

extension ConnectionPool {
  /// Waits for the writer and takes it. The caller returns it with ``returnWriter(_:)``. No transaction is begun.
  package func takeWriter() throws -> Connection {
    let me = pthread_self()
    condition.lock()
    if let writerOwner, isWriterTaken, pthread_equal(writerOwner, me) != 0 {
      condition.unlock()
      throw StoreAccessError(.misuse(.nestedWriter), path: path, operation: .write)
    }
    wait { !isWriterTaken && !isExclusive || key == nil }
    guard let key else {
      condition.unlock()
      throw closed(.write)
    }
    isWriterTaken = true
    writerOwner = me
    // After the commit, idle snapshots would be too old to reuse. If they stayed open while reads and saves alternate, the log could never
    // restart. Without a timer, no snapshot is open.
    if timer != nil { endIdleSnapshots() }
    let known = writer
    condition.unlock()
    if let known {
      heldSnapshots.prepare(known)
      return known
    }
    // Outside the lock: opening may wait for another process.
    do {
      let connection = try makeConnection(key)
      locked {
        writer = connection
        writerCount += 1
      }
      heldSnapshots.prepare(connection)
      return connection
    } catch {
      locked {
        isWriterTaken = false
        writerOwner = nil
        notifyWaiters()
      }
      throw error
    }
  }

  /// Returns the data version that the idle writer sees; nil if the writer is in use.
  func versionOfIdleWriter() throws -> HeldSnapshot.State.Version? {
    let idle = locked { () -> (Connection, Int)? in
      guard let writer, !isWriterTaken, !isExclusive else { return nil }
      isWriterTaken = true
      writerOwner = pthread_self()
      return (writer, writerCount)
    }
    guard let (writer, number) = idle else { return nil }
    defer {
      // Nothing was written, so unlike after other uses no commit is counted.
      locked {
        if writer.isDamaged {
          writer.close()
          self.writer = nil
        }
        isWriterTaken = false
        writerOwner = nil
        notifyWaiters()
      }
    }
    return HeldSnapshot.State.Version(connection: number, number: try writer.dataVersion())
  }

  /// Takes the writer if it is free, after calling `record`. Otherwise the current owner checks the note when it returns the writer.
  func takeIdleWriter(registering record: () -> Void) -> Connection? {
    let isFree = locked {
      record()
      return key != nil && !isWriterTaken && !isExclusive
    }
    return isFree ? try? takeWriter() : nil
  }

  /// Returns the writer to the pool. An open transaction is rolled back.
  package func returnWriter(_ connection: Connection) {
    connection.abandonTransaction()
    commits.add()  // includes callers that commit manually
    var foundRemoteCommits = false
    while true {
      if remoteCommits.isCheckRequested, remoteCommits.check(connection) {
        // Reads that began in the meantime may not include the other connections' commits.
        commits.add()
        foundRemoteCommits = true
      }
      let isReturned = locked {
        // A request since then found the writer taken, and relies on this check.
        if remoteCommits.isCheckRequested { return false }
        if connection.isDamaged {
          connection.close()
          writer = nil
        }
        isWriterTaken = false
        writerOwner = nil
        notifyWaiters()
        return true
      }
      if isReturned { break }
    }
    if foundRemoteCommits {
      heldSnapshots.checkLogSize()
      remoteCommits.notify()
    }
  }
}

// MARK: - Held snapshots

extension ConnectionPool {
  /// Returns a snapshot of the current committed state, which stays valid as long as it is retained. Returns the last snapshot if nothing
  /// was committed since.
  ///
  /// - Parameter companion: Creates an object to retain for the lifetime of a new snapshot. Called before the snapshot begins.
  package func holdSnapshot(with companion: () throws -> AnyObject? = { nil }) throws -> HeldSnapshot {
    heldSnapshots.checkLogSizeIfDue()
    return try withNewSnapshot { key in
      holdLock.lock()
      defer { holdLock.unlock() }
      // Read before the snapshot begins: a commit in between makes the snapshot look older than it is, and it is then not shared.
      let commits = commitCount
      let writer = try versionOfIdleWriter()
      // Usually the writer is idle, which saves the first snapshot a connection for this purpose.
      let probe = try writer == nil ? heldSnapshots.version { try makeConnection(key) } : nil
      let state = HeldSnapshot.State(commits: commits, writer: writer, probe: probe)
      if let last = heldSnapshots.last(of: state) { return last }
      let companion = try companion()
      let connection = try heldSnapshots.takeConnection { try makeConnection(key) }
      do {
        try connection.beginRead()
        // The first read takes the snapshot.
        _ = try connection.userVersion()
        try onSnapshot(connection)
        try connection.checkSentinel()
      } catch {
        connection.close()
        throw error
      }
      return heldSnapshots.add(connection, companion: companion, state: state)
    }
  }

  /// Registers a function that is called, on any thread, whenever the last held snapshot ends, except when it ends for exclusive access.
  package func onLastSnapshotEnd(_ body: @escaping @Sendable () -> Void) { heldSnapshots.onLastSnapshotEnd(body) }

  /// Ends all held snapshots. Waits for running reads.
  package func endHeldSnapshots() {
    heldSnapshots.shut()
    heldSnapshots.reopen()
  }

  /// Truncates the log file if it is too long and no snapshot is held. Retries for a while if there are readers.
  func scheduleLogTruncation(_ attempts: Int = 50) {
    guard heldSnapshots.isTooLong(StoreFile.size(path + "-wal") ?? 0) else { return }
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .milliseconds(attempts == 50 ? 0 : 100)) { [weak self] in
      guard let self, !heldSnapshots.hasHeldSnapshots, (try? truncateLog()) == false, attempts > 1 else { return }
      scheduleLogTruncation(attempts - 1)
    }
  }

  /// Copies the log into the database file and truncates the log file. Saves wait for it; it waits for readers for at most 50 ms.
  ///
  /// - Returns: Whether the log file was truncated.
  package func truncateLog() throws -> Bool {
    try withWriter { writer in
      guard !writer.options.isReadOnly else { return true }
      // Copy as much as possible before waiting for readers.
      writer.checkpoint(.passive)
      locked { _ = endIdleSnapshots() }
      writer.database.waiting.milliseconds = min(50, writer.options.busyTimeoutMilliseconds)
      defer { writer.database.waiting.milliseconds = writer.options.busyTimeoutMilliseconds }
      return writer.checkpoint(.truncate)
    }
  }
}
