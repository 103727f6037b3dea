// The same operations through the module CoreData and through the library's own classes.
import CipherData
import CoreData
import Foundation
import LibraryClasses

let bookCount = 50_000
let authorCount = 1_000
let key = StoreKey.raw(SecretBytes(Array(repeating: 5, count: 32)))

/// The measured operations; each function runs one once.
protocol Side {
  /// Reads a number property of 1,000 objects, 100 times.
  func readNumbers() -> Int64
  /// Sets a number property of 1,000 objects, 100 times.
  func writeNumbers()
  /// W4: fetches all books into a new context, and reads all their attributes.
  func fetchAll() throws -> Int
  /// W9: reads one book in ten by its ID, in an empty context.
  func readByID() throws -> Int
  /// W13: changes one book in ten, and saves.
  func update() throws
}

struct ModuleSide: Side {
  let container: NSPersistentContainer
  let context: NSManagedObjectContext
  let hot: [ManagedBook]
  let authors: [ManagedAuthor]
  let tags: [ManagedTag]
  let sample: [ManagedBook]
  let ids: [NSManagedObjectID]

  init(folder: URL) throws {
    container = NSPersistentContainer(name: "Bookshop")
    let description = NSPersistentStoreDescription(url: folder.appendingPathComponent("module.store"))
    description.encryptionKey = key
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    if let failure { throw failure }
    let context = container.newBackgroundContext()
    self.context = context
    let authors = (0..<authorCount).map { number in
      let author = ManagedAuthor(context: context)
      (author.name, author.email, author.born) = ("Author \(number)", "\(number)@example.org", Int64(1900 + number % 100))
      return author
    }
    for number in 0..<bookCount {
      let book = ManagedBook(context: context)
      (book.title, book.isbn, book.price) = ("The title of book \(number)", "978-\(number)", Double(number % 100))
      (book.published, book.pages) = (Date(timeIntervalSinceReferenceDate: Double(number)), Int64(number % 900))
      book.author = authors[number % authorCount]
    }
    for number in 0..<authorCount {
      let tag = ManagedTag(context: context)
      (tag.name, tag.weight) = ("Tag \(number)", Int64(number % 100))
    }
    try context.save()
    self.authors = try context.fetch(NSFetchRequest<ManagedAuthor>(entityName: "Author"))
    tags = try context.fetch(NSFetchRequest<ManagedTag>(entityName: "Tag"))
    let all = try context.fetch(NSFetchRequest<ManagedBook>(entityName: "Book"))
    ids = all.enumerated().filter { $0.offset % 10 == 0 }.map(\.element.objectID)
    hot = Array(all.prefix(1_000))
    sample = all.enumerated().filter { $0.offset % 10 == 0 }.map(\.element)
    for book in all { _ = book.pages }
  }

  func readNumbers() -> Int64 {
    var sum: Int64 = 0
    for _ in 0..<100 { for book in hot { sum &+= book.pages } }
    return sum
  }

  func writeNumbers() {
    for round in 0..<100 { for book in hot { book.pages = Int64(round) } }
  }

  /// Reads the numbers with a generated class.
  func readGeneratedNumbers() -> Int64 {
    var sum: Int64 = 0
    for _ in 0..<100 { for author in authors { sum &+= author.born } }
    return sum
  }

  func writeGeneratedNumbers() {
    for round in 0..<100 { for author in authors { author.born = Int64(round) } }
  }

  /// Reads the numbers with a class whose properties are left to the plugin.
  func readLeftNumbers() -> Int64 {
    var sum: Int64 = 0
    for _ in 0..<100 { for tag in tags { sum &+= tag.weight } }
    return sum
  }

  func writeLeftNumbers() {
    for round in 0..<100 { for tag in tags { tag.weight = Int64(round) } }
  }

  private static func touch(_ book: ManagedBook) -> Int {
    book.title.utf8.count + book.isbn.utf8.count + Int(book.price) + Int(book.published.timeIntervalSinceReferenceDate) + Int(book.pages)
  }

  func fetchAll() throws -> Int {
    let context = container.newBackgroundContext()
    return try context.fetch(NSFetchRequest<ManagedBook>(entityName: "Book")).reduce(0) { $0 + Self.touch($1) }
  }

  func readByID() throws -> Int {
    let context = container.newBackgroundContext()
    var sum = 0
    for id in ids { if let book = try context.existingObject(with: id) as? ManagedBook { sum += Self.touch(book) } }
    return sum
  }

  func update() throws {
    for book in sample { book.price += 1 }
    try context.save()
  }
}

struct LibrarySide: Side {
  let container: PersistentContainer
  let context: ManagedObjectContext
  let hot: [Book]
  let sample: [Book]
  let ids: [ManagedObjectID]

  init(folder: URL) async throws {
    container = try PersistentContainer(
      name: "Bookshop", managedObjectModel: BookshopModel.managedObjectModel, classes: BookshopModel.classes,
      persistentStoreDescriptions: [PersistentStoreDescription(url: folder.appendingPathComponent("library.store"), key: key)])
    try await container.loadPersistentStores()
    let context = container.newBackgroundContext()
    self.context = context
    let authors = (0..<authorCount).map { number in
      let author = Author(context: context)
      (author.name, author.email, author.born) = ("Author \(number)", "\(number)@example.org", 1900 + Int64(number % 100))
      return author
    }
    for number in 0..<bookCount {
      let book = Book(context: context)
      (book.title, book.isbn, book.price) = ("The title of book \(number)", "978-\(number)", Double(number % 100))
      (book.published, book.pages) = (Date(timeIntervalSinceReferenceDate: Double(number)), Int64(number % 900))
      book.author = authors[number % authorCount]
    }
    try context.save()
    let all = try context.fetch(Book.all)
    ids = all.enumerated().filter { $0.offset % 10 == 0 }.map(\.element.objectID)
    hot = Array(all.prefix(1_000))
    sample = all.enumerated().filter { $0.offset % 10 == 0 }.map(\.element)
    for book in all { _ = book.pages }
  }

  func readNumbers() -> Int64 {
    var sum: Int64 = 0
    for _ in 0..<100 { for book in hot { sum &+= book.pages } }
    return sum
  }

  func writeNumbers() {
    for round in 0..<100 { for book in hot { book.pages = Int64(round) } }
  }

  private static func touch(_ book: Book) -> Int {
    book.title.utf8.count + book.isbn.utf8.count + Int(book.price) + Int(book.published.timeIntervalSinceReferenceDate) + Int(book.pages)
  }

  func fetchAll() throws -> Int {
    let context = container.newBackgroundContext()
    return try context.fetch(Book.all).reduce(0) { $0 + Self.touch($1) }
  }

  func readByID() throws -> Int {
    let context = container.newBackgroundContext()
    var sum = 0
    for id in ids { if let book = try context.existingObject(with: id) as? Book { sum += Self.touch(book) } }
    return sum
  }

  func update() throws {
    for book in sample { book.price += 1 }
    try context.save()
  }
}
