import BenchmarkData
@_spi(Generated) import CipherData
import Foundation
import LibraryClasses

/// The data as Swift values, made before the measurement.
@MainActor
final class LibraryData {
  struct BookData {
    let title: String
    let isbn: String
    let price: Double
    let published: Date
    let pages: Int64
    let author: Int
    let tags: Range<Int>
  }
  let names: [String]
  let emails: [String]
  let born: [Int64]
  let tags: [String]
  let books: [BookData]
  /// The tag of each pair.
  let pairs: [Int]

  init(_ data: UnsafeMutablePointer<bench_data>) {
    let data = data.pointee
    let authors = UnsafeBufferPointer(start: data.authors, count: data.author_count)
    names = authors.map { Self.string($0.name) }
    emails = authors.map { Self.string($0.email) }
    born = authors.map(\.born)
    tags = UnsafeBufferPointer(start: data.tags, count: data.tag_count).map { Self.string($0.name) }
    books = UnsafeBufferPointer(start: data.books, count: data.book_count).map { book in
      BookData(
        title: Self.string(book.title), isbn: Self.string(book.isbn), price: book.price,
        published: Date(timeIntervalSinceReferenceDate: book.published), pages: book.pages, author: Int(book.author),
        tags: Int(book.first_pair)..<Int(book.first_pair + book.pair_count))
    }
    pairs = UnsafeBufferPointer(start: data.pairs, count: data.pair_count).map { Int($0.tag) }
  }

  private static func string(_ text: bench_text) -> String {
    String(decoding: UnsafeRawBufferPointer(start: text.bytes, count: text.length), as: UTF8.self)
  }
}

/// Opens, fills and copies stores with the settings of the C side: a pristine one to copy for workloads that write, and an open one for
/// those that read.
@MainActor
final class OurStores {
  let data: UnsafeMutablePointer<bench_data>
  let folder: String
  lazy var library = LibraryData(data)
  private var pristine: String?
  private var reading: PersistentContainer?

  init(data: UnsafeMutablePointer<bench_data>, folder: String) {
    self.data = data
    self.folder = folder
  }

  func path(_ name: String) -> String { "\(folder)/\(name)" }

  /// Returns a container for a store file with a raw key and a page cache of 64 MB per connection, as in C.
  static func container(
    _ path: String, model: ManagedObjectModel = BookshopModel.managedObjectModel, classes: ManagedObjectClasses = BookshopModel.classes,
    durability: StoreDurability = .fast, cacheSize: Int = 64 << 20, history: HistoryLevel? = nil
  ) throws -> PersistentContainer {
    var description = PersistentStoreDescription(url: URL(fileURLWithPath: path), key: .databaseKey(SecretBytes(UInt8(0)..<32)))
    description.durability = durability
    description.cacheSize = cacheSize
    if let history { (description.historyTracking, description.historyLevel) = (true, history) }
    return try PersistentContainer(
      name: "benchmark", managedObjectModel: model, classes: classes, persistentStoreDescriptions: [description])
  }

  static func open(
    _ path: String, durability: StoreDurability = .fast, history: HistoryLevel? = nil
  ) async throws -> PersistentContainer {
    let container = try container(path, durability: durability, history: history)
    try await container.loadPersistentStores()
    return container
  }

  static func remove(_ path: String) {
    for ending in ["", "-wal", "-shm", "-journal", ".keys"] { unlink(path + ending) }
  }

  /// Inserts the whole graph, in a separate context.
  func insertLibrary(_ context: ManagedObjectContext) throws {
    let library = library
    var authors: [Author] = []
    authors.reserveCapacity(library.names.count)
    for index in library.names.indices {
      let author = Author(context: context)
      author.name = library.names[index]
      author.email = library.emails[index]
      author.born = library.born[index]
      authors.append(author)
    }
    let tags = library.tags.map { name in
      let tag = Tag(context: context)
      tag.name = name
      return tag
    }
    for item in library.books {
      let book = Book(context: context)
      book.title = item.title
      book.isbn = item.isbn
      book.price = item.price
      book.published = item.published
      book.pages = item.pages
      book.author = authors[item.author]
      for pair in item.tags { book.addToTags(tags[library.pairs[pair]]) }
    }
    try context.save()
  }

  /// Returns the path of a filled store that is not open.
  private func needPristine() async throws -> String {
    if let pristine { return pristine }
    let path = path("ours-pristine.store")
    let container = try await Self.open(path)
    try insertLibrary(container.newBackgroundContext())
    try container.close()
    pristine = path
    return path
  }

