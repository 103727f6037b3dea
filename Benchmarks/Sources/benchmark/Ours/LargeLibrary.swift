import BenchmarkData
import CipherData
import Foundation
import LibraryClasses

/// W30 on our side: a library of any size, filled in batches, with an index on the price.
@MainActor
final class LargeLibrary {
  private static let dear = Book.all.where { $0.price > 50 }
  private static let top = Book.all.where { $0.pages > 500 }.sorted { $0.title }.limit(1_000)
  private let container: PersistentContainer
  private var library: bench_large

  /// Opens a store, or creates an empty one.
  init(_ path: String, books: Int, cacheSize: Int) async throws {
    var model = BookshopModel.managedObjectModel
    for index in model.entities.indices where model.entities[index].name == "Book" {
      model.entities[index].indexes.append(FetchIndexDescription(name: "byPrice", elements: [FetchIndexElement(property: "price")]))
    }
    container = try OurStores.container(path, model: model, cacheSize: cacheSize)
    library = bench_large_make(UInt32(books))
    try await container.loadPersistentStores()
  }

  func close() throws { try container.close() }

  func newContext() -> ManagedObjectContext { container.newBackgroundContext() }

  // MARK: Filling

  /// The IDs of rows by index, kept for as long as later books can refer to them.
  private struct KnownIDs {
    /// IDs that are used again after the last ones.
    private var first: [ManagedObjectID] = []
    private var near: [ManagedObjectID] = []
    private var start = 0
    private let window: Int

    init(window: Int) { self.window = window }

    subscript(index: UInt32) -> ManagedObjectID { Int(index) < start ? first[Int(index)] : near[Int(index) - start] }

    mutating func append(_ ids: some Sequence<ManagedObjectID>, dropBefore index: UInt32) {
      near += ids
      guard Int(index) > start, start > 0 || near.count >= window else { return }
      if start == 0 { first = Array(near.prefix(window)) }
      near.removeFirst(min(Int(index) - start, near.count))
      start = Int(index)
    }
  }

  /// Inserts books in batches, with the authors and tags that they are the first to need, and saves and resets after each, as an importer
  /// with bounded memory does. Later references use IDs.
  func fill(batch: UInt32) throws {
    let row = UnsafeMutablePointer<bench_large_row>.allocate(capacity: 1)
    defer { row.deallocate() }
    let context = newContext()
    var authors = KnownIDs(window: Int(BENCH_LARGE_NEAR_AUTHORS))
    var tags = KnownIDs(window: Int(BENCH_LARGE_NEAR_TAGS))
    var (authorCount, tagCount): (UInt32, UInt32) = (0, 0)
    for start in stride(from: 0, to: library.book_count, by: Int(batch)) {
      let end = min(start + batch, library.book_count)
      let newAuthors = (authorCount..<bench_large_authors_before(&library, end)).map { makeAuthor($0, row, context) }
      let newTags = (tagCount..<bench_large_tags_before(&library, end)).map { makeTag($0, row, context) }
      for index in start..<end {
        let book = makeBook(index, row, context)
        let author = row.pointee.book.author
        book.author = author < authorCount ? context.object(with: authors[author]) as? Author : newAuthors[Int(author - authorCount)]
        withUnsafeBytes(of: &row.pointee.tags) { numbers in
          for number in numbers.bindMemory(to: UInt32.self).prefix(Int(row.pointee.book.pair_count)) {
            if number >= tagCount {
              book.addToTags(newTags[Int(number - tagCount)])
            } else if let tag = context.object(with: tags[number]) as? Tag {
              book.addToTags(tag)
            }
          }
        }
      }
      try context.save()
      authors.append(newAuthors.lazy.map(\.objectID), dropBefore: end / 20)
      tags.append(newTags.lazy.map(\.objectID), dropBefore: end / 100)
      authorCount += UInt32(newAuthors.count)
      tagCount += UInt32(newTags.count)
      context.reset()
    }
  }

  private func makeAuthor(_ index: UInt32, _ row: UnsafeMutablePointer<bench_large_row>, _ context: ManagedObjectContext) -> Author {
    bench_large_author(&library, index, row)
    let author = Author(context: context)
    author.name = Self.string(row.pointee.author.name)
    author.email = Self.string(row.pointee.author.email)
    author.born = row.pointee.author.born
    return author
  }

  private func makeTag(_ index: UInt32, _ row: UnsafeMutablePointer<bench_large_row>, _ context: ManagedObjectContext) -> Tag {
    bench_large_tag(&library, index, row)
    let tag = Tag(context: context)
    tag.name = Self.string(row.pointee.tag.name)
    return tag
  }

  /// Inserts a book without its relationships.
  private func makeBook(_ index: UInt32, _ row: UnsafeMutablePointer<bench_large_row>, _ context: ManagedObjectContext) -> Book {
    bench_large_book(&library, index, row)
    let item = row.pointee.book
    let book = Book(context: context)
    book.title = Self.string(item.title)
    book.isbn = Self.string(item.isbn)
    book.price = item.price
    book.published = Date(timeIntervalSinceReferenceDate: item.published)
    book.pages = item.pages
    return book
  }

  private static func string(_ text: bench_text) -> String {
    String(decoding: UnsafeRawBufferPointer(start: text.bytes, count: text.length), as: UTF8.self)
  }

  // MARK: Reading

  func enumerate() throws -> UInt64 {
    var sum: UInt64 = 0
    try newContext().enumerateBatches(of: Book.all) { books, _ in
      for book in books { sum &+= OurStores.touch(book) }
    }
    return sum
  }

  /// Returns the checksum of every byte and every pair of every hundredth book.
  func deep() throws -> UInt64 {
    var sum: UInt64 = 0
    try newContext().enumerateBatches(of: Book.all) { books, _ in
      for book in books {
        let index = OurStores.index(book)
        guard index.isMultiple(of: 100) else { continue }
        sum &+= OurStores.deep(book)
        for tag in book.tags { sum &+= OurStores.withCharacters(tag.name) { bench_pair_deep(index, $0.baseAddress, $0.count) } }
      }
    }
    return sum
  }

  /// Returns the IDs of the books with the given indexes.
  func ids(_ indexes: [UInt32]) throws -> [ManagedObjectID] {
    let wanted = Set(indexes)
    var ids: [UInt32: ManagedObjectID] = [:]
    try newContext().enumerateBatches(of: Book.all) { books, _ in
      for book in books {
        let index = OurStores.index(book)
        if wanted.contains(index) { ids[index] = book.objectID }
      }
    }
    return indexes.compactMap { ids[$0] }
  }

  func point(_ ids: [ManagedObjectID], _ context: ManagedObjectContext) throws -> UInt64 {
    try context.perform {
      var sum: UInt64 = 0
      for id in ids {
        if let book = try context.existingObject(with: id) as? Book { sum &+= OurStores.touch(book) }
      }
      return sum
    }
  }

  func count(_ context: ManagedObjectContext) throws -> UInt64 { UInt64(try context.count(for: Self.dear)) }

  func top(_ context: ManagedObjectContext) throws -> UInt64 {
    var (order, sum): (UInt64, UInt64) = (0, 0)
    for book in try context.fetch(Self.top) {
      order = bench_mix(order, UInt64(OurStores.index(book)))
      sum &+= OurStores.touch(book)
    }
    return bench_mix(order, sum)
  }
}
