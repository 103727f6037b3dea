@_spi(Generated) public import ObjectModel
public import ObjectQuery

/// A builder for an entity, used by the source that `@Entity` generates.
public struct EntityDeclaration {
  /// The entity as declared so far.
  public private(set) var entityDescription: EntityDescription

  /// Starts the declaration of an entity.
  ///
  /// - Parameters:
  ///   - name: The name of the entity.
  ///   - className: The name of the class.
  ///   - superclass: The class of the superentity; `nil` if there is none.
  ///   - options: Further options.
  public init(_ name: String, class className: String, superclass: (any EntityClass.Type)? = nil, _ options: EntityOption...) {
    entityDescription = EntityDescription(name: name, superentity: superclass?.declaredEntityName, managedObjectClassName: className)
    for option in options { option.change(&entityDescription) }
  }

  private mutating func add(_ attribute: Attribute, isOptional: Bool, _ options: [AttributeOption]) {
    var attribute = isOptional ? attribute : attribute.required()
    for option in options { attribute = option.change(&entityDescription, attribute) }
    attribute.add(to: &entityDescription)
  }

  /// Adds an attribute whose type is one of the library's attribute types.
  ///
  /// - Parameters:
  ///   - name: The name of the attribute.
  ///   - type: The type of its values.
  ///   - isOptional: Whether the value may be missing.
  ///   - initial: The default value, or `nil`.
  ///   - options: Further options.
  public mutating func attribute<Value: AttributeValue>(
    _ name: String, _ type: Value.Type, isOptional: Bool, initial: Value? = nil, _ options: AttributeOption...
  ) {
    let attribute = Attribute(name, type)
    add(initial.map { attribute.initially($0) } ?? attribute, isOptional: isOptional, options)
  }

  /// Adds an attribute whose type has raw values.
  ///
  /// - Parameters:
  ///   - name: The name of the attribute.
  ///   - type: The type of its values.
  ///   - isOptional: Whether the value may be missing.
  ///   - initial: The default value, or `nil`.
  ///   - options: Further options.
  public mutating func attribute<Value: RawRepresentable>(
    _ name: String, _ type: Value.Type, isOptional: Bool, initial: Value? = nil, _ options: AttributeOption...
  ) where Value.RawValue: AttributeValue {
    let attribute = Attribute(name, raw: type)
    add(initial.map { attribute.initially($0) } ?? attribute, isOptional: isOptional, options)
  }

  /// Adds an attribute of a `Codable` type.
  ///
  /// - Parameters:
  ///   - name: The name of the attribute.
  ///   - type: The type of its values.
  ///   - isOptional: Whether the value may be missing.
  ///   - initial: The default value, or `nil`.
  ///   - options: Further options.
  @_disfavoredOverload
  public mutating func attribute<Value: Codable & Sendable>(
    _ name: String, _ type: Value.Type, isOptional: Bool, initial: Value? = nil, _ options: AttributeOption...
  ) {
    let attribute = Attribute(name, transforming: type)
    // If the value cannot be encoded as JSON, it is not the attribute's default. The property still returns it for a missing value.
    let data = initial.flatMap { try? JSONAttributeCoding.data(from: $0) }
    add(data.map { attribute.initially($0) } ?? attribute, isOptional: isOptional, options)
  }

