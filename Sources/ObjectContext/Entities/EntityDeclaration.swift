// EntityDeclaration: what a class says of its entity and its properties, by the model builder's parts: what @Entity, @Attribute and @Relationship take.
public import ObjectModel

/// What `@Attribute` says of an attribute beyond its name, type and default value.
public struct AttributeOption: Sendable {
  let change: @Sendable (inout EntityDescription, Attribute) -> Attribute

  private init(_ change: @escaping @Sendable (Attribute) -> Attribute) { self.change = { _, attribute in change(attribute) } }
  private init(entity change: @escaping @Sendable (inout EntityDescription, String) -> Void) {
    self.change = { entity, attribute in
      change(&entity, attribute.name)
      return attribute
    }
  }

  /// No two objects have the same value.
  public static var unique: AttributeOption { AttributeOption { entity, name in entity.uniquenessConstraints.append([name]) } }
  /// The attribute has an index, named `byTitle` for `title`.
  public static var indexed: AttributeOption {
    AttributeOption { entity, name in
      Index("by" + name.prefix(1).uppercased() + name.dropFirst(), on: name).add(to: &entity)
    }
  }
  /// The attribute is kept in memory only.
  public static var transient: AttributeOption { AttributeOption { $0.transient() } }
  /// Large values may be kept in files beside the store.
  public static var externalStorage: AttributeOption { AttributeOption { $0.externalStorage() } }
  /// The value is copied into the history of the object's deletion.
  public static var preservedOnDeletion: AttributeOption { AttributeOption { $0.preservedOnDeletion() } }
  /// System search indexes the attribute: a mark for the application's own indexer.
  public static var indexedBySpotlight: AttributeOption { AttributeOption { $0.indexedBySpotlight() } }
  /// The value is computed from an expression in format language; declare the property with `private(set)`.
  ///
  /// - Parameters:
  ///   - expression: A path, a function of one, an aggregate such as `messages.@count`, or `now()`.
  ///   - filter: Which members an aggregate takes, as a predicate on their own attributes such as `isRead == NO`; nil for all.
  public static func derived(_ expression: String, where filter: String? = nil) -> AttributeOption {
    AttributeOption { $0.derived(expression, where: filter) }
  }
  /// The least and the greatest number or date.
  public static func range<Value: AttributeValue & Comparable>(_ range: ClosedRange<Value>) -> AttributeOption {
    AttributeOption { $0.range(range) }
  }
  /// The least number or the earliest date.
  public static func range<Value: AttributeValue & Comparable>(_ range: PartialRangeFrom<Value>) -> AttributeOption {
    AttributeOption { $0.range(range) }
  }
  /// The greatest number or the latest date.
  public static func range<Value: AttributeValue & Comparable>(_ range: PartialRangeThrough<Value>) -> AttributeOption {
    AttributeOption { $0.range(range) }
  }
  /// The least and the greatest number of characters.
  public static func length(_ range: ClosedRange<Int>) -> AttributeOption { AttributeOption { $0.length(range) } }
  /// The least number of characters.
  public static func length(_ range: PartialRangeFrom<Int>) -> AttributeOption { AttributeOption { $0.length(range) } }
  /// The greatest number of characters.
  public static func length(_ range: PartialRangeThrough<Int>) -> AttributeOption { AttributeOption { $0.length(range) } }
  /// A regular expression that the whole string must match.
  public static func matching(_ pattern: String) -> AttributeOption { AttributeOption { $0.matching(pattern) } }
  /// What the attribute was called in an earlier version of the model.
  public static func renamed(from name: String) -> AttributeOption { AttributeOption { $0.renamed(from: name) } }
  /// Text that changes the version hash when nothing else does.
  public static func hashModifier(_ text: String) -> AttributeOption { AttributeOption { $0.hashModifier(text) } }
  /// A note of the application.
  public static func note(_ key: String, _ value: String) -> AttributeOption { AttributeOption { $0.note(key, value) } }
}

/// What `@Relationship` says of a relationship beyond its name, destination and cardinality.
public struct RelationshipOption: Sendable {
  let change: @Sendable (Relationship) -> Relationship

