// EntityDeclaration: an entity put together by the model builder's parts: what the source that @Entity writes calls.
public import ObjectModel

/// Puts an entity together; what the source that `@Entity` writes calls.
public struct _EntityDeclaration {
  /// The entity as far as it is declared.
  public private(set) var entityDescription: EntityDescription

  /// Begins an entity.
  ///
  /// - Parameters:
  ///   - name: The entity's name.
  ///   - className: The class's name.
  ///   - superclass: The class of the superentity; nil where there is none.
  ///   - options: What else the entity has.
  public init(_ name: String, class className: String, superclass: (any EntityClass.Type)? = nil, _ options: EntityOption...) {
    entityDescription = EntityDescription(name: name, superentity: superclass?._declaredEntityName, managedObjectClassName: className)
    for option in options { option.change(&entityDescription) }
  }

  private mutating func add(_ attribute: Attribute, isOptional: Bool, _ options: [AttributeOption]) {
    var attribute = isOptional ? attribute : attribute.required()
    for option in options { attribute = option.change(&entityDescription, attribute) }
    attribute._add(to: &entityDescription)
  }

  /// Adds an attribute of one of the library's types.
  ///
  /// - Parameters:
  ///   - name: The attribute's name.
  ///   - type: The type of its values.
  ///   - isOptional: Whether it may be without one.
  ///   - initial: Its default value; nil for none.
  ///   - options: What else it has.
  public mutating func attribute<Value: AttributeValue>(
    _ name: String, _ type: Value.Type, isOptional: Bool, initial: Value? = nil, _ options: AttributeOption...
  ) {
    let attribute = Attribute(name, type)
    add(initial.map { attribute.initially($0) } ?? attribute, isOptional: isOptional, options)
  }

  /// Adds an attribute of a type with raw values.
  ///
  /// - Parameters:
  ///   - name: The attribute's name.
  ///   - type: The type of its values.
  ///   - isOptional: Whether it may be without one.
  ///   - initial: Its default value; nil for none.
  ///   - options: What else it has.
  public mutating func attribute<Value: RawRepresentable>(
    _ name: String, _ type: Value.Type, isOptional: Bool, initial: Value? = nil, _ options: AttributeOption...
  ) where Value.RawValue: AttributeValue {
    let attribute = Attribute(name, raw: type)
    add(initial.map { attribute.initially($0) } ?? attribute, isOptional: isOptional, options)
  }

  /// Adds an attribute of a `Codable` type.
  ///
  /// - Parameters:
  ///   - name: The attribute's name.
  ///   - type: The type of its values.
  ///   - isOptional: Whether it may be without one.
  ///   - initial: Its default value; nil for none.
  ///   - options: What else it has.
  @_disfavoredOverload
  public mutating func attribute<Value: Codable & Sendable>(
    _ name: String, _ type: Value.Type, isOptional: Bool, initial: Value? = nil, _ options: AttributeOption...
  ) {
    let attribute = Attribute(name, transforming: type)
    // A value that has no JSON is only what the property reads without one.
    let data = initial.flatMap { try? JSONAttributeCoding.data(from: $0) }
    add(data.map { attribute.initially($0) } ?? attribute, isOptional: isOptional, options)
  }

  /// Adds an attribute whose values a named transformer takes. The initial value is the attribute's default value where the transformer is registered
  /// before; else it is only what the property reads without one.
  ///
  /// - Parameters:
  ///   - name: The attribute's name.
  ///   - type: The type of its values.
  ///   - isOptional: Whether it may be without one.
  ///   - initial: Its default value; nil for none.
  ///   - options: What else it has, the transformer's name among it.
  public mutating func transformed<Value: Sendable>(
    _ name: String, _ type: Value.Type, isOptional: Bool, initial: Value? = nil, _ options: AttributeOption...
  ) {
    // Of a transformer that gives values of any type there is no class to name.
    let isAny = type == (any Sendable).self
    var attribute = isAny ? Attribute(name, .transformable) : Attribute(name, transforming: type)
    if let initial {
      var described = EntityDescription(name: "")
      let transformerName = options.reduce(attribute) { $1.change(&described, $0) }.transformerName
      let data = try? AttributeTransformers.data(from: initial, transformerName: transformerName)
      attribute = data.map { attribute.initially($0) } ?? attribute
    }
    add(attribute, isOptional: isOptional, options)
  }

