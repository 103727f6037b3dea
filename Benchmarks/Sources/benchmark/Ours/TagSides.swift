import BenchmarkData
import CipherData
import Foundation
import LibraryClasses

/// W12 on our side: the tags of books, one book after the other and for many at once.
@MainActor
final class TagSides {
  /// Every tenth book in key order.
  private static let step = 10
  private let stores: OurStores
  private var context: ManagedObjectContext?
  private var books: [Book] = []
  private var ids: [ManagedObjectID] = []
  private var touched: UInt64 = 0

  init(_ stores: OurStores) { self.stores = stores }

  func sides() -> [String: Side] {
    [
      "W12a": Side(prepare: prepareAll, run: readEveryTenth, finish: finishEveryTenth),
      "W12b": Side(prepare: prepareEveryTenth, run: readAll, finish: finishDeep),
      "W12c": Side(prepare: prepareAll, run: readAll, finish: finish),
      "W12d": Side(prepare: prepareIDs, run: readFetched, finish: finishFetched),
      "W12e": Side(prepare: prepareSample, run: readPrefetched, finish: finishDeep),
    ]
  }

  // MARK: Books in memory, without tags and members

  private func prepareAll() async throws {
    let context = stores.emptyContext(try await stores.needReading())
    books = try context.fetch(Book.all)
    self.context = context
  }

  private func prepareEveryTenth() async throws {
    let container = try await stores.needReading()
    let all = try container.newBackgroundContext().fetch(Book.all)
    let ids = stride(from: 0, to: all.count, by: Self.step).map { all[$0].objectID }
    try prepare(ids, container)
  }

  private func prepareIDs() async throws {
    let container = try await stores.needReading()
    ids = try stores.sample(12, container)
    context = stores.emptyContext(container)
  }

  private func prepareSample() async throws {
    try await prepareIDs()
    try prepare(ids, try await stores.needReading())
  }

  private func prepare(_ ids: [ManagedObjectID], _ container: PersistentContainer) throws {
    let context = stores.emptyContext(container)
    books = try fetch(ids, context)
    self.context = context
  }

  private func fetch(_ ids: [ManagedObjectID], _ context: ManagedObjectContext) throws -> [Book] {
    try context.fetch(FetchRequest<Book>(entityName: "Book", predicate: FetchPredicate(format: "SELF IN %@", ids)))
  }

  // MARK: One by one

  private func readAll() throws {
    var (sum, count): (UInt64, UInt64) = (0, 0)
    for book in books {
      for tag in book.tags {
        sum &+= UInt64(tag.name.utf8.count)
        count += 1
      }
    }
    touched = bench_mix(sum, count)
  }

  private func readEveryTenth() throws {
    var (sum, count): (UInt64, UInt64) = (0, 0)
    for index in stride(from: 0, to: books.count, by: Self.step) {
      for tag in books[index].tags {
        sum &+= UInt64(tag.name.utf8.count)
        count += 1
      }
    }
    touched = bench_mix(sum, count)
  }

  // MARK: At once

  /// Fetches the books with the given IDs and their tags.
  private func readFetched() throws {
    guard let context else { return }
    var request = Book.fetchRequest()
    request.predicate = try FetchPredicate(format: "SELF IN %@", ids)
    request.relationshipKeyPathsForPrefetching = ["tags"]
    read(try context.fetch(request))
  }

  /// Reads the tags of books in memory.
  private func readPrefetched() throws {
    try context?.prefetch(["tags"], for: books)
    read(books)
  }

  private func read(_ books: [Book]) {
    var (sum, count): (UInt64, UInt64) = (0, 0)
    for book in books {
      for tag in book.tags {
        sum &+= UInt64(tag.name.utf8.count)
        count += 1
      }
    }
    touched = bench_mix(sum, count)
  }

  // MARK: Checksums

  private func finishEveryTenth() async throws -> UInt64 {
    books = stride(from: 0, to: books.count, by: Self.step).map { books[$0] }
    return try await finishDeep()
  }

  private func finishFetched() async throws -> UInt64 {
    if let context { books = try fetch(ids, context) }
    return try await finishDeep()
  }

  private func finishDeep() async throws -> UInt64 {
    for book in books { for tag in book.tags { touched &+= OurStores.deep(tag) } }
    return try await finish()
  }

  private func finish() async throws -> UInt64 {
    books = []
    ids = []
    context = nil
    return touched
  }
}
