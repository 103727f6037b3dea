// ObjectSpecification: the base of the suites that work with living objects over a store.
import Foundation
public import ObjectContext
import ObjectModel
public import ObjectQuery
import ObjectStore
import XCTest

/// The base of the suites that work with living objects over a store.
open class ObjectSpecification: StoreSpecification {
  /// Objects that a test wants to stay alive.
  private var held: [ManagedObject] = []
  /// The contexts of objects that were found: an object without its context has no values.
  private var contexts: [ManagedObjectContext] = []

  /// Keeps objects alive until the test ends.
  public func hold(_ objects: some Sequence<ManagedObject>) { held.append(contentsOf: objects) }

  /// Drops what the test holds before the stores are closed.
  open override func tearDown() {
    held.removeAll()
    contexts.removeAll()
    super.tearDown()
  }

  /// The object of an entity by the text of a property. Its context lives until the test ends.
  public func find(_ entity: String, _ key: String, _ text: String, in context: ManagedObjectContext) throws -> ManagedObject {
    contexts.append(context)
    let found = try context.fetch(FetchRequest<ManagedObject>(entityName: entity, predicate: .compare(key, .equal, text)))
    XCTAssertLessThanOrEqual(found.count, 1)
    return try XCTUnwrap(found.first, "There is no \(entity) with \(key) \(text).")
  }
}

extension OpenStore {
  /// A new context over the store.
  public func newContext() -> ManagedObjectContext { ManagedObjectContext(coordinator: coordinator) }
}

extension ManagedObjectContext {
  /// Inserts an object and sets properties of it.
  @discardableResult public func insert(_ entityName: String, _ values: [String: Any?] = [:]) throws -> ManagedObject {
    let object = try insertObject(entityName: entityName)
    for (key, value) in values { try object.setValue(value, forKey: key) }
    return object
  }

  /// The texts of a property of a fetch's objects, in order.
  public func texts(_ key: String, _ request: FetchRequest<ManagedObject>) throws -> [String] {
    try fetch(request).map { $0.text(key) ?? "(none)" }
  }

  /// The objects of an entity.
  public func all(_ entityName: String) throws -> [ManagedObject] { try fetch(FetchRequest<ManagedObject>(entityName: entityName)) }
}

extension ManagedObject {
  /// A text property.
  public func text(_ key: String) -> String? { self[key] as? String }
  /// A 64-bit integer property.
  public func integer(_ key: String) -> Int64? { self[key] as? Int64 }
  /// A to-one relationship.
  public func object(_ key: String) -> ManagedObject? { self[key] as? ManagedObject }
  /// A to-many relationship, as a set.
  public func members(_ key: String) -> Set<ManagedObject> {
    (self[key] as? Set<ManagedObject>) ?? Set(self[key] as? [ManagedObject] ?? [])
  }
  /// An ordered to-many relationship.
  public func list(_ key: String) -> [ManagedObject] { self[key] as? [ManagedObject] ?? [] }
}
