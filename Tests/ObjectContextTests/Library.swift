@_spi(Generated) import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization
import XCTest

/// The model, classes and stack that the context's tests share: authors with books, books with tags, ordered shelves, and people who like
/// each other.
enum Library {
  static let model = ManagedObjectModel(version: "library") {
    Entity("Author", class: "Author") {
      Attribute("name", .string).required().length(1...40)
      Attribute("born", .integer16)
      Attribute("mood", .undefined).transient()
      Relationship("books", toMany: "Book", inverse: "author").onDelete(.cascade)
      Relationship("agent", to: "Agent", inverse: "client")
    }
    Entity("Agent") {
      Attribute("name", .string)
      Relationship("client", to: "Author", inverse: "agent").onDelete(.deny)
    }
    Entity("Book", class: "Book") {
      Attribute("title", .string).required()
      Attribute("price", .double).required().initially(9.5).range(0.0...1_000)
      Attribute("pages", .integer32)
      Relationship("author", to: "Author", inverse: "books")
      Relationship("tags", toMany: "Tag", inverse: "books")
      Relationship("shelf", to: "Shelf", inverse: "books")
    }
    Entity("Novel", class: "Novel", parent: "Book") {
      Attribute("hero", .string)
    }
    Entity("Tag", class: "Tag") {
      Attribute("name", .string).required()
      Relationship("books", toMany: "Book", inverse: "tags")
    }
    Entity("Shelf") {
      Relationship("books", toMany: "Book", inverse: "shelf").ordered()
    }
    Entity("Person") {
      Attribute("name", .string)
      Relationship("parent", to: "Person", inverse: "children")
      Relationship("children", toMany: "Person", inverse: "parent").onDelete(.cascade)
      Relationship("friends", toMany: "Person", inverse: "friends")
    }
  }

  static let classes = ManagedObjectClasses(["Author": Author.self, "Book": Book.self, "Novel": Novel.self, "Tag": Tag.self])

  /// A coordinator with one store that counts its requests.
  static func coordinator() async throws -> PersistentStoreCoordinator {
    PersistentStoreCoordinator.registerStoreClass(CountingStore.self, forStoreType: CountingStore.type)
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
    try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: CountingStore.type))
    return coordinator
  }
}

/// The in-memory store with a counter of its requests.
final class CountingStore: IncrementalStore {
  static let type = StoreType(rawValue: "Counting")
  let store: InMemoryStore
  private let counter = Mutex(0)

  init(configuration: StoreConfiguration) throws { store = try InMemoryStore(configuration: configuration) }

  /// Returns the number of requests since the last call.
  func takeCount() -> Int {
    counter.withLock { count in
      defer { count = 0 }
      return count
    }
  }
  private func note() { counter.withLock { $0 += 1 } }

  func loadMetadata() throws -> StoreMetadata { try store.loadMetadata() }
  func execute(_ request: PersistentStoreRequest, in scope: RequestScope) throws -> PersistentStoreResult {
    note()
    return try store.execute(request, in: scope)
  }
  func newValuesForObjects(with objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> RowList {
    note()
    return try store.newValuesForObjects(with: objectIDs, in: scope)
  }
  func newValues(
    forRelationship relationship: CompiledRelationship, forObjectsWith objectIDs: [ManagedObjectID], in scope: RequestScope
  ) throws -> RelationshipValues {
    note()
    return try store.newValues(forRelationship: relationship, forObjectsWith: objectIDs, in: scope)
  }
  func obtainPermanentIDs(for objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> [ManagedObjectID] {
    try store.obtainPermanentIDs(for: objectIDs, in: scope)
  }
  func performTransaction(_ body: () throws -> Void) throws { try store.performTransaction(body) }
  func close() throws { try store.close() }
}

/// Slot numbers follow the order of declaration, as in generated classes.
final class Author: ManagedObject {
  var name: String {
    get { value(0) }
    set { setValue(newValue, at: 0) }
  }
  var born: Int16? {
    get { optionalValue(1) }
    set { setOptionalValue(newValue, at: 1) }
  }
  var books: Set<Book> {
    get { toManySet(0) }
    set { setToMany(Array(newValue), at: 0) }
  }
  var log: [String] = []
  override func awakeFromInsert() { log.append("awakeFromInsert") }
  override func awakeFromFetch() { log.append("awakeFromFetch") }
  override func willSave() { log.append("willSave") }
  override func didSave() { log.append("didSave") }
  override func prepareForDeletion() { log.append("prepareForDeletion \(books.count)") }
}

class Book: ManagedObject {
  final var title: String {
    get { value(0) }
    set { setValue(newValue, at: 0) }
  }
  final var price: Double {
    get { value(1) }
    set { setValue(newValue, at: 1) }
  }
  final var pages: Int32? {
    get { optionalValue(2) }
    set { setOptionalValue(newValue, at: 2) }
  }
  final var author: Author? {
    get { toOne(3) }
    set { setToOne(newValue, at: 3) }
  }
  final var tags: Set<Tag> {
    get { toManySet(0) }
    set { setToMany(Array(newValue), at: 0) }
  }
}

final class Novel: Book {
  var hero: String? {
    get { optionalValue(5) }
    set { setOptionalValue(newValue, at: 5) }
  }
}

final class Tag: ManagedObject {
  var name: String {
    get { value(0) }
    set { setValue(newValue, at: 0) }
  }
  var books: Set<Book> {
    get { toManySet(0) }
    set { setToMany(Array(newValue), at: 0) }
  }
}

/// A test with its own coordinator and context.
class LibraryTestCase: XCTestCase {
  /// Runs `body` with a coordinator whose store is empty.
  func withLibrary(_ body: (ManagedObjectContext, PersistentStoreCoordinator) throws -> Void) async throws {
    let coordinator = try await Library.coordinator()
    try body(ManagedObjectContext(coordinator: coordinator, classes: Library.classes), coordinator)
  }

  /// Another context on the same stores.
  func another(_ coordinator: PersistentStoreCoordinator) -> ManagedObjectContext {
    ManagedObjectContext(coordinator: coordinator, classes: Library.classes)
  }

  /// The store that counts requests.
  func counting(_ coordinator: PersistentStoreCoordinator) throws -> CountingStore {
    try XCTUnwrap(coordinator.persistentStores.first?.incrementalStore as? CountingStore)
  }
}

extension ManagedObjectContext {
  func all<Object: ManagedObject>(_ type: Object.Type, sortedBy key: String? = nil) throws -> [Object] {
    let name = try XCTUnwrap(classes.entityName(of: type))
    var request = FetchRequest<Object>(entityName: name)
    if let key { request.sortDescriptors = [FetchSortDescriptor(key)] }
    return try fetch(request)
  }
}
