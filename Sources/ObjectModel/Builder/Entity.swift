// Entity: an entity declared in Swift, with its relationships, indexes and constraints.

/// An entity in a model declared in Swift.
///
/// ```swift
/// Entity("Book", parent: "Item") {
///   Attribute("title", .string).required()
///   Relationship("author", to: "Author", inverse: "books")
///   Unique("isbn")
/// }
/// ```
///
/// It is a part of a ``ManagedObjectModel``. Where a name leads nowhere, making a container or coordinator with the model throws
/// ``ModelValidationError``.
public struct Entity: ModelComponent {
  private var entity: EntityDescription

  /// Declares an entity.
  ///
  /// - Parameters:
  ///   - name: The entity's name.
  ///   - className: The class of its objects; nil for `ManagedObject`.
  ///   - parent: The entity it inherits from; nil for a root.
  ///   - isAbstract: Whether it has no objects of its own.
  ///   - components: Its properties, indexes and constraints.
  public init(
    _ name: String, class className: String? = nil, parent: String? = nil, abstract isAbstract: Bool = false,
    @EntityBuilder _ components: () -> [any EntityComponent] = { [] }
  ) {
    entity = EntityDescription(name: name, superentity: parent, isAbstract: isAbstract, managedObjectClassName: className)
    for component in components() { component._add(to: &entity) }
  }

  /// How typed classes are generated when the model is written to a file.
  public func codeGeneration(_ type: CodeGenerationType) -> Entity { changed { $0.codeGeneration = type } }
  /// The expression of the name that system search shows for an object, in format language: a mark for the application's own indexer.
  public func spotlightName(_ expression: String) -> Entity { changed { $0.coreSpotlightDisplayNameExpression = expression } }
  /// What the entity was called in an earlier version of the model.
  public func renamed(from name: String) -> Entity { changed { $0.renamingIdentifier = name } }
  /// Text that changes the version hash when nothing else does.
  public func hashModifier(_ text: String) -> Entity { changed { $0.versionHashModifier = text } }
  /// Adds a note of the application.
  public func note(_ key: String, _ value: String) -> Entity { changed { $0.userInfo[key] = value } }

  private func changed(_ change: (inout EntityDescription) -> Void) -> Entity {
    var copy = self
    change(&copy.entity)
    return copy
  }

  /// Adds the entity to a model.
  public func _add(to model: inout ManagedObjectModel) { model.entities.append(entity) }
}

/// A relationship in an entity declared in Swift. By default it is optional, and deleting the object sets the other side to nil.
///
/// ```swift
/// Relationship("author", to: "Author", inverse: "books").required()
/// Relationship("chapters", toMany: "Chapter", inverse: "book").ordered().onDelete(.cascade)
/// ```
///
/// Setting one side sets the other.
public struct Relationship: EntityComponent {
  private var relationship: RelationshipDescription

  /// A relationship to one object.
  ///
  /// - Parameters:
  ///   - name: The relationship's name.
  ///   - destination: The entity of the other object.
  ///   - inverse: The name of the relationship back.
  public init(_ name: String, to destination: String, inverse: String? = nil) {
    relationship = RelationshipDescription(name: name, destination: destination, inverse: inverse)
  }

  /// A relationship to many objects.
  ///
  /// - Parameters:
  ///   - name: The relationship's name.
  ///   - destination: The entity of the members.
  ///   - inverse: The name of the relationship back.
  public init(_ name: String, toMany destination: String, inverse: String? = nil) {
    relationship = RelationshipDescription(name: name, destination: destination, inverse: inverse, isToMany: true)
  }

  /// The relationship may not be empty when the object is saved: one to many objects gets a least number of 1, unless it has one.
  public func required() -> Relationship {
    changed {
      $0.isOptional = false
      // An empty set is a value: only a least number requires members.
      if $0.isToMany, $0.minCount == 0 { $0.minCount = 1 }
    }
  }
  /// The members have an order.
  public func ordered() -> Relationship { changed { $0.isOrdered = true } }
  /// What deleting the object does to those it refers to.
  public func onDelete(_ rule: DeleteRule) -> Relationship { changed { $0.deleteRule = rule } }
  /// The least and the greatest number of objects: `1...8`, `1...` or `...8`.
  public func count(_ range: some ValidationBounds<Int>) -> Relationship {
    changed {
      if let least = range._minimum { $0.minCount = least }
      if let greatest = range._maximum { $0.maxCount = greatest }
    }
  }
  /// The relationship is its own inverse: whoever is a friend has the other as a friend.
  public func symmetric() -> Relationship { changed { $0.inverseName = $0.name } }
  /// The relationship is kept in memory only.
  public func transient() -> Relationship { changed { $0.isTransient = true } }
  /// What the relationship was called in an earlier version of the model.
  public func renamed(from name: String) -> Relationship { changed { $0.renamingIdentifier = name } }
  /// Text that changes the version hash when nothing else does.
  public func hashModifier(_ text: String) -> Relationship { changed { $0.versionHashModifier = text } }
  /// Adds a note of the application.
  public func note(_ key: String, _ value: String) -> Relationship { changed { $0.userInfo[key] = value } }

