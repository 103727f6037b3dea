// Connection+Growth: how many pages a copy will have, and how far it has grown.
import StoreFiles
import StoreKeys

extension Connection {
  /// The pages of the database, unused ones too.
  func allPages() throws -> Int { max(1, try pages("page_count")) }

  /// The pages of the database that are in use.
  func usedPages() throws -> Int { max(1, try pages("page_count") - pages("freelist_count")) }

  private func pages(_ pragma: String) throws -> Int { try self.pragma(pragma).flatMap { Int($0) } ?? 0 }

  /// Runs `body`, which writes a copy, and tells how far the copy's file has grown.
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
