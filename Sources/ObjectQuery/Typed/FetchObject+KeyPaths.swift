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
