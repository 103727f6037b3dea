import CSQLCipher

extension Connection {
  /// The extent of a checkpoint.
  package enum Checkpoint: Sendable {
    /// Copies as much as readers allow, without waiting.
    case passive
    /// Waits for readers, and truncates the log file to zero bytes.
    case truncate

    fileprivate var mode: Int32 {
      switch self {
      case .passive: SQLITE_CHECKPOINT_PASSIVE
      case .truncate: SQLITE_CHECKPOINT_TRUNCATE
      }
    }
  }

  /// Copies the log into the database file as far as `checkpoint` allows. Has no effect if that is not possible.
  ///
  /// - Returns: Whether the whole log was copied.
  @discardableResult
  package func checkpoint(_ checkpoint: Checkpoint) -> Bool {
    if isClosed { return false }
    var (inLog, copied): (Int32, Int32) = (0, 0)
    let code = sqlite3_wal_checkpoint_v2(pointer, "main", checkpoint.mode, &inLog, &copied)
    return code == SQLITE_OK && inLog == copied
  }

  /// Whether an observer of the log is set. SQLite then starts no automatic checkpoints.
  var hasLogObserver: Bool { logObserver != nil }

  /// Sets an observer that is called after each commit with the number of pages in the log, and turns off automatic checkpoints; nil turns
  /// them on again.
  ///
  /// While a reader keeps its snapshot, automatic checkpoints cost more with each commit: SQLite sorts the whole log before it finds that
  /// it cannot copy anything.
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
        // The connection keeps the box alive as long as the hook is installed.
        data.map { Unmanaged<LogObserver>.fromOpaque($0)._withUnsafeGuaranteedRef { $0.report(Int(count)) } }
        return SQLITE_OK
      }, Unmanaged.passUnretained(box).toOpaque())  // as above
    logObserver = box
  }

  /// Frees the memory of unused cache pages.
  func releaseMemory() {
    if !isClosed { sqlite3_db_release_memory(pointer) }
  }
}

final class LogObserver {
  private unowned let connection: Connection
  private let observer: (Connection, Int) -> Void

  init(_ connection: Connection, _ observer: @escaping (Connection, Int) -> Void) {
    self.connection = connection
    self.observer = observer
  }

  func report(_ count: Int) { observer(connection, count) }
}
