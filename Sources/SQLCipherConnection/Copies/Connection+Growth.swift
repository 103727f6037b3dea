import StoreFiles
import StoreKeys

extension Connection {
  /// Returns the number of pages of the database, including unused ones.
  func allPages() throws -> Int { max(1, try pages("page_count")) }

  /// Returns the number of pages of the database that are in use.
  func usedPages() throws -> Int { max(1, try pages("page_count") - pages("freelist_count")) }

  private func pages(_ pragma: String) throws -> Int { try self.pragma(pragma).flatMap { Int($0) } ?? 0 }

  /// Runs `body`, which writes a copy, and reports the growth of the copy's file as progress.
  func reporting(
    _ progress: ProgressHandler?, growthOf copy: String, pages: Int, operation: StoreAccessError.Operation, _ body: () throws -> Void
  ) throws {
    guard let progress else { return try body() }
    var isCancelled = false
    do {
      try cancelling(
        when: {
          let done = min(pages, (StoreFile.size(copy) ?? 0) / format.pageSize)
          if !progress(done, pages) { isCancelled = true }
          return isCancelled
        }, body)
    } catch  where isCancelled {
      throw StoreAccessError(.cancelled, path: path, operation: operation, underlying: error)
    }
  }
}