  /// The relationship may not be empty when the object is saved.
  public static var required: RelationshipOption { RelationshipOption { $0.required() } }
  /// The relationship is kept in memory only.
  public static var transient: RelationshipOption { RelationshipOption { $0.transient() } }
  /// The least and the greatest number of objects.
  public static func count(_ range: ClosedRange<Int>) -> RelationshipOption { RelationshipOption { $0.count(range) } }
  /// The least number of objects.
  public static func count(_ range: PartialRangeFrom<Int>) -> RelationshipOption { RelationshipOption { $0.count(range) } }
  /// The greatest number of objects.
  public static func count(_ range: PartialRangeThrough<Int>) -> RelationshipOption { RelationshipOption { $0.count(range) } }
  /// What the relationship was called in an earlier version of the model.
  public static func renamed(from name: String) -> RelationshipOption { RelationshipOption { $0.renamed(from: name) } }
  /// Text that changes the version hash when nothing else does.
  public static func hashModifier(_ text: String) -> RelationshipOption { RelationshipOption { $0.hashModifier(text) } }
  /// A note of the application.
  public static func note(_ key: String, _ value: String) -> RelationshipOption { RelationshipOption { $0.note(key, value) } }
}

/// What `@Entity` says of an entity beyond its name, superclass and properties.
public struct EntityOption: Sendable {
  let change: @Sendable (inout EntityDescription) -> Void

  /// The entity has no objects of its own.
  public static var abstract: EntityOption { EntityOption { $0.isAbstract = true } }
  /// No two objects have the same values of several properties.
  public static func unique(_ properties: String...) -> EntityOption { EntityOption { $0.uniquenessConstraints.append(properties) } }
  /// An index over properties, most significant first.
  public static func index(_ name: String, on properties: String...) -> EntityOption {
    EntityOption { $0.indexes.append(FetchIndexDescription(name: name, elements: properties.map { FetchIndexElement(property: $0) })) }
  }
  /// What the entity was called in an earlier version of the model.
  public static func renamed(from name: String) -> EntityOption { EntityOption { $0.renamingIdentifier = name } }
  /// Text that changes the version hash when nothing else does.
  public static func hashModifier(_ text: String) -> EntityOption { EntityOption { $0.versionHashModifier = text } }
  /// A note of the application.
  public static func note(_ key: String, _ value: String) -> EntityOption { EntityOption { $0.userInfo[key] = value } }
}

/// Puts an entity together; what the source that `@Entity` writes calls.
public struct EntityDeclaration {
  /// The entity as far as it is declared.
  public private(set) var entityDescription: EntityDescription

  /// Begins an entity.
  public init(_ name: String, class className: String, superclass: (any EntityClass.Type)? = nil, _ options: EntityOption...) {
    entityDescription = EntityDescription(name: name, superentity: superclass?.declaredEntityName, managedObjectClassName: className)
    for option in options { option.change(&entityDescription) }
  }

  private mutating func add(_ attribute: Attribute, isOptional: Bool, _ options: [AttributeOption]) {
    var attribute = isOptional ? attribute : attribute.required()
    for option in options { attribute = option.change(&entityDescription, attribute) }
    attribute.add(to: &entityDescription)
  }

  /// Adds an attribute of one of the library's types.
  public mutating func attribute<Value: AttributeValue>(
    _ name: String, _ type: Value.Type, isOptional: Bool, initial: Value? = nil, _ options: AttributeOption...
  ) {
    let attribute = Attribute(name, type)
    add(initial.map { attribute.initially($0) } ?? attribute, isOptional: isOptional, options)
  }

  /// Adds an attribute of a type with raw values.
  public mutating func attribute<Value: RawRepresentable>(
    _ name: String, _ type: Value.Type, isOptional: Bool, initial: Value? = nil, _ options: AttributeOption...
  ) where Value.RawValue: AttributeValue {
    let attribute = Attribute(name, raw: type)
    add(initial.map { attribute.initially($0) } ?? attribute, isOptional: isOptional, options)
  }

  /// Adds an attribute of a `Codable` type.
  @_disfavoredOverload
  public mutating func attribute<Value: Codable & Sendable>(
    _ name: String, _ type: Value.Type, isOptional: Bool, initial: Value? = nil, _ options: AttributeOption...
  ) {
    let attribute = Attribute(name, transforming: type)
    // A value that has no JSON is only what the property reads without one.
    let data = initial.flatMap { try? JSONAttributeCoding.data(from: $0) }
    add(data.map { attribute.initially($0) } ?? attribute, isOptional: isOptional, options)
  }

  /// Adds a relationship to one object.
  public mutating func toOne<Destination: EntityClass>(
    _ name: String, _ destination: Destination.Type, inverse: String?, deleteRule: DeleteRule = .nullify, _ options: RelationshipOption...
  ) {
    add(Relationship(name, to: destination.declaredEntityName, inverse: inverse).onDelete(deleteRule), options)
  }

  /// Adds a relationship to many objects.
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
