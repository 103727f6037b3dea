import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import _TestSupport

/// An encrypted store with books of some authors and subjects, made for each operation that is counted.
final class CountedStore {
  static let authors = 8
  private let folder: URL
  private let observer: SQLObserver?
  private let model: CompiledModel
  private var coordinator: PersistentStoreCoordinator
  private var store: PersistentStore?

  /// The context and the objects that an operation starts with.
  var context: ManagedObjectContext
  var objects: [ManagedObject] = []

  static let described = ManagedObjectModel(version: "1") {
    Entity("Author") {
      Attribute("name", .string).required()
      Attribute("born", .integer64)
      Relationship("books", toMany: "Book", inverse: "author").onDelete(.cascade)
    }
    Entity("Book") {
      Attribute("title", .string).required()
      Attribute("year", .integer64)
      Attribute("price", .decimal)
      Relationship("author", to: "Author", inverse: "books")
      Relationship("subjects", toMany: "Subject", inverse: "books")
      Index("byYear", on: "year")
    }
    Entity("Subject") {
      Attribute("name", .string).required()
      Relationship("books", toMany: "Book", inverse: "subjects")
    }
  }

  /// Makes a store with a number of books in a new folder.
  init(books: Int, in parent: URL, observer: SQLObserver?) throws {
    folder = parent.appendingPathComponent(UUID().uuidString)
    self.observer = observer
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    model = try CompiledModel(Self.described)
    coordinator = PersistentStoreCoordinator(compiledModel: model)
    context = ManagedObjectContext(coordinator: coordinator)
    try open()
    if books > 0 { try insert(books) }
    // Reopen the store, so that the row cache is in its initial state.
    try close()
    try open()
  }

  func remove() throws {
    try close()
    try FileManager.default.removeItem(at: folder)
  }

  func open() throws {
    var description = PersistentStoreDescription(
      url: folder.appendingPathComponent("counted.store"), key: .raw(SecretBytes([UInt8](repeating: 7, count: 32))))
    description.durability = .fast
    description.sqlObserver = observer
    coordinator = PersistentStoreCoordinator(compiledModel: model)
    store = try coordinator.addPersistentStoreAndWait(description)
    context = ManagedObjectContext(coordinator: coordinator)
  }

  func close() throws {
    objects = []
    context = ManagedObjectContext(coordinator: coordinator)
    if let store { try coordinator.remove(store) }
    store = nil
  }

  func insert(_ count: Int) throws {
    var authors: [ManagedObject] = []
    var subjects: [ManagedObject] = []
    for number in 0..<Self.authors {
      let author = try context.insertObject(entityName: "Author")
      try author.setValue("the author with the number \(number)", forKey: "name")
      try author.setValue(Int64(1_900 + number), forKey: "born")
      authors.append(author)
      let subject = try context.insertObject(entityName: "Subject")
      try subject.setValue("the subject with the number \(number)", forKey: "name")
      subjects.append(subject)
    }
    for number in 0..<count {
      let book = try context.insertObject(entityName: "Book")
      try book.setValue("the book with the number \(number)", forKey: "title")
      try book.setValue(Int64(1_950 + number % 50), forKey: "year")
      try book.setValue(Decimal(number) / 4, forKey: "price")
      try book.setValue(authors[number % Self.authors], forKey: "author")
      try book.setValue(Set([subjects[number % Self.authors], subjects[(number + 3) % Self.authors]]), forKey: "subjects")
    }
    try context.save()
  }

  /// All objects of an entity, in key order.
  func all(_ entityName: String) throws -> [ManagedObject] { try context.fetch(FetchRequest<ManagedObject>(entityName: entityName)) }
}

extension PersistentStoreCoordinator {
  /// Adds a store from a synchronous program.
  func addPersistentStoreAndWait(_ description: PersistentStoreDescription) throws -> PersistentStore {
    try waitFor { try await self.addPersistentStore(with: description) }
  }
}
