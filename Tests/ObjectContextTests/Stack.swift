import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import SQLCipherStore
import StoreKeys
import XCTest
import _TestSupport

/// A kind of store that tests run on.
enum StoreKind: String, CaseIterable {
  case inMemory
  case sqlcipher
}

/// The statements that a store has run.
struct Statements {
  let observer: SQLObserver
  var count: Int { observer.count }
  var texts: [String] { observer.statements }
  func reset() { observer.reset() }
}

/// A coordinator with one empty store.
final class Stack {
  let kind: StoreKind
  let coordinator: PersistentStoreCoordinator
  let classes: ManagedObjectClasses
  /// The recorded statements; nil in memory.
  let statements: Statements?
  private let folder: TemporaryFolder?

  init(_ kind: StoreKind, model: ManagedObjectModel, classes: ManagedObjectClasses) async throws {
    self.kind = kind
    self.classes = classes
    coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
    switch kind {
    case .inMemory:
      (folder, statements) = (nil, nil)
      try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: .inMemory))
    case .sqlcipher:
      let (folder, observer) = (try TemporaryFolder(), SQLObserver())
      var description = PersistentStoreDescription.encrypted(in: folder)
      description.sqlObserver = observer
      (self.folder, statements) = (folder, Statements(observer: observer))
      try await coordinator.addPersistentStore(with: description)
    }
  }

  private var contexts: [ManagedObjectContext] = []

  /// Makes a context that lives as long as the stack, since objects do not retain their context.
  func makeContext() -> ManagedObjectContext {
    let context = makeShortLivedContext()
    contexts.append(context)
    return context
  }

  /// Makes a context that is not retained.
  func makeShortLivedContext() -> ManagedObjectContext { ManagedObjectContext(coordinator: coordinator, classes: classes) }

  var store: PersistentStore { coordinator.persistentStores[0] }

  /// Empties the row cache, so that the next reads access the store.
  func forgetRows() { for store in coordinator.persistentStores { store.cache.removeAll() } }

  /// Changes objects as another process does: the row cache is not updated.
  ///
  /// - Parameter rows: The contents of the row cache afterwards.
  func changeElsewhere(keeping rows: [RowImage], _ change: (ManagedObjectContext) throws -> Void) throws {
    let other = makeContext()
    try change(other)
    try other.save()
    store.cache.removeAll()
    store.cache.insert(RowList(rows), readAt: store.cache.generation)
  }

  func close() throws { for store in coordinator.persistentStores { try coordinator.remove(store) } }
}

extension PersistentStoreDescription {
  /// An encrypted store in a folder, opened with a raw key.
  static func encrypted(in folder: TemporaryFolder, _ name: String = "test.store") -> PersistentStoreDescription {
    var description = PersistentStoreDescription(
      url: folder.file(name), key: .databaseKey(SecretBytes([UInt8](repeating: 7, count: 32))))
    description.durability = .fast
    return description
  }
}

extension XCTestCase {
  /// Runs `body` once for each kind of store.
  func onEachStore(
    _ kinds: [StoreKind] = StoreKind.allCases, model: ManagedObjectModel = Library.model, classes: ManagedObjectClasses = Library.classes,
    _ body: (Stack) throws -> Void
  ) async throws {
    for kind in kinds {
      let stack = try await Stack(kind, model: model, classes: classes)
      do { try body(stack) } catch {
        XCTFail("\(kind): \(error)")
      }
      try stack.close()
    }
  }
}

extension ManagedObjectContext {
  @discardableResult
  func make(_ entityName: String, _ values: [String: Any] = [:]) throws -> ManagedObject {
    let object = try insertObject(entityName: entityName)
    for (key, value) in values { try object.setValue(value, forKey: key) }
    return object
  }

  /// The objects of an entity that match a condition.
  func objects(_ entityName: String, where format: String? = nil, by key: String? = nil) throws -> [ManagedObject] {
    var request = FetchRequest<ManagedObject>(entityName: entityName)
    request.predicate = try format.map { try FetchPredicate(format: $0) }
    if let key { request.sortDescriptors = [FetchSortDescriptor(key)] }
    return try fetch(request)
  }

  func named(_ name: String, _ entityName: String) throws -> ManagedObject {
    var request = FetchRequest<ManagedObject>(entityName: entityName)
    request.predicate = try FetchPredicate(format: "name == %@", name)
    return try XCTUnwrap(fetch(request).first, "\(entityName) \(name)")
  }
}

extension ManagedObject {
  func text(_ key: String) -> String? { self[key] as? String }
  func one(_ key: String) -> ManagedObject? { self[key] as? ManagedObject }
  func many(_ key: String) -> Set<ManagedObject> { self[key] as? Set<ManagedObject> ?? [] }
  func list(_ key: String) -> [ManagedObject] { self[key] as? [ManagedObject] ?? [] }
  func names(_ key: String) -> [String] { list(key).compactMap { $0.text("name") } }
  func sortedNames(_ key: String) -> [String] { many(key).compactMap { $0.text("name") }.sorted() }
}
