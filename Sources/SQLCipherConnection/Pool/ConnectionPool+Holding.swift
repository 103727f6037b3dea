// ConnectionPool+Holding: snapshots that somebody holds still, and the log that grows meanwhile.

import Dispatch
import Foundation
import StoreFiles
import StoreKeys

extension ConnectionPool {
  /// A snapshot of what is committed now, which stays as long as somebody has it; the last one where nothing was committed since.
  ///
  /// - Parameter companion: Makes what is kept with a new snapshot until it is over; called before it is begun.
  package func holdSnapshot(with companion: () throws -> AnyObject? = { nil }) throws -> HeldSnapshot {
    held.lookAtLogSometimes()
    return try beginningSnapshot { key in
      holding.lock()
      defer { holding.unlock() }
      // Asked before the snapshot is begun: a commit in between makes it look older than it is, and is not shared then.
      let commits = commitCount
      let writer = try versionOfIdleWriter()
      // The first snapshot is spared a connection of its own for this: nobody writes as a rule.
      let probe = try writer == nil ? held.version { try makeConnection(key) } : nil
      let state = HeldSnapshot.State(commits: commits, writer: writer, probe: probe)
      if let last = held.last(of: state) { return last }
      let companion = try companion()
      let connection = try held.takeConnection { try makeConnection(key) }
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
      return held.add(connection, companion: companion, state: state)
    }
  }

  /// Says who is called whenever the last snapshot that was held is over; on any thread, and not because nobody may have the file open.
  package func afterHolding(_ body: @escaping @Sendable () -> Void) { held.whenLastEnds(body) }

  /// Ends the snapshots that are held. Waits for who reads.
  package func endHeldSnapshots() {
    held.shut()
    held.reopen()
  }

  /// Cuts the log's file to nothing where it is too long and nobody holds a snapshot any more; it tries again for a while where somebody reads.
  func shortenLogSoon(_ attempts: Int = 50) {
    guard held.isTooLong(StoreFile.size(path + "-wal") ?? 0) else { return }
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .milliseconds(attempts == 50 ? 0 : 100)) { [weak self] in
      guard let self, !held.isAnyHeld, (try? shortenLog()) == false, attempts > 1 else { return }
      shortenLogSoon(attempts - 1)
    }
  }

  /// Copies the log into the file and cuts its own to nothing. Saves wait for it, but nobody waits for readers for long.
  ///
  /// - Returns: Whether it is cut.
  package func shortenLog() throws -> Bool {
    try withWriter { writer in
      guard !writer.options.isReadOnly else { return true }
      // What can be copied beside readers is copied before anybody waits for them.
      writer.checkpoint(.passive)
      locked { _ = endIdleSnapshots() }
      writer.database.waiting.milliseconds = min(50, writer.options.busyTimeoutMilliseconds)
      defer { writer.database.waiting.milliseconds = writer.options.busyTimeoutMilliseconds }
      return writer.checkpoint(.truncate)
    }
  }
}
