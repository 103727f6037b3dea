public import Foundation
public import ObjectModel

/// An object in a typed query: the fetched one, one at the end of a relationship, or a member of a collection.
///
/// Generated code extends it for each class of the model: `$0.title` is a ``FetchField``, `$0.author` another object, and `$0.tags` a
/// ``FetchMembers``. Subclasses inherit the properties of their superclasses.
public struct FetchObject<FetchedClass, Reach: FetchReach>: Sendable {
  /// The path to the object.
  public let fetchExpression: FetchExpression

  package init(_ expression: FetchExpression) { fetchExpression = expression }

  /// Returns an attribute by its name in the model. For generated code.
  @_spi(Generated) public func attribute<Value, Output>(_ name: String) -> FetchField<Value, Output> {
    FetchField(fetchExpression.appending([name]))
  }

  /// Returns an attribute whose values cannot be compared, by its name in the model. For generated code.
  @_spi(Generated) public func attribute(_ name: String) -> FetchOpaqueField { FetchOpaqueField(fetchExpression.appending([name])) }

  /// Returns a to-one relationship by its name in the model. For generated code.
  @_spi(Generated) public func toOne<Destination>(_ name: String) -> FetchObject<Destination, FetchIndirect> {
    FetchObject<Destination, FetchIndirect>(fetchExpression.appending([name]))
  }

  /// Returns a to-many relationship by its name in the model. For generated code.
  @_spi(Generated) public func toMany<Member, Order>(_ name: String) -> FetchMembers<Member, Order> {
    FetchMembers(fetchExpression.appending([name]))
  }

  /// Returns a condition that the texts in the full-text indexes of the object's entity together match a query.
  public func search(_ query: TextQuery) -> FetchPredicate { FetchPredicate(fetchExpression, .search, .constant(query.fetchConstant)) }

  /// Returns a condition that the texts in the full-text indexes of the object's entity together match a query from user input
  /// (``TextQuery/init(typed:)``).
  public func search(_ query: String) -> FetchPredicate { search(TextQuery(typed: query)) }

  /// Returns the relevance to a query of the texts in the full-text indexes of the object's entity, to sort by.
  public func relevance(to query: TextQuery) -> FetchField<Double, Double> {
    FetchField<Double, Double>(.function("relevance", [fetchExpression, .constant(query.fetchConstant)]))
  }

  /// Returns the relevance of these texts to a query from user input, to sort by.
  public func relevance(to query: String) -> FetchField<Double, Double> { relevance(to: TextQuery(typed: query)) }

  /// Returns a condition that the object matches a stored condition.
  public func matches(_ condition: FetchCondition<FetchedClass>) -> FetchPredicate { condition.predicate.moved(to: fetchExpression) }
}

/// The nesting depth of the current closure of a typed query. It numbers the variables, so that inner closures use different ones.
enum FetchDepth {
  @TaskLocal static var current = 0

  /// Calls a closure with the variable for a member.
  static func withVariable<Result>(_ body: (String) -> Result) -> Result {
    let depth = current + 1
    return $current.withValue(depth) { body("x\(depth)") }
  }
}

/// The way in which an object is reached. It determines the Swift types of selected values: a required attribute of the fetched object is
/// never nil, but one of an object at the end of a to-one relationship may be. The default types are those of ``FetchIndirect``.
public protocol FetchReach {
  /// The type of required attributes of type Integer 16.
  associatedtype Integer16 = Swift.Int16?
  /// The type of required attributes of type Integer 32.
  associatedtype Integer32 = Swift.Int32?
  /// The type of required attributes of type Integer 64.
  associatedtype Integer64 = Swift.Int64?
  /// The type of required attributes of type Double.
  associatedtype Double = Swift.Double?
  /// The type of required attributes of type Float.
  associatedtype Float = Swift.Float?
  /// The type of required attributes of type Decimal.
  associatedtype Decimal = Foundation.Decimal?
  /// The type of required attributes of type Boolean.
  associatedtype Boolean = Swift.Bool?
  /// The type of required attributes of type String.
  associatedtype String = Swift.String?
  /// The type of required attributes of type Date.
  associatedtype Date = Foundation.Date?
  /// The type of required attributes of type Binary Data.
  associatedtype Binary = Foundation.Data?
  /// The type of required attributes of type UUID.
  associatedtype UUID = Foundation.UUID?
  /// The type of required attributes of type URI.
  associatedtype URI = Foundation.URL?
  /// The type of object IDs.
  associatedtype ObjectID = ManagedObjectID?
}

