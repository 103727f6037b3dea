import BenchmarkData
import CipherData
import Foundation
import LibraryClasses

/// W10 and W11 on our side: from each book to its author.
@MainActor
final class TraversalSides {
  private static let passes = 10
  private let stores: OurStores
  private var context: ManagedObjectContext?
  private var books: [Book] = []
  private var authors: [Author] = []
  private var touched: UInt64 = 0

  init(_ stores: OurStores) { self.stores = stores }

  func sides() -> [String: Side] {
    [
      "W10a": Side(prepare: prepareBooks, run: traverse, finish: finish),
      "W10b": Side(prepare: prepareKept, run: traverse, finish: finishKept),
      "W10c": Side(prepare: prepareBooks, run: traverseFetched, finish: finish),
      "W11": Side(prepare: prepareWarm, run: traverseOften, finish: finish),
    ]
  }

  /// Fetches all books, without authors in memory.
  private func prepareBooks() async throws {
    let context = stores.emptyContext(try await stores.needReading())
    books = try context.fetch(Book.all)
    self.context = context
  }

  private func traverse() throws {
    var sum: UInt64 = 0
    for book in books { sum &+= UInt64(bitPattern: book.author?.born ?? 0) }
    touched = sum
  }

  private func finish() async throws -> UInt64 {
    books = []
    authors = []
    context = nil
    return touched
  }

  // MARK: W10b

  private func prepareKept() async throws {
    try await prepareBooks()
    context?.retainsRegisteredObjects = true
  }

  private func finishKept() async throws -> UInt64 {
    for case let author as Author in context?.registeredObjects ?? [] { touched &+= OurStores.deep(author) }
    return try await finish()
  }

  // MARK: W10c

  private func traverseFetched() throws {
    authors = try context?.fetch(Author.all) ?? []
    try traverse()
  }

  // MARK: W11

  private func prepareWarm() async throws {
    let context = try await stores.needReading().newBackgroundContext()
    books = try context.fetch(Book.all)
    authors = try context.fetch(Author.all)
    for author in authors { touched &+= UInt64(bitPattern: author.born) }
    for book in books { touched &+= UInt64(bitPattern: book.pages) }
    self.context = context
  }

  private func traverseOften() throws {
    var sum: UInt64 = 0
    for _ in 0..<Self.passes {
      for book in books { sum &+= UInt64(bitPattern: book.author?.born ?? 0) }
    }
    touched = sum
  }
}
