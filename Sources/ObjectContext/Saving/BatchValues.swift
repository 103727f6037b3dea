import ObjectModel
public import ObjectQuery
import ObjectStore

/// The assignments of a typed batch update. ``ManagedObjectContext/update(_:_:)`` passes an instance to its closure.
///
/// ```swift
/// let count = try context.update(Book.all.where { $0.pages > 900 }) {
///   $0.set(\.isbn, to: nil)
///   $0.set(\.pages) { $0.pages - 100 }
/// }
/// ```
///
/// Key paths are those of typed queries: an unknown property name or a value of the wrong type does not compile. All values are computed
/// from the rows as they were before the update.
public struct BatchValues<Object>: Sendable {
  var properties: [String: (any Sendable)?] = [:]

  init() {}

  /// Sets an attribute, an element of a composite attribute, or a to-one relationship to a saved object. Nil removes the value of an
  /// optional property.
  public mutating func set<Property: BatchProperty>(
    _ keyPath: KeyPath<FetchObject<Object, FetchDirect>, Property>, to value: Property.Assigned?
  ) { put(value.flatMap(Property.batchValue), at: field(keyPath).fetchExpression) }

  /// Sets an attribute to a value computed for each object: `$0.set(\.pages) { $0.pages + 1 }`.
  public mutating func set<Field: FetchValueField, Other: FetchOperand>(
    _ keyPath: KeyPath<FetchObject<Object, FetchDirect>, Field>, _ value: (FetchObject<Object, FetchDirect>) -> Other
  ) where Other.OperandKind == Field.OperandKind {
    put(value(FetchObject(.evaluatedObject)).fetchExpression, at: field(keyPath).fetchExpression)
  }

  private func field<Property>(_ keyPath: KeyPath<FetchObject<Object, FetchDirect>, Property>) -> Property {
    FetchObject<Object, FetchDirect>(.evaluatedObject)[keyPath: keyPath]
  }

  private mutating func put(_ value: (any Sendable)?, at expression: FetchExpression) {
    // An expression that is not a path gets a name that no entity has, so the request throws.
    let name = if case .keyPath(let names) = expression { names.joined(separator: ".") } else { "\(expression)" }
    properties[name] = .some(value)
  }
}

/// A property that a typed batch update can set to a value.
///
/// One protocol covers all kinds of properties. With an overload for each kind, a misspelled name in a closure that computes a value
/// produces unrelated compiler errors.
public protocol BatchProperty {
  /// The type of the assigned value.
  associatedtype Assigned
  /// The key path of the property.
  var fetchExpression: FetchExpression { get }
  /// Converts a value to the form that a batch update accepts.
  @_spi(Generated) static func batchValue(_ value: Assigned) -> (any Sendable)?
}

extension BatchProperty where Assigned: Sendable {
  /// Returns the value unchanged.
  @_spi(Generated) public static func batchValue(_ value: Assigned) -> (any Sendable)? { value }
}

extension FetchField: BatchProperty {
  /// The attribute's type.
  public typealias Assigned = Value
}

extension FetchRawField: BatchProperty {
  /// Returns the raw value.
  @_spi(Generated) public static func batchValue(_ value: Value) -> (any Sendable)? { value.rawValue }
}

extension FetchObject: BatchProperty where FetchedClass: ManagedObject, Reach == FetchIndirect {
  /// Returns the object's ID.
  @_spi(Generated) public static func batchValue(_ value: FetchedClass) -> (any Sendable)? { value.objectID }
}

extension BatchValues where Object: FetchKeyPathNaming {
  /// Sets an attribute of a class that declares its entity in code.
  public mutating func set<Value: FetchValue & Sendable>(_ keyPath: KeyPath<Object, Value>, to value: Value) {
    put(value, at: path(keyPath))
  }

  /// Sets an optional attribute of a class that declares its entity in code. Nil removes the value.
  public mutating func set<Value: FetchValue & Sendable>(_ keyPath: KeyPath<Object, Value?>, to value: Value?) {
    put(value, at: path(keyPath))
  }

  /// Sets an attribute of a class that declares its entity in code to a value computed for each object.
  public mutating func set<Value: FetchValue, Other: FetchOperand>(
    _ keyPath: KeyPath<Object, Value>, _ value: (FetchObject<Object, FetchDirect>) -> Other
  ) where Other.OperandKind == Value.OperandKind { put(value(FetchObject(.evaluatedObject)).fetchExpression, at: path(keyPath)) }

  private func path(_ keyPath: AnyKeyPath) -> FetchExpression { .keyPath(Object.fetchKeys(of: keyPath) ?? ["\(keyPath)"]) }
}

extension ManagedObjectContext {
  /// Updates the objects that match a request in the stores, without loading them, as ``BatchUpdateRequest`` does.
  ///
  /// The update ignores unsaved changes of the context. Objects registered with the context take the new values immediately.
  ///
  /// - Parameters:
  ///   - request: The objects to update. The request must not have a limit, an offset, or sort descriptors.
  ///   - values: A closure that assigns the values. See ``BatchValues``.
  /// - Returns: The number of updated objects.
  /// - Throws: ``StoreError`` if the request has a limit, an offset, or sort descriptors; the errors of a ``BatchUpdateRequest``.
  @discardableResult
  public func update<Object: ManagedObject>(_ request: FetchRequest<Object>, _ values: (inout BatchValues<Object>) -> Void) throws -> Int {
    let fetch = request.specification
    try fetch.checkNumbers()
    guard fetch.fetchLimit == 0, fetch.fetchOffset == 0, fetch.sortDescriptors.isEmpty else {
      throw StoreError(.limitOfBatchUpdate(entity: fetch.entityName), operation: .batchUpdate)
    }
    var set = BatchValues<Object>()
    values(&set)
    var update = BatchUpdateRequest(entityName: fetch.entityName, predicate: fetch.predicate, propertiesToUpdate: set.properties)
    update.includesSubentities = fetch.includesSubentities
    update.affectedStores = fetch.affectedStores
    return try execute(update).count
  }

  /// Deletes the objects that match a request in the stores, without loading them, as ``BatchDeleteRequest`` does:
  /// `try context.delete(Book.all.where { $0.author == nil })`.
  ///
  /// The deletion applies delete rules and ignores unsaved changes of the context. Deleted objects leave the context immediately.
  ///
  /// - Returns: The number of deleted objects, including those deleted by cascade rules.
  /// - Throws: The errors of a ``BatchDeleteRequest``.
  @discardableResult
  public func delete<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> Int {
    try execute(BatchDeleteRequest(fetchRequest: request)).count
  }
}

extension StoreError.Reason {
  static func limitOfBatchUpdate(entity: String) -> Self {
    Self(.invalidRequest, "A batch update cannot have a limit, an offset or an order; narrow the request with conditions.", entity: entity)
  }
}