/// A fetched object, or a member of a collection, which always exists.
public enum FetchDirect: FetchReach {
  /// Required attributes always have a value.
  public typealias Integer16 = Swift.Int16
  /// Required attributes always have a value.
  public typealias Integer32 = Swift.Int32
  /// Required attributes always have a value.
  public typealias Integer64 = Swift.Int64
  /// Required attributes always have a value.
  public typealias Double = Swift.Double
  /// Required attributes always have a value.
  public typealias Float = Swift.Float
  /// Required attributes always have a value.
  public typealias Decimal = Foundation.Decimal
  /// Required attributes always have a value.
  public typealias Boolean = Swift.Bool
  /// Required attributes always have a value.
  public typealias String = Swift.String
  /// Required attributes always have a value.
  public typealias Date = Foundation.Date
  /// Required attributes always have a value.
  public typealias Binary = Foundation.Data
  /// Required attributes always have a value.
  public typealias UUID = Foundation.UUID
  /// Required attributes always have a value.
  public typealias URI = Foundation.URL
  /// The object always exists.
  public typealias ObjectID = ManagedObjectID
}

/// An object at the end of a to-one relationship or at an index. It may be missing, and its values with it.
public enum FetchIndirect: FetchReach {}

/// A composite attribute of the objects in a typed query.
///
/// Generated code extends it for each `Composite` struct: `$0.home.city` is a ``FetchField``, and a nested composite is another
/// `FetchComposite`.
public struct FetchComposite<Composite, Reach: FetchReach>: Sendable {
  /// The path to the attribute.
  public let fetchExpression: FetchExpression

  init(_ expression: FetchExpression) { fetchExpression = expression }

  /// Returns a part by its name in the model. For generated code.
  @_spi(Generated) public func attribute<Value, Output>(_ name: String) -> FetchField<Value, Output> {
    FetchField(fetchExpression.appending([name]))
  }

  /// Returns a part of a type with raw values by its name in the model. For generated code.
  @_spi(Generated) public func attribute<Value, Output>(_ name: String) -> FetchRawField<Value, Output> {
    FetchRawField(fetchExpression.appending([name]))
  }

  /// Returns a part whose values cannot be compared, by its name in the model. For generated code.
  @_spi(Generated) public func attribute(_ name: String) -> FetchOpaqueField { FetchOpaqueField(fetchExpression.appending([name])) }

  /// Returns a nested composite by its name in the model. For generated code.
  @_spi(Generated) public func composite<Part, PartReach>(_ name: String) -> FetchComposite<Part, PartReach> {
    FetchComposite<Part, PartReach>(fetchExpression.appending([name]))
  }
}

extension FetchObject {
  /// Returns a composite attribute by its name in the model. For generated code.
  @_spi(Generated) public func composite<Composite, CompositeReach>(_ name: String) -> FetchComposite<Composite, CompositeReach> {
    FetchComposite<Composite, CompositeReach>(fetchExpression.appending([name]))
  }

  /// Returns an attribute of a type with raw values by its name in the model. For generated code.
  @_spi(Generated) public func attribute<Value, Output>(_ name: String) -> FetchRawField<Value, Output> {
    FetchRawField(fetchExpression.appending([name]))
  }
}

// MARK: - Fields by key path

/// A class that declares its entity in Swift. Typed queries refer to its properties by key path; generated classes have members instead.
public protocol FetchKeyPathNaming {
  /// Returns the model keys for a key path of the class; nil if it is not a property of the model.
  static func fetchKeys(of keyPath: AnyKeyPath) -> [String]?
}

/// A composite struct that declares its kind in Swift. Typed queries refer to its parts by key path.
public protocol FetchCompositeNaming: FetchKeyPathNaming {}

/// Access to properties by key path: `Book.all.where { $0[\.pages] > 100 && $0[\.author][\.name] == "Ada" }`.
///
/// These are subscripts rather than dynamic members, which would prevent compiler errors for missing members of generated classes.
extension FetchObject where FetchedClass: FetchKeyPathNaming {
  /// Returns a required attribute. In a selection it is optional.
  public subscript<Value: FetchValue>(_ keyPath: KeyPath<FetchedClass, Value>) -> FetchField<Value, Value?> {
    FetchField(path(keyPath))
  }

  /// Returns an optional attribute.
  public subscript<Value: FetchValue>(_ keyPath: KeyPath<FetchedClass, Value?>) -> FetchField<Value, Value?> {
    FetchField(path(keyPath))
  }

