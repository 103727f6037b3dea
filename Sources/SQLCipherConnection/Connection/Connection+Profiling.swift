import CSQLCipher
import StoreFiles
import StoreKeys

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

// MARK: - Pages read

extension Connection {
  /// Runs `body`, which reads every page at least once, and reports progress as the number of pages read from the file.
  ///
  /// Once the handler returns false, the statements fail with `.cancelled`. SQLite calls the handler while it steps through rows. SQLCipher
  /// 3.4.1 does not call it while it checks the structure of a tree.
  func reportingPagesRead<Result>(_ progress: ProgressHandler?, _ body: () throws -> Result) throws -> Result {
    guard let progress, !isClosed else { return try body() }
    // If damage prevents reading the page count, the checks report the damage.
    let pages = (try? pragma("page_count")).flatMap { $0 }.flatMap { Int($0) } ?? 0
    let before = pagesRead
    guard progress(0, max(1, pages)) else { throw StoreAccessError(.cancelled, path: path, operation: .verify) }
    return try cancelling(when: { !progress(min(pagesRead - before, pages), max(1, pages)) }, body)
  }

  /// The number of cache misses of the connection, in pages.
  package var pagesRead: Int {
    if isClosed { return 0 }
    var (count, highest): (Int32, Int32) = (0, 0)
    sqlite3_db_status(pointer, SQLITE_DBSTATUS_CACHE_MISS, &count, &highest, 0)
    return Int(count)
  }

  /// The number of pages that fit into the connection's cache.
  package var pagesInCache: Int { options.cacheSizeKiB * 1_024 / format.pageSize }
}

// MARK: - Cancellation

extension Connection {
  /// The number of virtual machine steps between two cancellation checks, which take some hundred microseconds.
  private static var stepsBetweenChecks: Int32 { 2_000 }

  /// Runs `body`. Its statements fail with `.cancelled` once `isCancelled` returns true.
  package func cancelling<Result>(when isCancelled: () -> Bool, _ body: () throws -> Result) rethrows -> Result {
    guard !isClosed else { return try body() }
    return try withoutActuallyEscaping(isCancelled) { isCancelled in
      let box = Unmanaged.passRetained(CancellationBox(isCancelled))  // released when the handler is removed
      sqlite3_progress_handler(
        pointer, Self.stepsBetweenChecks,
        // SQLite calls this only while the handler is installed.
        { data in data.map { Unmanaged<CancellationBox>.fromOpaque($0)._withUnsafeGuaranteedRef { $0.check() } } ?? false ? 1 : 0 },
        box.toOpaque())
      defer {
        sqlite3_progress_handler(pointer, 0, nil, nil)
        box.release()
      }
      return try body()
    }
  }
}

private final class CancellationBox {
  let check: () -> Bool
  init(_ check: @escaping () -> Bool) { self.check = check }
}
