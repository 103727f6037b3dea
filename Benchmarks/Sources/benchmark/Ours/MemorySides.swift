import BenchmarkData
import CipherData
import Foundation
import LibraryClasses

/// W16 to W18 on our side: properties, heap and release of fetched objects.
@MainActor
final class MemorySides {
  private static let reads = 10
  private let stores: OurStores
  private var context: ManagedObjectContext?
  private var books: [Book] = []
  private var touched: UInt64 = 0

  init(_ stores: OurStores) { self.stores = stores }

  func sides() -> [String: Side] {
    [
      "W16a": Side(prepare: prepareFired, run: read, finish: finishRead),
      "W16b": Side(prepare: prepareFired, run: { self.write(0) }, finish: finishPages),
      "W16c": Side(prepare: prepareWritten, run: { self.write(1) }, finish: finishPages),
      "W16d": Side(prepare: prepareWritten, run: readWritten, finish: finishRead),
      "W17": Side(prepare: prepareHeap, run: fetch, finish: finishDeep),
      "W18": Side(prepare: prepareFired, run: release, finish: { self.touched }),
    ]
  }

  private func fetch() async throws { books = try context?.fetch(Book.all) ?? [] }

  /// Fetches all books, without faults.
  private func prepareFired() async throws {
    context = try await stores.needReading().newBackgroundContext()
    try await fetch()
    touched = books.reduce(0) { $0 &+ UInt64(bitPattern: $1.pages) }
  }

  private func prepareWritten() async throws {
    try await prepareFired()
    write(0)
  }

  // MARK: W16

  private func read() async throws {
    let books = books
    var sum: UInt64 = 0
    for _ in 0..<Self.reads {
      for book in books { sum &+= book.price.bitPattern }
    }
    touched = sum
  }

  /// Writes the original value and another one alternately.
  private func readWritten() async throws {
    let books = books
    var sum: UInt64 = 0
    for pass in 0..<Self.reads {
      if pass.isMultiple(of: 2) {
        for book in books { sum &+= UInt64(bitPattern: book.pages) }
      } else {
        for book in books { sum &+= book.price.bitPattern }
      }
    }
    touched = sum
  }

  private func finishRead() async throws -> UInt64 {
    context?.rollback()
    books = []
    context = nil
    return touched
  }

  private func write(_ first: Int64) {
    var value = first
    for book in books {
      book.pages = value
      value += 1
    }
  }

  private func finishPages() async throws -> UInt64 {
    let sum = books.reduce(UInt64(0)) { $0 &+ UInt64(bitPattern: $1.pages) }
    context?.rollback()
    books = []
    context = nil
    return sum
  }

  // MARK: W17

  /// The pages and the statement's own memory are allocated before; the coordinator's row cache is empty.
  private func prepareHeap() async throws {
    let container = try await stores.needReading()
    _ = try container.newBackgroundContext().fetch(Book.all).count
    context = stores.emptyContext(container)
  }

  private func finishDeep() async throws -> UInt64 {
    let sum = books.reduce(UInt64(0)) { $0 &+ OurStores.deep($1) }
    books = []
    context = nil
    return sum
  }

  // MARK: W18

  private func release() async throws {
    touched = UInt64(books.count)
    books = []
    context = nil
  }
}
