// FetchObject+KeyPaths: the properties of classes that declare their entities themselves, and the parts of composites, in typed queries: `$0[\.title]`.

/// A class whose properties typed queries find by key paths: one that declares its entity in Swift. Generated classes have members instead.
public protocol FetchKeyPathNaming {
  /// The keys of the model that a key path of the class leads through; nil when it is no property of the model.
  static func _fetchKeys(of keyPath: AnyKeyPath) -> [String]?
}

/// A struct of a kind of composite value whose parts typed queries find by key paths: one that declares the kind in Swift.
public protocol FetchCompositeNaming: FetchKeyPathNaming {}

/// `Book.all.where { $0[\.pages] > 100 && $0[\.author][\.name] == "Ada" }`.
///
/// These are subscripts, not members found by key paths: such members would hide from the compiler what is missing in generated classes.
extension FetchObject where FetchedClass: FetchKeyPathNaming {
  /// A required attribute. It is an optional when it is selected.
  public subscript<Value: FetchValue>(_ keyPath: KeyPath<FetchedClass, Value>) -> FetchField<Value, Value?> {
    FetchField(path(keyPath))
  }

  /// An optional attribute.
  public subscript<Value: FetchValue>(_ keyPath: KeyPath<FetchedClass, Value?>) -> FetchField<Value, Value?> {
    FetchField(path(keyPath))
  }

  /// A required attribute of a type with raw values.
  public subscript<Value: RawRepresentable>(
    _ keyPath: KeyPath<FetchedClass, Value>
  ) -> FetchRawField<Value, Value?> where Value.RawValue: FetchValue { FetchRawField(path(keyPath)) }

  /// An optional attribute of a type with raw values.
  public subscript<Value: RawRepresentable>(
    _ keyPath: KeyPath<FetchedClass, Value?>
  ) -> FetchRawField<Value, Value?> where Value.RawValue: FetchValue { FetchRawField(path(keyPath)) }

  /// A to-one relationship.
  public subscript<Destination: FetchKeyPathNaming>(
    _ keyPath: KeyPath<FetchedClass, Destination?>
  ) -> FetchObject<Destination, FetchIndirect> { FetchObject<Destination, FetchIndirect>(path(keyPath)) }

  /// A to-many relationship.
  public subscript<Member: FetchKeyPathNaming>(
    _ keyPath: KeyPath<FetchedClass, Set<Member>>
  ) -> FetchMembers<Member, FetchUnordered> { FetchMembers(path(keyPath)) }

  /// An ordered to-many relationship.
  public subscript<Member: FetchKeyPathNaming>(
    _ keyPath: KeyPath<FetchedClass, [Member]>
  ) -> FetchMembers<Member, FetchOrdered> { FetchMembers(path(keyPath)) }

  /// A required composite attribute.
  public subscript<Part: FetchCompositeNaming>(_ keyPath: KeyPath<FetchedClass, Part>) -> FetchComposite<Part, Reach> {
    FetchComposite(path(keyPath))
  }

  /// An optional composite attribute.
  public subscript<Part: FetchCompositeNaming>(_ keyPath: KeyPath<FetchedClass, Part?>) -> FetchComposite<Part, FetchIndirect> {
    FetchComposite(path(keyPath))
  }

  /// An attribute whose values cannot be compared, but only told from nil: a transformable one.
  @_disfavoredOverload
  public subscript<Value: Sendable>(_ keyPath: KeyPath<FetchedClass, Value>) -> FetchOpaqueField { FetchOpaqueField(path(keyPath)) }

  /// The path to a property. Of another one than the model's it has a key that no entity has: the fetch throws.
  private func path(_ keyPath: AnyKeyPath) -> FetchExpression {
    fetchExpression.appending(FetchedClass._fetchKeys(of: keyPath) ?? ["\(keyPath)"])
  }
}

/// `Person.all.where { $0[\.home][\.city] == "Portland" }`.
extension FetchComposite where Composite: FetchCompositeNaming {
  /// A required part. It is an optional when it is selected.
  public subscript<Value: FetchValue>(_ keyPath: KeyPath<Composite, Value>) -> FetchField<Value, Value?> { FetchField(path(keyPath)) }

  /// An optional part.
  public subscript<Value: FetchValue>(_ keyPath: KeyPath<Composite, Value?>) -> FetchField<Value, Value?> { FetchField(path(keyPath)) }

  /// A required part of a type with raw values.
  public subscript<Value: RawRepresentable>(
    _ keyPath: KeyPath<Composite, Value>
  ) -> FetchRawField<Value, Value?> where Value.RawValue: FetchValue { FetchRawField(path(keyPath)) }

  /// An optional part of a type with raw values.
  public subscript<Value: RawRepresentable>(
    _ keyPath: KeyPath<Composite, Value?>
  ) -> FetchRawField<Value, Value?> where Value.RawValue: FetchValue { FetchRawField(path(keyPath)) }

  /// A required part that is a composite itself.
  public subscript<Part: FetchCompositeNaming>(_ keyPath: KeyPath<Composite, Part>) -> FetchComposite<Part, Reach> {
    FetchComposite<Part, Reach>(path(keyPath))
  }

  /// An optional part that is a composite itself.
  public subscript<Part: FetchCompositeNaming>(_ keyPath: KeyPath<Composite, Part?>) -> FetchComposite<Part, FetchIndirect> {
    FetchComposite<Part, FetchIndirect>(path(keyPath))
  }

  /// A part whose values cannot be compared, but only told from nil: a transformable one.
  @_disfavoredOverload
  public subscript<Value: Sendable>(_ keyPath: KeyPath<Composite, Value>) -> FetchOpaqueField { FetchOpaqueField(path(keyPath)) }

  private func path(_ keyPath: AnyKeyPath) -> FetchExpression {
    fetchExpression.appending(Composite._fetchKeys(of: keyPath) ?? ["\(keyPath)"])
  }
}
