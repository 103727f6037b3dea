// EntityOptions: what @Entity, @Attribute, @Relationship and @FetchedProperty say beyond names and types.
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
  /// The attribute must have a value when the object is saved, although the property is an optional: nothing stands for it before.
  public static var required: AttributeOption { AttributeOption { $0.required() } }
  /// The attribute has an index, named `byTitle` for `title`.
  public static var indexed: AttributeOption {
    AttributeOption { entity, name in
      Index("by" + name.prefix(1).uppercased() + name.dropFirst(), on: name)._add(to: &entity)
    }
  }
  /// The attribute holds a value of a struct with `@Composite`; its parts have columns of their own.
  public static var composite: AttributeOption { AttributeOption { $0 } }
  /// The class has a rule for the value, `validateTitle(_:)` for `title`, which every save calls with the property's type, or its raw values', and which
  /// may put another value in its place. See ``ManagedObject/validate(_:forKey:by:)``.
  public static var validated: AttributeOption { AttributeOption { $0.note("swiftValidation", "YES") } }
  /// The attribute is kept in memory only.
  public static var transient: AttributeOption { AttributeOption { $0.transient() } }
  /// Large values may be kept in files beside the store.
  public static var externalStorage: AttributeOption { AttributeOption { $0.externalStorage() } }
  /// The values are turned into bytes by the transformer that is registered under a name (`AttributeTransformers`) before the model is made; the
  /// property's type is the transformer's, or `any Sendable`.
  public static func transformed(by name: String) -> AttributeOption { AttributeOption { $0.transformed(by: name) } }
  /// The value is sealed before it is mirrored to other devices: a mark for the application's own mirroring.
  public static var allowsCloudEncryption: AttributeOption { AttributeOption { $0.allowsCloudEncryption() } }
  /// The value is copied into the history of the object's deletion.
  public static var preservedOnDeletion: AttributeOption { AttributeOption { $0.preservedOnDeletion() } }
  /// System search indexes the attribute: a mark for the application's own indexer.
  public static var indexedBySpotlight: AttributeOption { AttributeOption { $0.indexedBySpotlight() } }
  /// The value is computed from an expression in format language: the property is read-only.
  ///
  /// - Parameters:
  ///   - expression: A path, a function of one, an aggregate such as `messages.@count`, or `now()`.
  ///   - filter: Which members an aggregate takes, as a predicate on their own attributes such as `isRead == NO`; nil for all.
  public static func derived(_ expression: String, where filter: String? = nil) -> AttributeOption {
    AttributeOption { $0.derived(expression, where: filter) }
  }
  /// The least and the greatest number or date: `0...9`, `0...` or `...9`.
  public static func range<Value: AttributeValue & Comparable>(_ range: some ValidationBounds<Value> & Sendable) -> AttributeOption {
    AttributeOption { $0.range(range) }
  }
  /// The least and the greatest number of characters: `1...80`, `1...` or `...80`.
  public static func length(_ range: some ValidationBounds<Int> & Sendable) -> AttributeOption { AttributeOption { $0.length(range) } }
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
  /// The relationship is its own inverse: whoever is a friend has the other as a friend. (A key path cannot name the property that it stands at.)
  public static var symmetric: RelationshipOption { RelationshipOption { $0.symmetric() } }
  /// The relationship is kept in memory only.
  public static var transient: RelationshipOption { RelationshipOption { $0.transient() } }
  /// The least and the greatest number of objects: `1...8`, `1...` or `...8`.
  public static func count(_ range: some ValidationBounds<Int> & Sendable) -> RelationshipOption { RelationshipOption { $0.count(range) } }
  /// What the relationship was called in an earlier version of the model.
  public static func renamed(from name: String) -> RelationshipOption { RelationshipOption { $0.renamed(from: name) } }
  /// Text that changes the version hash when nothing else does.
  public static func hashModifier(_ text: String) -> RelationshipOption { RelationshipOption { $0.hashModifier(text) } }
  /// A note of the application.
  public static func note(_ key: String, _ value: String) -> RelationshipOption { RelationshipOption { $0.note(key, value) } }
}

/// What `@FetchedProperty` says of a fetched property beyond its name, class and predicate.
public struct FetchedPropertyOption: Sendable {
  let change: @Sendable (FetchedProperty) -> FetchedProperty

  /// The property is not marked optional. Model files may say so, and nothing depends on it.
  public static var required: FetchedPropertyOption { FetchedPropertyOption { $0.required() } }
  /// A note of the application; the predicate may ask for it as `$FETCHED_PROPERTY.userInfo.key`.
  public static func note(_ key: String, _ value: String) -> FetchedPropertyOption { FetchedPropertyOption { $0.note(key, value) } }
}

/// What `@Entity` says of an entity beyond its name, superclass and properties.
public struct EntityOption: Sendable {
  let change: @Sendable (inout EntityDescription) -> Void

  /// The entity has no objects of its own.
  public static var abstract: EntityOption { EntityOption { $0.isAbstract = true } }
  /// No two objects have the same values of several properties.
  public static func unique(_ properties: String...) -> EntityOption { EntityOption { $0.uniquenessConstraints.append(properties) } }
  /// An index over properties, most significant first; with a predicate, in format language, only of the rows that it accepts.
  ///
  /// - Parameters:
  ///   - name: The index's name.
  ///   - properties: The properties, most significant first.
  ///   - predicate: Which rows are indexed, in format language; nil for all.
  public static func index(_ name: String, on properties: String..., where predicate: String? = nil) -> EntityOption {
    index(name, properties.map { FetchIndexElement(property: $0) }, predicate)
  }
  /// An index over elements with a direction each, such as `.ascending("name"), .descending("date")`; texts may be folded:
  /// `.ascending("name", collation: .caseInsensitive)`, and expressions indexed: `FetchIndexElement(expression: "lowercase:(name)")`.
  ///
  /// - Parameters:
  ///   - name: The index's name.
  ///   - elements: The elements, most significant first.
  ///   - predicate: Which rows are indexed, in format language; nil for all.
  public static func index(_ name: String, _ elements: FetchIndexElement..., where predicate: String? = nil) -> EntityOption {
    index(name, elements, predicate)
  }
  /// An index over the words of texts, for SEARCH: of each by itself, and of all together.
  public static func index(_ name: String, fullText properties: String...) -> EntityOption {
    index(name, properties.map { .fullText($0) }, nil)
  }
  private static func index(_ name: String, _ elements: [FetchIndexElement], _ predicate: String?) -> EntityOption {
    EntityOption { $0.indexes.append(FetchIndexDescription(name: name, elements: elements, partialIndexPredicate: predicate)) }
  }
  /// The expression of the name that system search shows for an object, in format language: a mark for the application's own indexer.
  public static func spotlightName(_ expression: String) -> EntityOption {
    EntityOption { $0.coreSpotlightDisplayNameExpression = expression }
  }
  /// What the entity was called in an earlier version of the model.
  public static func renamed(from name: String) -> EntityOption { EntityOption { $0.renamingIdentifier = name } }
  /// Text that changes the version hash when nothing else does.
  public static func hashModifier(_ text: String) -> EntityOption { EntityOption { $0.versionHashModifier = text } }
  /// A note of the application.
  public static func note(_ key: String, _ value: String) -> EntityOption { EntityOption { $0.userInfo[key] = value } }
}
