import Foundation
public import ObjectContext
import ObjectModel
public import ObjectQuery
import ObjectStore
import XCTest

/// The base class of suites that use managed objects on a store.
open class ObjectSpecification: StoreSpecification {
  /// Objects that stay alive until the test ends.
  private var held: [ManagedObject] = []
  /// The contexts of the objects found: an object without its context has no values.
  private var contexts: [ManagedObjectContext] = []

  /// Retains objects until the test ends.
  public func hold(_ objects: some Sequence<ManagedObject>) { held.append(contentsOf: objects) }

  /// Releases the retained objects before the stores are closed.
  open override func tearDown() {
    held.removeAll()
    contexts.removeAll()
    super.tearDown()
  }

  /// Returns the object of an entity with a text in a property. Its context lives until the test ends.
  public func find(_ entity: String, _ key: String, _ text: String, in context: ManagedObjectContext) throws -> ManagedObject {
    contexts.append(context)
    let found = try context.fetch(FetchRequest<ManagedObject>(entityName: entity, predicate: .compare(key, .equal, text)))
    XCTAssertLessThanOrEqual(found.count, 1)
    return try XCTUnwrap(found.first, "There is no \(entity) with \(key) \(text).")
  }
}

extension OpenStore {
  /// Makes a new context on the store.
  public func newContext() -> ManagedObjectContext { ManagedObjectContext(coordinator: coordinator) }
}

extension ManagedObjectContext {
  /// Inserts an object and sets its properties.
  @discardableResult public func insert(_ entityName: String, _ values: [String: Any?] = [:]) throws -> ManagedObject {
    let object = try insertObject(entityName: entityName)
    for (key, value) in values { try object.setValue(value, forKey: key) }
    return object
  }

  /// Returns the texts of a property of a fetch's objects, in order.
  public func texts(_ key: String, _ request: FetchRequest<ManagedObject>) throws -> [String] {
    try fetch(request).map { $0.text(key) ?? "(none)" }
  }

  /// Returns all objects of an entity.
  public func all(_ entityName: String) throws -> [ManagedObject] { try fetch(FetchRequest<ManagedObject>(entityName: entityName)) }
}

extension ManagedObject {
  /// Returns the value of a text property.
  public func text(_ key: String) -> String? { self[key] as? String }
  /// Returns the value of a 64-bit integer property.
  public func integer(_ key: String) -> Int64? { self[key] as? Int64 }
  /// Returns the object of a to-one relationship.
  public func object(_ key: String) -> ManagedObject? { self[key] as? ManagedObject }
  /// Returns the members of a to-many relationship as a set.
  public func members(_ key: String) -> Set<ManagedObject> {
    (self[key] as? Set<ManagedObject>) ?? Set(self[key] as? [ManagedObject] ?? [])
  }
  /// Returns the members of an ordered to-many relationship.
  public func list(_ key: String) -> [ManagedObject] { self[key] as? [ManagedObject] ?? [] }
}