  /// Returns the open store of the workloads that read, with all pages read once.
  func needReading() async throws -> PersistentContainer {
    if let reading { return reading }
    let container = try await Self.open(try await copy("ours.store"))
    _ = try checksum(container)
    reading = container
    return container
  }

  /// Returns a fresh copy of the filled store.
  func copy(_ name: String) async throws -> String { try await copy(toPath: path(name)) }

  func copy(toPath path: String) async throws -> String {
    let pristine = try await needPristine()
    Self.remove(path)
    try FileManager.default.copyItem(atPath: pristine, toPath: path)
    // Sync the copy, as C does. Otherwise the disk is still writing it while W14b waits for its saves.
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    defer { try? file.close() }
    try file.synchronize()
    return path
  }

  /// Returns a separate context, with an empty row cache in the coordinator.
  func emptyContext(_ container: PersistentContainer) -> ManagedObjectContext {
    let context = container.newBackgroundContext()
    context.refreshAllObjects()
    return context
  }

  /// Returns the IDs of a tenth of the books.
  func sample(_ seed: UInt64, _ container: PersistentContainer) throws -> [ManagedObjectID] {
    var byIndex = [ManagedObjectID?](repeating: nil, count: data.pointee.book_count)
    for book in try container.newBackgroundContext().fetch(Book.all) { byIndex[Int(Self.index(book))] = book.objectID }
    let count = byIndex.count / 10
    guard let sample = bench_sample_books(data, seed, count) else { return [] }
    defer { free(sample) }
    return (0..<count).compactMap { byIndex[Int(sample[$0])] }
  }

  // MARK: Checksums

  static func touch(_ book: Book) -> UInt64 {
    // Read the author as a key, by its slot in the model: this creates no object, as in C.
    bench_book_touch(
      book.title.utf8.count, book.isbn.utf8.count, book.price, book.published.timeIntervalSinceReferenceDate, book.pages,
      book.toOneID(5) == nil ? 0 : 1)
  }

  static func deep(_ book: Book) -> UInt64 {
    var (title, isbn) = (book.title, book.isbn)
    let author = book.author.map(index) ?? 0
    let (price, published, pages) = (book.price, book.published.timeIntervalSinceReferenceDate, book.pages)
    return title.withUTF8 { title in
      isbn.withUTF8 { isbn in
        title.withMemoryRebound(to: CChar.self) { title in
          isbn.withMemoryRebound(to: CChar.self) { isbn in
            bench_book_deep(title.baseAddress, title.count, isbn.baseAddress, isbn.count, price, published, pages, author)
          }
        }
      }
    }
  }

  static func deep(_ author: Author) -> UInt64 {
    var (name, email) = (author.name, author.email)
    let born = author.born
    return name.withUTF8 { name in
      email.withUTF8 { email in
        name.withMemoryRebound(to: CChar.self) { name in
          email.withMemoryRebound(to: CChar.self) { email in
            bench_author_deep(name.baseAddress, name.count, email.baseAddress, email.count, born)
          }
        }
      }
    }
  }

  static func deep(_ tag: Tag) -> UInt64 { withCharacters(tag.name) { bench_tag_deep($0.baseAddress, $0.count) } }

  static func withCharacters<Result>(_ text: String, _ body: (UnsafeBufferPointer<CChar>) -> Result) -> Result {
    var text = text
    return text.withUTF8 { bytes in bytes.withMemoryRebound(to: CChar.self, body) }
  }

  /// The index in an author's email, author.N@books.example.
  static func index(_ author: Author) -> UInt32 {
    UInt32(author.email.dropFirst("author.".count).prefix { $0.isNumber }) ?? 0
  }

  static func index(_ book: Book) -> UInt32 { withCharacters(book.isbn) { bench_isbn_index($0.baseAddress) } }

  /// Reads every byte of every row and every pair in a new context.
  func checksum(_ container: PersistentContainer) throws -> UInt64 {
    let context = container.newBackgroundContext()
    var sum: UInt64 = 0
    let authors = try context.fetch(Author.all)
    let tags = try context.fetch(Tag.all)
    for author in authors { sum &+= Self.deep(author) }
    for tag in tags { sum &+= Self.deep(tag) }
    let books = try context.fetch(Book.all)
    for book in books {
      sum &+= Self.deep(book)
      let index = Self.index(book)
      for tag in book.tags {
        sum &+= Self.withCharacters(tag.name) { bench_pair_deep(index, $0.baseAddress, $0.count) }
      }
    }
    return sum
  }
}
