// Connection+Profiling: statements that have run, with their times and rows, for who asks; SQLite itself tells of them.

import CSQLCipher

/// A statement that has run.
package struct ProfiledStatement: Sendable {
  /// Its text with placeholders.
  package let text: String
  /// The time from its first step to its last.
  package let duration: Duration
  /// The rows that it gave, or has changed.
  package let rowCount: Int
}

extension Connection {
  /// Calls somebody after each statement, but for the sentinels of reads.
  package func setProfiler(_ heard: @escaping @Sendable (ProfiledStatement) -> Void) {
    guard !isClosed else { return }
    let profiler = StatementProfiler(heard)
    sqlite3_trace_v2(
      pointer, UInt32(SQLITE_TRACE_STMT | SQLITE_TRACE_ROW | SQLITE_TRACE_PROFILE),
      { event, data, statement, text in
        if let data, let statement {
          // The connection holds the profiler as long as SQLite knows it.
          Unmanaged<StatementProfiler>.fromOpaque(data)._withUnsafeGuaranteedRef {
            $0.tell(Int32(bitPattern: event), OpaquePointer(statement), text)
          }
        }
        return 0
      }, Unmanaged.passUnretained(profiler).toOpaque())  // as above
    self.profiler = profiler
  }
}

/// Puts together what SQLite tells of one connection's statements: when they begin, their rows, and their end.
final class StatementProfiler {
  private struct Run {
    let start: ContinuousClock.Instant
    let changes: Int32
    var rows = 0
  }

  private let heard: @Sendable (ProfiledStatement) -> Void
  /// The statements that run, one inside the other where a function of ours reads.
  private var runs: [OpaquePointer: Run] = [:]

  init(_ heard: @escaping @Sendable (ProfiledStatement) -> Void) { self.heard = heard }

  func tell(_ event: Int32, _ statement: OpaquePointer, _ text: UnsafeMutableRawPointer?) {
    switch event {
    case SQLITE_TRACE_STMT:
      // A trigger of a statement that runs tells of itself in a comment.
      if let text, text.load(as: UInt8.self) == UInt8(ascii: "-"), runs[statement] != nil { return }
      runs[statement] = Run(start: .now, changes: sqlite3_total_changes(sqlite3_db_handle(statement)))
    case SQLITE_TRACE_ROW: runs[statement]?.rows += 1
    case SQLITE_TRACE_PROFILE:
      guard let run = runs.removeValue(forKey: statement), let text = sqlite3_sql(statement) else { return }
      let sql = String(cString: text)
      if sql == Connection.sentinelText { return }
      let isReading = sqlite3_stmt_readonly(statement) != 0
      let changes = Int(sqlite3_total_changes(sqlite3_db_handle(statement)) - run.changes)
      heard(ProfiledStatement(text: sql, duration: .now - run.start, rowCount: isReading ? run.rows : changes))
    default: break
    }
  }
}
