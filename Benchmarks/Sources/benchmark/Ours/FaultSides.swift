// W9 to W12 on our side: objects by ID and along relationships.
import BenchmarkData
import CipherData
import Foundation

@MainActor
final class FaultSides {
  private static let hops = 10
  private let stores: OurStores
  private var context: ManagedObjectContext?
  private var books: [Book] = []
  private var authors: [Author] = []
  private var ids: [ManagedObjectID] = []
  private var touched: UInt64 = 0
  private var met: UInt64 = 0
  private let all = FetchRequest<Book>(entityName: "Book")

  init(_ stores: OurStores) { self.stores = stores }

  func sides() -> [String: Side] {
    [
      "W9": Side(prepare: preparePoint, run: point, finish: finishPoint),
      "W10": Side(prepare: prepareLazy, run: traverse, finish: finishLazy),
      "W11": Side(prepare: prepareWarm, run: traverseOften, finish: finishWarm),
      "W12": Side(prepare: prepareTags, run: tags, finish: finishTags),
    ]
  }

  /// The IDs of a sample of books.
  private func sample(_ seed: UInt64, _ container: PersistentContainer) throws -> [ManagedObjectID] {
    var byIndex = [ManagedObjectID?](repeating: nil, count: stores.data.pointee.book_count)
    for book in try container.newBackgroundContext().fetch(all) { byIndex[Int(OurStores.index(book))] = book.objectID }
    let count = stores.data.pointee.book_count / 10
    guard let sample = bench_sample_books(stores.data, seed, count) else { return [] }
    defer { free(sample) }
    return (0..<count).compactMap { byIndex[Int(sample[$0])] }
  }

  /// A context of its own, and no row in the coordinator's cache.
  private func emptyContext(_ container: PersistentContainer) -> ManagedObjectContext {
    let context = container.newBackgroundContext()
    context.refreshAllObjects()
    return context
  }

  // MARK: W9

  private func preparePoint() async throws {
    let container = try await stores.needReading()
    ids = try sample(9, container)
    context = emptyContext(container)
    books.reserveCapacity(ids.count)
  }

  private func point() async throws {
    guard let context else { return }
    var sum: UInt64 = 0
    for id in ids {
      guard let book = context.object(with: id) as? Book else { continue }
      sum &+= OurStores.touch(book)
      books.append(book)
    }
    touched = sum
  }

  private func finishPoint() async throws -> UInt64 {
    let deep = books.reduce(UInt64(0)) { $0 &+ OurStores.deep($1) }
    release()
    return bench_mix(touched, deep)
  }

  // MARK: W10, W11

  private func prepareLazy() async throws {
    let container = try await stores.needReading()
    let context = emptyContext(container)
    books = try context.fetch(all)
    // Objects do not hold those that they refer to: the context does, so that an author is made once, as in C.
    context.retainsRegisteredObjects = true
    self.context = context
  }

  private func traverse() async throws {
    var sum: UInt64 = 0
    for book in books { sum &+= UInt64(bitPattern: book.author?.born ?? 0) }
    touched = sum
  }

  private func finishLazy() async throws -> UInt64 {
    let sum = (context?.registeredObjects ?? []).reduce(touched) { sum, object in
      (object as? Author).map { sum &+ OurStores.deep($0) } ?? sum
    }
    release()
    return sum
  }

  private func prepareWarm() async throws {
    let context = try await stores.needReading().newBackgroundContext()
    books = try context.fetch(all)
    authors = try context.fetch(FetchRequest<Author>(entityName: "Author"))
    for author in authors { met &+= UInt64(bitPattern: author.born) }
    for book in books { met &+= UInt64(bitPattern: book.pages) }
    self.context = context
  }

  private func traverseOften() async throws {
    var sum: UInt64 = 0
    for _ in 0..<Self.hops {
      for book in books { sum &+= UInt64(bitPattern: book.author?.born ?? 0) }
    }
    touched = sum
  }

  private func finishWarm() async throws -> UInt64 {
    release()
    return touched
  }

  // MARK: W12

  private func prepareTags() async throws {
    let container = try await stores.needReading()
    let ids = try sample(12, container)
    let context = emptyContext(container)
    books = try context.fetch(
      FetchRequest<Book>(
        entityName: "Book", predicate: .comparison(FetchComparison(left: .evaluatedObject, op: .in, right: .constant(ids._fetchConstant)))))
    context.retainsRegisteredObjects = true
    self.context = context
  }

  private func tags() async throws {
    var (sum, count): (UInt64, UInt64) = (0, 0)
    for book in books {
      for tag in book.tags {
        sum &+= UInt64(tag.name.utf8.count)
        count += 1
      }
    }
    touched = bench_mix(sum, count)
  }

  private func finishTags() async throws -> UInt64 {
    var sum = touched
    for book in books { for tag in book.tags { sum &+= OurStores.deep(tag) } }
    release()
    return sum
  }

  private func release() {
    books = []
    authors = []
    ids = []
    context = nil
  }
}
