// BatchValues: what a typed batch update sets, by key paths.
import ObjectModel
public import ObjectQuery
import ObjectStore

/// What a typed batch update sets: the closure of ``ManagedObjectContext/update(_:_:)`` is given one.
///
/// ```swift
/// let count = try context.update(Book.all.where { $0.pages > 900 }) {
///   $0.set(\.isbn, to: nil)
///   $0.set(\.pages) { $0.pages - 100 }
/// }
/// ```
///
/// Paths are those of typed queries. A name that the model does not have, or a value of another kind, does not compile. All values are computed from the rows as
/// they were before the update.
public struct BatchValues<Object>: Sendable {
  /// The values by property.
  var properties: [String: (any Sendable)?] = [:]

  init() {}

  /// Sets a property to a value: an attribute, a part of a composite, or a to-one relationship to a saved object. Nil removes the value of an optional property.
  public mutating func set<Property: BatchProperty>(
    _ keyPath: KeyPath<FetchObject<Object, FetchDirect>, Property>, to value: Property._Assigned?
  ) { put(value.flatMap(Property._batchValue), at: asked(keyPath).fetchExpression) }

  /// Sets an attribute to what is computed for each object: `$0.set(\.pages) { $0.pages + 1 }`.
  public mutating func set<Field: FetchValueField, Other: FetchOperand>(
    _ keyPath: KeyPath<FetchObject<Object, FetchDirect>, Field>, _ value: (FetchObject<Object, FetchDirect>) -> Other
  ) where Other._Kind == Field._Kind {
    put(value(FetchObject(.evaluatedObject)).fetchExpression, at: asked(keyPath).fetchExpression)
  }

  private func asked<Property>(_ keyPath: KeyPath<FetchObject<Object, FetchDirect>, Property>) -> Property {
    FetchObject<Object, FetchDirect>(.evaluatedObject)[keyPath: keyPath]
  }

  private mutating func put(_ value: (any Sendable)?, at expression: FetchExpression) {
    // Another expression than a path has a name that no entity has: the request throws.
    let name = if case .keyPath(let names) = expression { names.joined(separator: ".") } else { "\(expression)" }
    properties[name] = .some(value)
  }
}

/// A property that a typed batch update sets to a value. There is one function for all kinds of properties: with one for each, the compiler reports other errors
/// than the wrong name in a closure that computes a value.
public protocol BatchProperty {
  /// The type of the values.
  associatedtype _Assigned
  /// The path to the property.
  var fetchExpression: FetchExpression { get }
  /// The value as a batch update takes it.
  static func _batchValue(_ value: _Assigned) -> (any Sendable)?
}

extension FetchField: BatchProperty {
  /// The value itself.
  public static func _batchValue(_ value: Value) -> (any Sendable)? { value }
}

extension FetchRawField: BatchProperty {
  /// The raw value.
  public static func _batchValue(_ value: Value) -> (any Sendable)? { value.rawValue }
}

extension FetchObject: BatchProperty where FetchedClass: ManagedObject, Reach == FetchIndirect {
  /// The object's ID.
  public static func _batchValue(_ value: FetchedClass) -> (any Sendable)? { value.objectID }
}

extension BatchValues where Object: FetchKeyPathNaming {
  /// Sets an attribute of a class that declares its entity itself.
  public mutating func set<Value: FetchValue & Sendable>(_ keyPath: KeyPath<Object, Value>, to value: Value) {
    put(value, at: path(keyPath))
  }

  /// Sets an optional attribute of a class that declares its entity itself; nil takes the value away.
  public mutating func set<Value: FetchValue & Sendable>(_ keyPath: KeyPath<Object, Value?>, to value: Value?) {
    put(value, at: path(keyPath))
  }

  /// Sets an attribute of a class that declares its entity itself to what is computed for each object.
  public mutating func set<Value: FetchValue, Other: FetchOperand>(
    _ keyPath: KeyPath<Object, Value>, _ value: (FetchObject<Object, FetchDirect>) -> Other
  ) where Other._Kind == Value._Kind { put(value(FetchObject(.evaluatedObject)).fetchExpression, at: path(keyPath)) }

  private func path(_ keyPath: AnyKeyPath) -> FetchExpression { .keyPath(Object._fetchKeys(of: keyPath) ?? ["\(keyPath)"]) }
}

extension ManagedObjectContext {
  /// Sets properties of all objects of a request, in the stores and without making objects, as ``BatchUpdateRequest`` does. Unsaved changes of the context do
  /// not count, and objects that it has take the new values at once.
  ///
  /// - Parameters:
  ///   - request: Which objects. It has conditions only: a limit, an offset or an order is refused.
  ///   - values: Sets the values: see ``BatchValues``.
  /// - Returns: How many objects were updated.
  /// - Throws: What a ``BatchUpdateRequest`` throws.
  @discardableResult
  public func update<Object: ManagedObject>(_ request: FetchRequest<Object>, _ values: (inout BatchValues<Object>) -> Void) throws -> Int {
    let fetch = request.specification
    try fetch.checkNumbers()
    guard fetch.fetchLimit == 0, fetch.fetchOffset == 0, fetch.sortDescriptors.isEmpty else {
      throw StoreError(.misuse(.limitOfBatchUpdate, entity: fetch.entityName), operation: .batchUpdate)
    }
    var set = BatchValues<Object>()
    values(&set)
    var update = BatchUpdateRequest(entityName: fetch.entityName, predicate: fetch.predicate, propertiesToUpdate: set.properties)
    update.includesSubentities = fetch.includesSubentities
    update.affectedStores = fetch.affectedStores
    return try execute(update).count
  }

  /// Deletes all objects of a request, as ``BatchDeleteRequest`` does: `try context.delete(Book.all.where { $0.author == nil })`.
  ///
  /// - Returns: How many were deleted, with those that cascades have reached.
  /// - Throws: What a ``BatchDeleteRequest`` throws.
  @discardableResult
  public func delete<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> Int {
    try execute(BatchDeleteRequest(fetchRequest: request)).count
  }
}
