import CSQLCipher

/// A statement that finished, with its duration and row count.
package struct ProfiledStatement: Sendable {
  /// The SQL text with placeholders.
  package let text: String
  /// The time from the first step to the last.
  package let duration: Duration
  /// The number of rows that it returned or, for a statement that writes, changed.
  package let rowCount: Int
}

extension Connection {
  /// Sets an observer that is called after each statement except the sentinels of reads.
  package func setProfiler(_ handler: @escaping @Sendable (ProfiledStatement) -> Void) {
    guard !isClosed else { return }
    let profiler = StatementProfiler(handler)
    sqlite3_trace_v2(
      pointer, UInt32(SQLITE_TRACE_STMT | SQLITE_TRACE_ROW | SQLITE_TRACE_PROFILE),
      { event, data, statement, text in
        if let data, let statement {
          // The connection keeps the profiler alive as long as the trace is installed.
          Unmanaged<StatementProfiler>.fromOpaque(data)._withUnsafeGuaranteedRef {
            $0.report(Int32(bitPattern: event), OpaquePointer(statement), text)
          }
        }
        return 0
      }, Unmanaged.passUnretained(profiler).toOpaque())  // as above
    self.profiler = profiler
  }
}

/// Combines SQLite's trace events of one connection, the start, rows and end of statements, into `ProfiledStatement` values.
final class StatementProfiler {
  private struct Run {
    let start: ContinuousClock.Instant
    let changes: Int32
    var rows = 0
  }

  private let handler: @Sendable (ProfiledStatement) -> Void
  /// The running statements. They nest if an SQL function of this library reads.
  private var runs: [OpaquePointer: Run] = [:]

  init(_ handler: @escaping @Sendable (ProfiledStatement) -> Void) { self.handler = handler }

  func report(_ event: Int32, _ statement: OpaquePointer, _ text: UnsafeMutableRawPointer?) {
    switch event {
    case SQLITE_TRACE_STMT:
      // SQLite reports the triggers of a running statement as comments.
      if let text, text.load(as: UInt8.self) == UInt8(ascii: "-"), runs[statement] != nil { return }
      runs[statement] = Run(start: .now, changes: sqlite3_total_changes(sqlite3_db_handle(statement)))
    case SQLITE_TRACE_ROW: runs[statement]?.rows += 1
    case SQLITE_TRACE_PROFILE:
      guard let run = runs.removeValue(forKey: statement), let text = sqlite3_sql(statement) else { return }
      let sql = String(cString: text)
      if sql == Connection.sentinelText { return }
      let isReading = sqlite3_stmt_readonly(statement) != 0
      let changes = Int(sqlite3_total_changes(sqlite3_db_handle(statement)) - run.changes)
      handler(ProfiledStatement(text: sql, duration: .now - run.start, rowCount: isReading ? run.rows : changes))
    default: break
    }
  }
}
