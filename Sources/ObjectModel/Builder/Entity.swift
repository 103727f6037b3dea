/// An entity in a ``ManagedObjectModel`` declared in Swift.
///
/// ```swift
/// Entity("Book", parent: "Item") {
///   Attribute("title", .string).required()
///   Relationship("author", to: "Author", inverse: "books")
///   Unique("isbn")
/// }
/// ```
///
/// If a name cannot be resolved, creating a container or coordinator with the model throws ``ModelValidationError``.
public struct Entity: ModelComponent {
  private var entity: EntityDescription

  /// Declares an entity.
  ///
  /// - Parameters:
  ///   - name: The entity's name.
  ///   - className: The class name of its objects; nil for `ManagedObject`.
  ///   - parent: The name of the superentity; nil for a root.
  ///   - isAbstract: Whether the entity is abstract.
  ///   - components: Its properties, indexes and constraints.
  public init(
    _ name: String, class className: String? = nil, parent: String? = nil, abstract isAbstract: Bool = false,
    @EntityBuilder _ components: () -> [any EntityComponent] = { [] }
  ) {
    entity = EntityDescription(name: name, superentity: parent, isAbstract: isAbstract, managedObjectClassName: className)
    for component in components() { component.add(to: &entity) }
  }

  /// Sets the generation mode of the typed class when the model is written to a file.
  public func codeGeneration(_ type: CodeGenerationType) -> Entity { changed { $0.codeGeneration = type } }
  /// Sets the expression, in format language, of an object's display name, for an indexer of the application for system search.
  public func spotlightName(_ expression: String) -> Entity { changed { $0.coreSpotlightDisplayNameExpression = expression } }
  /// What the entity was called in an earlier version of the model.
  public func renamed(from name: String) -> Entity { changed { $0.renamingIdentifier = name } }
  /// Sets a string that changes the version hash, even if nothing else changes.
  public func hashModifier(_ text: String) -> Entity { changed { $0.versionHashModifier = text } }
  /// Sets what synchronization does if an object is deleted on one device and changed on another one.
  public func syncDeletionRule(_ rule: SyncDeletionRule) -> Entity { changed { $0.syncDeletionRule = rule } }
  /// Adds a user info entry.
  public func userInfo(_ key: String, _ value: String) -> Entity { changed { $0.userInfo[key] = value } }

  private func changed(_ change: (inout EntityDescription) -> Void) -> Entity {
    var copy = self
    change(&copy.entity)
    return copy
  }

  /// Adds the entity to a model.
  @_spi(Generated) public func add(to model: inout ManagedObjectModel) { model.entities.append(entity) }
}

/// A relationship of an entity declared in Swift. By default it is optional and has the delete rule ``DeleteRule/nullify``.
///
/// ```swift
/// Relationship("author", to: "Author", inverse: "books").required()
/// Relationship("chapters", toMany: "Chapter", inverse: "book").ordered().onDelete(.cascade)
/// ```
///
/// Setting one side updates the other.
public struct Relationship: EntityComponent {
  private var relationship: RelationshipDescription

  /// Creates a to-one relationship.
  ///
  /// - Parameters:
  ///   - name: The relationship's name.
  ///   - destination: The name of the destination entity.
  ///   - inverse: The name of the inverse relationship.
  public init(_ name: String, to destination: String, inverse: String? = nil) {
    relationship = RelationshipDescription(name: name, destination: destination, inverse: inverse)
  }

  /// Creates a to-many relationship.
  ///
  /// - Parameters:
  ///   - name: The relationship's name.
  ///   - destination: The name of the destination entity.
  ///   - inverse: The name of the inverse relationship.
  public init(_ name: String, toMany destination: String, inverse: String? = nil) {
    relationship = RelationshipDescription(name: name, destination: destination, inverse: inverse, isToMany: true)
  }

  /// Requires at least one object when the object is saved. A to-many relationship receives a minimum count of 1 unless it has one.
  public func required() -> Relationship {
    changed {
      $0.isOptional = false
      // An empty set is a value, so only a minimum count requires members.
      if $0.isToMany, $0.minCount == 0 { $0.minCount = 1 }
    }
  }
  /// Makes the members ordered.
  public func ordered() -> Relationship { changed { $0.isOrdered = true } }
  /// Sets the effect of deleting the object on the objects that the relationship refers to.
  public func onDelete(_ rule: DeleteRule) -> Relationship { changed { $0.deleteRule = rule } }
  /// Sets the minimum and maximum number of objects: `1...8`, `1...` or `...8`.
  public func count(_ range: some ValidationBounds<Int>) -> Relationship {
    changed {
      if let least = range.minimum { $0.minCount = least }
      if let maximum = range.maximum { $0.maxCount = maximum }
    }
  }
  /// Makes the relationship its own inverse: if one object refers to another, the other refers back.
  public func symmetric() -> Relationship { changed { $0.inverseName = $0.name } }
  /// Keeps the relationship in memory only.
  public func transient() -> Relationship { changed { $0.isTransient = true } }
  /// What the relationship was called in an earlier version of the model.
  public func renamed(from name: String) -> Relationship { changed { $0.renamingIdentifier = name } }
  /// Sets a string that changes the version hash, even if nothing else changes.
  public func hashModifier(_ text: String) -> Relationship { changed { $0.versionHashModifier = text } }
  /// Adds a user info entry.
  public func userInfo(_ key: String, _ value: String) -> Relationship { changed { $0.userInfo[key] = value } }

