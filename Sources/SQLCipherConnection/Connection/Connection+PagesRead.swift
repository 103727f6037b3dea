// Connection+PagesRead: how many pages are read from the file, and how far a statement is that reads all of them.
import CSQLCipher
import StoreFiles
import StoreKeys

extension Connection {
  /// Runs `body`, which reads every page at least once, and tells meanwhile how many pages were read from the file. Its statements fail with `.cancelled` once
  /// the handler says so. SQLite asks while it goes through rows; that of SQLCipher 3.4.1 does not
  /// while it checks how the pages of a tree hang together.
  func tellingPagesRead<Result>(_ progress: ProgressHandler?, _ body: () throws -> Result) throws -> Result {
    guard let progress, !isClosed else { return try body() }
    // Where damage hides the number, the checks will say so.
    let pages = (try? pragma("page_count")).flatMap { $0 }.flatMap { Int($0) } ?? 0
    let before = pagesRead
    guard progress(0, max(1, pages)) else { throw StoreAccessError(.cancelled, path: path, operation: .verify) }
    return try cancelling(when: { !progress(min(pagesRead - before, pages), max(1, pages)) }, body)
  }

  /// How many pages were looked for in the connection's cache in vain.
  package var pagesRead: Int {
    if isClosed { return 0 }
    var (count, highest): (Int32, Int32) = (0, 0)
    sqlite3_db_status(pointer, SQLITE_DBSTATUS_CACHE_MISS, &count, &highest, 0)
    return Int(count)
  }

  /// How many pages the connection's cache holds.
  package var pagesInCache: Int { options.cacheSizeKiB * 1_024 / format.pageSize }
}
