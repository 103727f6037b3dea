import Foundation
import StoreFiles
import StoreKeys

extension ConnectionPool {
  /// Waits for the writer and takes it. The caller returns it with ``giveBackWriter(_:)``. No transaction is begun.
  package func takeWriter() throws -> Connection {
    let me = pthread_self()
    condition.lock()
    if let writerOwner, isWriterTaken, pthread_equal(writerOwner, me) != 0 {
      condition.unlock()
      throw StoreAccessError(.misuse(.writerInItself), path: path, operation: .write)
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
      held.prepare(known)
      return known
    }
    // Outside the lock: opening may wait for another process.
    do {
      let connection = try makeConnection(key)
      locked {
        writer = connection
        writerCount += 1
      }
      held.prepare(connection)
      return connection
    } catch {
      locked {
        isWriterTaken = false
        writerOwner = nil
        wakeWaiters()
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
        wakeWaiters()
      }
    }
    return HeldSnapshot.State.Version(connection: number, number: try writer.dataVersion())
  }

  /// Takes the writer if it is free, after calling `note`. Otherwise the current owner checks the note when it returns the writer.
  func takeFreeWriter(noting note: () -> Void) -> Connection? {
    let isFree = locked {
      note()
      return key != nil && !isWriterTaken && !isExclusive
    }
    return isFree ? try? takeWriter() : nil
  }

  /// Returns the writer to the pool. An open transaction is rolled back.
  package func giveBackWriter(_ connection: Connection) {
    connection.abandonTransaction()
    commits.add()  // includes callers that commit manually
    var hasOthers = false
    while true {
      if others.isAsked, others.look(connection) {
        // Reads that began in the meantime may not include the other connections' commits.
        commits.add()
        hasOthers = true
      }
      let isGivenBack = locked {
        // A request since then found the writer taken, and relies on this check.
        if others.isAsked { return false }
        if connection.isDamaged {
          connection.close()
          writer = nil
        }
        isWriterTaken = false
        writerOwner = nil
        wakeWaiters()
        return true
      }
      if isGivenBack { break }
    }
    if hasOthers {
      held.lookAtLog()
      others.tell()
    }
  }
}