  /// Returns a required attribute of a type with raw values.
  public subscript<Value: RawRepresentable>(
    _ keyPath: KeyPath<FetchedClass, Value>
  ) -> FetchRawField<Value, Value?> where Value.RawValue: FetchValue { FetchRawField(path(keyPath)) }

  /// Returns an optional attribute of a type with raw values.
  public subscript<Value: RawRepresentable>(
    _ keyPath: KeyPath<FetchedClass, Value?>
  ) -> FetchRawField<Value, Value?> where Value.RawValue: FetchValue { FetchRawField(path(keyPath)) }

  /// Returns a to-one relationship.
  public subscript<Destination: FetchKeyPathNaming>(
    _ keyPath: KeyPath<FetchedClass, Destination?>
  ) -> FetchObject<Destination, FetchIndirect> { FetchObject<Destination, FetchIndirect>(path(keyPath)) }

  /// Returns a to-many relationship.
  public subscript<Member: FetchKeyPathNaming>(
    _ keyPath: KeyPath<FetchedClass, Set<Member>>
  ) -> FetchMembers<Member, FetchUnordered> { FetchMembers(path(keyPath)) }

  /// Returns an ordered to-many relationship.
  public subscript<Member: FetchKeyPathNaming>(
    _ keyPath: KeyPath<FetchedClass, [Member]>
  ) -> FetchMembers<Member, FetchOrdered> { FetchMembers(path(keyPath)) }

  /// Returns a required composite attribute.
  public subscript<Part: FetchCompositeNaming>(_ keyPath: KeyPath<FetchedClass, Part>) -> FetchComposite<Part, Reach> {
    FetchComposite(path(keyPath))
  }

  /// Returns an optional composite attribute.
  public subscript<Part: FetchCompositeNaming>(_ keyPath: KeyPath<FetchedClass, Part?>) -> FetchComposite<Part, FetchIndirect> {
    FetchComposite(path(keyPath))
  }

  /// Returns a transformable attribute, whose values can only be compared with nil.
  @_disfavoredOverload
  public subscript<Value: Sendable>(_ keyPath: KeyPath<FetchedClass, Value>) -> FetchOpaqueField { FetchOpaqueField(path(keyPath)) }

  /// Returns the path to a property. For a property that is not in the model, it contains an unknown key, so that the fetch throws.
  private func path(_ keyPath: AnyKeyPath) -> FetchExpression {
    fetchExpression.appending(FetchedClass.fetchKeys(of: keyPath) ?? ["\(keyPath)"])
  }
}

/// Access to the parts of composites by key path: `Person.all.where { $0[\.home][\.city] == "Portland" }`.
extension FetchComposite where Composite: FetchCompositeNaming {
  /// Returns a required part. In a selection it is optional.
  public subscript<Value: FetchValue>(_ keyPath: KeyPath<Composite, Value>) -> FetchField<Value, Value?> { FetchField(path(keyPath)) }

  /// Returns an optional part.
  public subscript<Value: FetchValue>(_ keyPath: KeyPath<Composite, Value?>) -> FetchField<Value, Value?> { FetchField(path(keyPath)) }

  /// Returns a required part of a type with raw values.
  public subscript<Value: RawRepresentable>(
    _ keyPath: KeyPath<Composite, Value>
  ) -> FetchRawField<Value, Value?> where Value.RawValue: FetchValue { FetchRawField(path(keyPath)) }

  /// Returns an optional part of a type with raw values.
  public subscript<Value: RawRepresentable>(
    _ keyPath: KeyPath<Composite, Value?>
  ) -> FetchRawField<Value, Value?> where Value.RawValue: FetchValue { FetchRawField(path(keyPath)) }

  /// Returns a required nested composite.
  public subscript<Part: FetchCompositeNaming>(_ keyPath: KeyPath<Composite, Part>) -> FetchComposite<Part, Reach> {
    FetchComposite<Part, Reach>(path(keyPath))
  }

  /// Returns an optional nested composite.
  public subscript<Part: FetchCompositeNaming>(_ keyPath: KeyPath<Composite, Part?>) -> FetchComposite<Part, FetchIndirect> {
    FetchComposite<Part, FetchIndirect>(path(keyPath))
  }

  /// Returns a transformable part, whose values can only be compared with nil.
  @_disfavoredOverload
  public subscript<Value: Sendable>(_ keyPath: KeyPath<Composite, Value>) -> FetchOpaqueField { FetchOpaqueField(path(keyPath)) }

  private func path(_ keyPath: AnyKeyPath) -> FetchExpression {
    fetchExpression.appending(Composite.fetchKeys(of: keyPath) ?? ["\(keyPath)"])
  }
}
