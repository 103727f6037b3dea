// ConnectionPool+Writer: the one writer, taken and given back.

import Foundation
import StoreFiles
import StoreKeys

extension ConnectionPool {
  /// Waits for the one writer; the caller gives it back with ``giveBackWriter(_:)``. It opens no transaction itself.
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
    // After the commit they would be too old for anybody; left open, they would keep the log from beginning anew, commit after commit, as long as somebody
    // reads and saves in turns. Where none is open no timer runs.
    if timer != nil { endIdleSnapshots() }
    let known = writer
    condition.unlock()
    if let known {
      held.prepare(known)
      return known
    }
    // Outside the lock: it may have to wait for another process.
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

  /// What the writer says of all others' commits; nil where somebody has it.
  func versionOfIdleWriter() throws -> HeldSnapshot.State.Version? {
    let idle = locked { () -> (Connection, Int)? in
      guard let writer, !isWriterTaken, !isExclusive else { return nil }
      isWriterTaken = true
      writerOwner = pthread_self()
      return (writer, writerCount)
    }
    guard let (writer, number) = idle else { return nil }
    defer {
      // Nothing was written: unlike after any other use of it, no commit is counted.
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

  /// Takes the writer where it is free once `note` was called; whoever has it finds the note when he gives it back.
  func takeFreeWriter(noting note: () -> Void) -> Connection? {
    let isFree = locked {
      note()
      return key != nil && !isWriterTaken && !isExclusive
    }
    return isFree ? try? takeWriter() : nil
  }

  /// Lets the next one have the writer. What is open on it is rolled back.
  package func giveBackWriter(_ connection: Connection) {
    connection.abandonTransaction()
    commits.add()  // also for a caller that committed by hand
    var hasOthers = false
    while true {
      if others.isAsked, others.look(connection) {
        // What began to be read meanwhile may be without what they have committed.
        commits.add()
        hasOthers = true
      }
      let isGivenBack = locked {
        // Who has asked since found the writer taken, and relies on this.
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
