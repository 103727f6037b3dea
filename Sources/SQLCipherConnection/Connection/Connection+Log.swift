// Connection+Log: the write-ahead log of a connection: who hears how long it is, and when it is copied into the file.

import CSQLCipher

extension Connection {
  /// How far a checkpoint goes.
  package enum Checkpoint: Sendable {
    /// As far as readers allow; nobody waits.
    case passive
    /// Waits for readers, and cuts the log's file to nothing.
    case truncate

    fileprivate var mode: Int32 {
      switch self {
      case .passive: SQLITE_CHECKPOINT_PASSIVE
      case .truncate: SQLITE_CHECKPOINT_TRUNCATE
      }
    }
  }

  /// Copies the log into the file, as far as that goes. Who cannot leaves it as it is.
  ///
  /// - Returns: Whether all of it was done.
  @discardableResult
  package func checkpoint(_ checkpoint: Checkpoint) -> Bool {
    if isClosed { return false }
    var (inLog, copied): (Int32, Int32) = (0, 0)
    let code = sqlite3_wal_checkpoint_v2(pointer, "main", checkpoint.mode, &inLog, &copied)
    return code == SQLITE_OK && inLog == copied
  }

  /// Whether somebody hears of the log: then nothing is copied by itself.
  var hasLogObserver: Bool { logObserver != nil }

  /// Calls somebody after each commit with the number of pages in the log, in place of the checkpoints that SQLite begins by itself; nil brings those back.
  ///
  /// With a reader that stays, such a checkpoint costs more with each commit: SQLite sorts the whole log before it sees that it may copy nothing.
  func setLogObserver(_ observer: ((Connection, Int) -> Void)?) {
    guard !isClosed else { return }
    guard let observer else {
      sqlite3_wal_autocheckpoint(pointer, Int32(clamping: options.checkpointPages))
      logObserver = nil
      return
    }
    let box = LogObserver(self, observer)
    sqlite3_wal_hook(
      pointer,
      { data, _, _, count in
        // The connection holds the box as long as SQLite knows it.
        data.map { Unmanaged<LogObserver>.fromOpaque($0)._withUnsafeGuaranteedRef { $0.tell(Int(count)) } }
        return SQLITE_OK
      }, Unmanaged.passUnretained(box).toOpaque())  // as above
    logObserver = box
  }

  /// Gives back the memory of pages that nobody uses.
  func releaseMemory() {
    if !isClosed { sqlite3_db_release_memory(pointer) }
  }
}

/// A Swift closure behind a C function pointer.
final class LogObserver {
  private unowned let connection: Connection
  private let observer: (Connection, Int) -> Void

  init(_ connection: Connection, _ observer: @escaping (Connection, Int) -> Void) {
    self.connection = connection
    self.observer = observer
  }

  func tell(_ count: Int) { observer(connection, count) }
}