  /// Adds an attribute whose values are encoded by a named transformer. If the transformer is already registered, the initial value becomes
  /// the attribute's default value. Otherwise it is only the value that the property returns if there is none.
  ///
  /// - Parameters:
  ///   - name: The name of the attribute.
  ///   - type: The type of its values.
  ///   - isOptional: Whether the value may be missing.
  ///   - initial: The default value, or `nil`.
  ///   - options: Further options, including the transformer's name.
  public mutating func transformed<Value: Sendable>(
    _ name: String, _ type: Value.Type, isOptional: Bool, initial: Value? = nil, _ options: AttributeOption...
  ) {
    // A transformer whose values can have any type has no class to declare.
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

  /// Adds an attribute without a type, which is stored in memory only.
  public mutating func untyped(_ name: String, _ options: AttributeOption...) {
    add(Attribute(name, .undefined), isOptional: true, options)
  }

  /// Adds an attribute that stores a composite value.
  ///
  /// - Parameters:
  ///   - name: The name of the attribute.
  ///   - type: The type of its values.
  ///   - isOptional: Whether the value may be missing.
  ///   - options: Further options.
  public mutating func composite<Value: EntityComposite>(
    _ name: String, _ type: Value.Type, isOptional: Bool, _ options: AttributeOption...
  ) {
    add(Attribute(name, composite: type.declaredCompositeName), isOptional: isOptional, options)
  }

  /// Unavailable: composites require the option `.composite`.
  ///
  /// - Parameters:
  ///   - name: The name of the attribute.
  ///   - type: The composite type.
  ///   - isOptional: Whether the value may be missing.
  ///   - initial: The default value.
  ///   - options: Further options.
  @available(*, unavailable, message: "the type is a composite: write @Attribute(.composite)")
  public mutating func attribute<Value: EntityComposite>(
    _ name: String, _ type: Value.Type, isOptional: Bool, initial: Value? = nil, _ options: AttributeOption...
  ) {}

  /// Adds a fetched property.
  ///
  /// - Parameters:
  ///   - name: The name of the property.
  ///   - destination: The class of the fetched objects.
  ///   - predicate: The predicate in format language; `nil` fetches all objects.
  ///   - options: Further options.
  public mutating func fetchedProperty<Destination: EntityClass>(
    _ name: String, _ destination: Destination.Type, where predicate: String? = nil, _ options: FetchedPropertyOption...
  ) {
    let property = FetchedProperty(name, entity: destination.declaredEntityName, where: predicate)
    options.reduce(property) { $1.change($0) }.add(to: &entityDescription)
  }

  /// Adds a to-one relationship.
  ///
  /// - Parameters:
  ///   - name: The name of the relationship.
  ///   - destination: The destination class.
  ///   - inverse: The name of the inverse relationship; `nil` if the destination declares the inverse.
  ///   - deleteRule: The effect of deleting the object on the destination.
  ///   - options: Further options.
  public mutating func toOne<Destination: EntityClass>(
    _ name: String, _ destination: Destination.Type, inverse: String?, deleteRule: DeleteRule = .nullify, _ options: RelationshipOption...
  ) {
    add(Relationship(name, to: destination.declaredEntityName, inverse: inverse).onDelete(deleteRule), options)
  }

  /// Adds a to-many relationship.
  ///
  /// - Parameters:
  ///   - name: The name of the relationship.
  ///   - destination: The class of the members.
  ///   - isOrdered: Whether the members have an order.
  ///   - inverse: The name of the inverse relationship; `nil` if the destination declares the inverse.
  ///   - deleteRule: The effect of deleting the object on the members.
  ///   - options: Further options.
  public mutating func toMany<Destination: EntityClass>(
    _ name: String, _ destination: Destination.Type, isOrdered: Bool, inverse: String?, deleteRule: DeleteRule = .nullify,
    _ options: RelationshipOption...
  ) {
    let relationship = Relationship(name, toMany: destination.declaredEntityName, inverse: inverse).onDelete(deleteRule)
    add(isOrdered ? relationship.ordered() : relationship, options)
  }

  private mutating func add(_ relationship: Relationship, _ options: [RelationshipOption]) {
    options.reduce(relationship) { $1.change($0) }.add(to: &entityDescription)
  }
}

/// A struct that declares a composite type in Swift. The macro `@Composite`, from the package trait `Macros`, adds this conformance.
///
/// Attributes of classes with `@Entity` store its values: `@Attribute(.composite) var home: Address?`. A model of such classes includes the
/// composite type.
public protocol EntityComposite: CompositeValue, FetchCompositeNaming {
  /// The name of the composite type.
  static var declaredCompositeName: String { get }
  /// The composite type with its parts.
  static var compositeDescription: CompositeDescription { get }
  /// The structs of the parts that are composites themselves.
  static var relatedComposites: [any EntityComposite.Type] { get }
  /// Adds the parts to a table.
  static func addKeyPaths(to names: inout KeyPathNames)
}

extension EntityComposite {
  /// The class table of the last model that was created with the struct. Before that, a table without classes.
  public static var classTable: ManagedObjectClasses { EntityTables.table(of: self) }

  /// Returns the model keys of a key path, for typed queries.
  public static func fetchKeys(of keyPath: AnyKeyPath) -> [String]? { classTable.keys(of: keyPath) }
}

/// An option of `@Composite`.
public struct CompositeOption: Sendable {
  let change: @Sendable (inout CompositeDescription) -> Void

  /// Adds an entry to the user info.
  public static func userInfo(_ key: String, _ value: String) -> CompositeOption { CompositeOption { $0.userInfo[key] = value } }
}

extension EntityDeclaration {
  /// Starts the declaration of a composite type, to which parts are added as attributes.
  public init(composite name: String) { self.init(name, class: "") }

  /// Returns the composite type as declared so far, with options.
  public func compositeDescription(_ options: CompositeOption...) -> CompositeDescription {
    var description = CompositeDescription(name: entityDescription.name, elements: entityDescription.attributes)
    for option in options { option.change(&description) }
    return description
  }
}