  private func changed(_ change: (inout RelationshipDescription) -> Void) -> Relationship {
    var copy = self
    change(&copy.relationship)
    return copy
  }

  /// Adds the relationship to an entity.
  @_spi(Generated) public func add(to entity: inout EntityDescription) { entity.properties.append(.relationship(relationship)) }
}

/// A fetched property of an entity declared in Swift.
public struct FetchedProperty: EntityComponent {
  private var property: FetchedPropertyDescription

  /// Creates a property that fetches objects of an entity. In the predicate, `$FETCH_SOURCE` is the owner.
  ///
  /// - Parameters:
  ///   - name: The property's name.
  ///   - entity: The name of the entity to fetch.
  ///   - predicate: The predicate, in format language; nil for all objects.
  public init(_ name: String, entity: String, where predicate: String? = nil) {
    property = FetchedPropertyDescription(name: name, destination: entity, predicateFormat: predicate)
  }

  /// Marks the property as not optional. For model files only, without other effects.
  public func required() -> FetchedProperty { changed { $0.isOptional = false } }
  /// Adds a user info entry, which the predicate can use as `$FETCHED_PROPERTY.userInfo.key`.
  public func userInfo(_ key: String, _ value: String) -> FetchedProperty { changed { $0.userInfo[key] = value } }

  private func changed(_ change: (inout FetchedPropertyDescription) -> Void) -> FetchedProperty {
    var copy = self
    change(&copy.property)
    return copy
  }

  /// Adds the property to an entity.
  @_spi(Generated) public func add(to entity: inout EntityDescription) { entity.properties.append(.fetchedProperty(property)) }
}

/// An index of an entity declared in Swift.
public struct Index: EntityComponent {
  private var index: FetchIndexDescription

  /// Creates an ascending index over properties, most significant first.
  ///
  /// - Parameters:
  ///   - name: The index's name.
  ///   - property: The most significant property.
  ///   - more: The properties after it.
  public init(_ name: String, on property: String, _ more: String...) {
    index = FetchIndexDescription(name: name, elements: ([property] + more).map { FetchIndexElement(property: $0) })
  }

  /// Creates an index over elements, each with a direction, such as `.ascending("name"), .descending("date")`, and optionally with a
  /// collation for text: `.ascending("name", collation: .caseInsensitive)`.
  public init(_ name: String, _ elements: FetchIndexElement...) {
    index = FetchIndexDescription(name: name, elements: elements)
  }

  /// Creates a full-text index, for SEARCH in each attribute and in all of them together.
  ///
  /// - Parameters:
  ///   - name: The index's name.
  ///   - property: A text attribute.
  ///   - more: More text attributes.
  public init(_ name: String, fullText property: String, _ more: String...) {
    index = FetchIndexDescription(name: name, elements: ([property] + more).map { .fullText($0) })
  }

  /// Restricts the index to rows that match a predicate in format language.
  public func `where`(_ predicate: String) -> Index {
    var copy = self
    copy.index.partialIndexPredicate = predicate
    return copy
  }

  /// Adds the index to an entity.
  @_spi(Generated) public func add(to entity: inout EntityDescription) { entity.indexes.append(index) }
}

extension FetchIndexElement {
  /// Returns an ascending element.
  public static func ascending(_ property: String, collation: Collation = .binary) -> FetchIndexElement {
    FetchIndexElement(property: property, collation: collation)
  }
  /// Returns a descending element.
  public static func descending(_ property: String, collation: Collation = .binary) -> FetchIndexElement {
    FetchIndexElement(property: property, isAscending: false, collation: collation)
  }
}

/// A uniqueness constraint of an entity declared in Swift: no two objects have the same combination of values.
public struct Unique: EntityComponent {
  private let properties: [String]

  /// Creates a constraint over attributes and to-one relationships.
  public init(_ properties: String...) { self.properties = properties }

  /// Adds the constraint to an entity.
  @_spi(Generated) public func add(to entity: inout EntityDescription) { entity.uniquenessConstraints.append(properties) }
}
