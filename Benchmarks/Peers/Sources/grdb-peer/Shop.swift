// The bookshop in an unencrypted SQLite database.
import BenchmarkData
import Foundation
import GRDB

/// Opens, fills and copies databases, and computes checksums.
final class Shop {
  let data: UnsafeMutablePointer<bench_data>
  private let folder: String
  /// The path of W14b's database.
  let diskPath: String
  private var pristine: String?
  private var open: DatabaseQueue?

  init(data: UnsafeMutablePointer<bench_data>, folder: String, diskFolder: String) {
    self.data = data
    self.folder = folder
    diskPath = "\(diskFolder)/grdb-disk.sqlite"
  }

  func path(_ name: String) -> String { "\(folder)/\(name)" }

  /// The settings of the other sides, except for the key.
  func queue(_ path: String, synchronous: String = "NORMAL") throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.journalMode = .wal
    configuration.prepareDatabase { db in
      try db.execute(sql: "PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY")
    }
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    // Set it last, since opening with a log sets NORMAL.
    try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = \(synchronous)") }
    return queue
  }

  func remove(_ path: String) {
    for ending in ["", "-wal", "-shm", "-journal"] { unlink(path + ending) }
  }

  func createTables(_ queue: DatabaseQueue) throws {
    try queue.write { db in
      try db.create(table: "author") { table in
        table.autoIncrementedPrimaryKey("id")
        table.column("name", .text).notNull()
        table.column("email", .text).notNull()
        table.column("born", .integer).notNull()
      }
      try db.create(table: "tag") { table in
        table.autoIncrementedPrimaryKey("id")
        table.column("name", .text).notNull()
      }
      try db.create(table: "book") { table in
        table.autoIncrementedPrimaryKey("id")
        table.column("title", .text).notNull()
        table.column("isbn", .text).notNull()
        table.column("price", .double).notNull()
        table.column("published", .double).notNull()
        table.column("pages", .integer).notNull()
        table.belongsTo("author").notNull()
      }
      try db.create(table: "bookTag") { table in
        table.primaryKey {
          table.belongsTo("book", onDelete: .cascade)
          table.belongsTo("tag", onDelete: .cascade)
        }
      }
    }
  }

  func insert(_ queue: DatabaseQueue, _ library: Library) throws {
    try queue.write { db in
      var (authors, tags): ([Int64], [Int64]) = ([], [])
      for var author in library.authors {
        try author.insert(db)
        authors.append(author.id ?? 0)
      }
      for var tag in library.tags {
        try tag.insert(db)
        tags.append(tag.id ?? 0)
      }
      for (index, item) in library.books.enumerated() {
        var book = item
        book.authorId = authors[library.authorOf[index]]
        try book.insert(db)
        for tag in library.tagsOf[index] { try BookTag(bookId: book.id ?? 0, tagId: tags[tag]).insert(db) }
      }
    }
  }

  lazy var library = Library(data.pointee)

  /// Returns an open, filled database.
  func reading() throws -> DatabaseQueue {
    if let open { return open }
    let queue = try queue(try copy("grdb.sqlite"))
    _ = try checksum(queue)
    open = queue
    return queue
  }

  /// Returns a fresh copy of the filled database.
  func copy(_ name: String) throws -> String { try copy(toPath: path(name)) }

  func copy(toPath path: String) throws -> String {
    let full = try pristine ?? makePristine()
    remove(path)
    try FileManager.default.copyItem(atPath: full, toPath: path)
    // Sync the copy, as C does.
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    defer { try? file.close() }
    try file.synchronize()
    return path
  }

  private func makePristine() throws -> String {
    let path = path("grdb-pristine.sqlite")
    remove(path)
    let queue = try queue(path)
    try createTables(queue)
    try insert(queue, library)
    try queue.close()
    pristine = path
    return path
  }

  func sample(_ seed: UInt64, _ divisor: Int) -> [Int] {
    let count = data.pointee.book_count / divisor
    guard let sample = bench_sample_books(data, seed, count) else { return [] }
    defer { free(sample) }
    return (0..<count).map { Int(sample[$0]) }
  }

  /// Reads every byte of every row and every pair.
  func checksum(_ queue: DatabaseQueue) throws -> UInt64 {
    try queue.read { db in
      var sum: UInt64 = 0
      for author in try Author.fetchAll(db) { sum &+= Checksum.deep(author) }
      var names: [Int64: String] = [:]
      for tag in try Tag.fetchAll(db) {
        sum &+= Checksum.deep(tag)
        names[tag.id ?? 0] = tag.name
      }
      for book in try Book.fetchAll(db) { sum &+= Checksum.deep(book) }
      for pair in try BookTag.fetchAll(db) {
        sum &+= Checksum.characters(names[pair.tagId] ?? "") { bench_pair_deep(UInt32(pair.bookId - 1), $0.baseAddress, $0.count) }
      }
      return sum
    }
  }
}

/// The data as records, made before the measurement.
struct Library {
  let authors: [Author]
  let tags: [Tag]
  let books: [Book]
  let authorOf: [Int]
  let tagsOf: [[Int]]

  init(_ data: bench_data) {
    func string(_ text: bench_text) -> String {
      String(decoding: UnsafeRawBufferPointer(start: text.bytes, count: text.length), as: UTF8.self)
    }
    authors = UnsafeBufferPointer(start: data.authors, count: data.author_count).map {
      Author(name: string($0.name), email: string($0.email), born: $0.born)
    }
    tags = UnsafeBufferPointer(start: data.tags, count: data.tag_count).map { Tag(name: string($0.name)) }
    let rows = UnsafeBufferPointer(start: data.books, count: data.book_count)
    books = rows.map { book in
      Book(
        title: string(book.title), isbn: string(book.isbn), price: book.price,
        published: Date(timeIntervalSinceReferenceDate: book.published), pages: book.pages, authorId: 0)
    }
    authorOf = rows.map { Int($0.author) }
    let pairs = UnsafeBufferPointer(start: data.pairs, count: data.pair_count)
    tagsOf = rows.map { book in pairs[Int(book.first_pair)..<Int(book.first_pair + book.pair_count)].map { Int($0.tag) } }
  }
}

/// The checksums of the other sides. Keys are assigned in the order of the data.
enum Checksum {
  static func characters<Result>(_ text: String, _ body: (UnsafeBufferPointer<CChar>) -> Result) -> Result {
    var text = text
    return text.withUTF8 { bytes in bytes.withMemoryRebound(to: CChar.self, body) }
  }

  static func touch(_ book: Book) -> UInt64 {
    bench_book_touch(
      book.title.utf8.count, book.isbn.utf8.count, book.price, book.published.timeIntervalSinceReferenceDate, book.pages,
      book.authorId == 0 ? 0 : 1)
  }

  static func deep(_ book: Book) -> UInt64 {
    characters(book.title) { title in
      characters(book.isbn) { isbn in
        bench_book_deep(
          title.baseAddress, title.count, isbn.baseAddress, isbn.count, book.price, book.published.timeIntervalSinceReferenceDate,
          book.pages, UInt32(book.authorId - 1))
      }
    }
  }

  static func deep(_ author: Author) -> UInt64 {
    characters(author.name) { name in
      characters(author.email) { email in bench_author_deep(name.baseAddress, name.count, email.baseAddress, email.count, author.born) }
    }
  }

  static func deep(_ tag: Tag) -> UInt64 { characters(tag.name) { bench_tag_deep($0.baseAddress, $0.count) } }
}
