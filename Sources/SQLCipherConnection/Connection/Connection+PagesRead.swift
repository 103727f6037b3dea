import CSQLCipher
import StoreFiles
import StoreKeys

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