  /// Adds an attribute without a type, which is kept in memory only.
  public mutating func untyped(_ name: String, _ options: AttributeOption...) {
    add(Attribute(name, .undefined), isOptional: true, options)
  }

  /// Adds an attribute that holds a composite value.
  ///
  /// - Parameters:
  ///   - name: The attribute's name.
  ///   - type: The type of its values.
  ///   - isOptional: Whether it may be without one.
  ///   - options: What else it has.
  public mutating func composite<Value: EntityComposite>(
    _ name: String, _ type: Value.Type, isOptional: Bool, _ options: AttributeOption...
  ) {
    add(Attribute(name, composite: type._declaredCompositeName), isOptional: isOptional, options)
  }

  /// A composite is no attribute like others.
  ///
  /// - Parameters:
  ///   - name: The attribute's name.
  ///   - type: The composite.
  ///   - isOptional: Whether it may be without one.
  ///   - initial: Its default value.
  ///   - options: What else it has.
  @available(*, unavailable, message: "the type is a composite: write @Attribute(.composite)")
  public mutating func attribute<Value: EntityComposite>(
    _ name: String, _ type: Value.Type, isOptional: Bool, initial: Value? = nil, _ options: AttributeOption...
  ) {}

  /// Adds a property that fetches the objects of a class.
  ///
  /// - Parameters:
  ///   - name: The property's name.
  ///   - destination: The class of the objects.
  ///   - predicate: Which objects are fetched, in format language; nil for all.
  ///   - options: What else it has.
  public mutating func fetchedProperty<Destination: EntityClass>(
    _ name: String, _ destination: Destination.Type, where predicate: String? = nil, _ options: FetchedPropertyOption...
  ) {
    let property = FetchedProperty(name, entity: destination._declaredEntityName, where: predicate)
    options.reduce(property) { $1.change($0) }._add(to: &entityDescription)
  }

  /// Adds a relationship to one object.
  ///
  /// - Parameters:
  ///   - name: The relationship's name.
  ///   - destination: The class of the other object.
  ///   - inverse: The name of the relationship back; nil where the other side names this one.
  ///   - deleteRule: What deleting the object does to the other.
  ///   - options: What else it has.
  public mutating func toOne<Destination: EntityClass>(
    _ name: String, _ destination: Destination.Type, inverse: String?, deleteRule: DeleteRule = .nullify, _ options: RelationshipOption...
  ) {
    add(Relationship(name, to: destination._declaredEntityName, inverse: inverse).onDelete(deleteRule), options)
  }

  /// Adds a relationship to many objects.
  ///
  /// - Parameters:
  ///   - name: The relationship's name.
  ///   - destination: The class of the members.
  ///   - isOrdered: Whether the members have an order.
  ///   - inverse: The name of the relationship back; nil where the other side names this one.
  ///   - deleteRule: What deleting the object does to the members.
  ///   - options: What else it has.
  public mutating func toMany<Destination: EntityClass>(
    _ name: String, _ destination: Destination.Type, isOrdered: Bool, inverse: String?, deleteRule: DeleteRule = .nullify,
    _ options: RelationshipOption...
  ) {
    let relationship = Relationship(name, toMany: destination._declaredEntityName, inverse: inverse).onDelete(deleteRule)
    add(isOrdered ? relationship.ordered() : relationship, options)
  }

  private mutating func add(_ relationship: Relationship, _ options: [RelationshipOption]) {
    options.reduce(relationship) { $1.change($0) }._add(to: &entityDescription)
  }
}