  private func changed(_ change: (inout RelationshipDescription) -> Void) -> Relationship {
    var copy = self
    change(&copy.relationship)
    return copy
  }

  /// Adds the relationship to an entity.
  public func _add(to entity: inout EntityDescription) { entity.properties.append(.relationship(relationship)) }
}

/// A fetched property in an entity declared in Swift.
public struct FetchedProperty: EntityComponent {
  private var property: FetchedPropertyDescription

  /// A property that fetches an entity's objects; in the predicate, `$FETCH_SOURCE` is the owner.
  ///
  /// - Parameters:
  ///   - name: The property's name.
  ///   - entity: The entity of the objects.
  ///   - predicate: Which objects are fetched, in format language; nil for all.
  public init(_ name: String, entity: String, where predicate: String? = nil) {
    property = FetchedPropertyDescription(name: name, destination: entity, predicateFormat: predicate)
  }

  /// The property is not marked optional. Model files may say so, and nothing depends on it.
  public func required() -> FetchedProperty { changed { $0.isOptional = false } }
  /// Adds a note of the application; the predicate may ask for it as `$FETCHED_PROPERTY.userInfo.key`.
  public func note(_ key: String, _ value: String) -> FetchedProperty { changed { $0.userInfo[key] = value } }

  private func changed(_ change: (inout FetchedPropertyDescription) -> Void) -> FetchedProperty {
    var copy = self
    change(&copy.property)
    return copy
  }

  /// Adds the property to an entity.
  public func _add(to entity: inout EntityDescription) { entity.properties.append(.fetchedProperty(property)) }
}

/// An index in an entity declared in Swift.
public struct Index: EntityComponent {
  private var index: FetchIndexDescription

  /// An ascending index over properties, most significant first.
  ///
  /// - Parameters:
  ///   - name: The index's name.
  ///   - property: The most significant property.
  ///   - more: The properties after it.
  public init(_ name: String, on property: String, _ more: String...) {
    index = FetchIndexDescription(name: name, elements: ([property] + more).map { FetchIndexElement(property: $0) })
  }

  /// An index over elements with a direction each, such as `.ascending("name"), .descending("date")`; texts may be folded:
  /// `.ascending("name", collation: .caseInsensitive)`.
  public init(_ name: String, _ elements: FetchIndexElement...) {
    index = FetchIndexDescription(name: name, elements: elements)
  }

  /// An index over the words of texts, for SEARCH: of each by itself, and of all together.
  ///
  /// - Parameters:
  ///   - name: The index's name.
  ///   - property: A text attribute.
  ///   - more: More text attributes.
  public init(_ name: String, fullText property: String, _ more: String...) {
    index = FetchIndexDescription(name: name, elements: ([property] + more).map { .fullText($0) })
  }

  /// The index with only those rows in it that a predicate, in format language, accepts.
  public func `where`(_ predicate: String) -> Index {
    var copy = self
    copy.index.partialIndexPredicate = predicate
    return copy
  }

  /// Adds the index to an entity.
  public func _add(to entity: inout EntityDescription) { entity.indexes.append(index) }
}

extension FetchIndexElement {
  /// An element with lower values first.
  public static func ascending(_ property: String, collation: Collation = .binary) -> FetchIndexElement {
    FetchIndexElement(property: property, collation: collation)
  }
  /// An element with higher values first.
  public static func descending(_ property: String, collation: Collation = .binary) -> FetchIndexElement {
    FetchIndexElement(property: property, isAscending: false, collation: collation)
  }
}

/// A uniqueness constraint in an entity declared in Swift: no two objects have the same values of all its properties.
public struct Unique: EntityComponent {
  private let properties: [String]

  /// A constraint over attributes and to-one relationships.
  public init(_ properties: String...) { self.properties = properties }

  /// Adds the constraint to an entity.
  public func _add(to entity: inout EntityDescription) { entity.uniquenessConstraints.append(properties) }
}
