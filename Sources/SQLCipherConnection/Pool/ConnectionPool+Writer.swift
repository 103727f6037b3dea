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
