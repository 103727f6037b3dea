@_spi(Generated) public import ObjectModel

/// An option of `@Attribute`.
public struct AttributeOption: Sendable {
  let change: @Sendable (inout EntityDescription, Attribute) -> Attribute

  private init(_ change: @escaping @Sendable (Attribute) -> Attribute) { self.change = { _, attribute in change(attribute) } }
  private init(entity change: @escaping @Sendable (inout EntityDescription, String) -> Void) {
    self.change = { entity, attribute in
      change(&entity, attribute.name)
      return attribute
    }
  }

  /// Requires values to be unique among the entity's objects.
  public static var unique: AttributeOption { AttributeOption { entity, name in entity.uniquenessConstraints.append([name]) } }
  /// Requires a value when the object is saved, although the property is an optional and can be `nil` until then.
  public static var required: AttributeOption { AttributeOption { $0.required() } }
  /// Adds an index, named `byTitle` for `title`.
  public static var indexed: AttributeOption {
    AttributeOption { entity, name in
      Index("by" + name.prefix(1).uppercased() + name.dropFirst(), on: name).add(to: &entity)
    }
  }
  /// Stores a value of a struct with `@Composite`, whose parts have their own columns.
  public static var composite: AttributeOption { AttributeOption { $0 } }
  /// Validates the value with a method of the class, `validateTitle(_:)` for `title`. Every save calls it with a value of the property's
  /// type, or of the raw values' type. The method may replace the value. See ``ManagedObject/validate(_:forKey:by:)``.
  public static var validated: AttributeOption { AttributeOption { $0.userInfo("swiftValidation", "YES") } }
  /// Stores the value in memory only.
  public static var transient: AttributeOption { AttributeOption { $0.transient() } }
  /// Allows large values to be stored in files next to the store.
  public static var externalStorage: AttributeOption { AttributeOption { $0.externalStorage() } }
  /// Encodes values with a named transformer, which must be registered (`AttributeTransformers`) before the model is created. The
  /// property's type is that of the transformer, or `any Sendable`.
  public static func transformed(by name: String) -> AttributeOption { AttributeOption { $0.transformed(by: name) } }
  /// Marks the attribute as one whose value is encrypted before it is mirrored to other devices. The application's own mirroring evaluates
  /// the mark.
  public static var allowsCloudEncryption: AttributeOption { AttributeOption { $0.allowsCloudEncryption() } }
  /// Copies the value into the persistent history when the object is deleted.
  public static var preservedOnDeletion: AttributeOption { AttributeOption { $0.preservedOnDeletion() } }
  /// Marks the attribute for indexing by the system's search. The application's own indexer evaluates the mark.
  public static var indexedBySpotlight: AttributeOption { AttributeOption { $0.indexedBySpotlight() } }
  /// Computes the value from an expression in format language. The property is read-only.
  ///
  /// - Parameters:
  ///   - expression: A key path, a function of one, an aggregate such as `messages.@count`, or `now()`.
  ///   - filter: A predicate that selects the members for an aggregate by their own attributes, such as `isRead == NO`; `nil` includes all
  ///     members.
  public static func derived(_ expression: String, where filter: String? = nil) -> AttributeOption {
    AttributeOption { $0.derived(expression, where: filter) }
  }
  /// Sets how concurrent changes of the value on several devices are merged by synchronization.
  public static func syncMergeRule(_ rule: SyncMergeRule) -> AttributeOption { AttributeOption { $0.syncMergeRule(rule) } }
  /// Limits a number or date to a range: `0...9`, `0...` or `...9`.
  public static func range<Value: AttributeValue & Comparable>(_ range: some ValidationBounds<Value> & Sendable) -> AttributeOption {
    AttributeOption { $0.range(range) }
  }
  /// Limits the number of characters: `1...80`, `1...` or `...80`.
  public static func length(_ range: some ValidationBounds<Int> & Sendable) -> AttributeOption { AttributeOption { $0.length(range) } }
  /// Requires the entire string to match a regular expression.
  public static func matching(_ pattern: String) -> AttributeOption { AttributeOption { $0.matching(pattern) } }
  /// Specifies the attribute's name in an earlier version of the model.
  public static func renamed(from name: String) -> AttributeOption { AttributeOption { $0.renamed(from: name) } }
  /// Adds a text that changes the version hash when nothing else does.
  public static func hashModifier(_ text: String) -> AttributeOption { AttributeOption { $0.hashModifier(text) } }
  /// Adds an entry to the user info.
  public static func userInfo(_ key: String, _ value: String) -> AttributeOption { AttributeOption { $0.userInfo(key, value) } }
}

/// An option of `@Relationship`.
public struct RelationshipOption: Sendable {
  let change: @Sendable (Relationship) -> Relationship

  /// Requires at least one destination when the object is saved.
  public static var required: RelationshipOption { RelationshipOption { $0.required() } }
  /// Makes the relationship its own inverse, as for a list of friends: each member also has the object as a member. Use this option because
  /// a key path cannot refer to the property to which its macro is attached.
  public static var symmetric: RelationshipOption { RelationshipOption { $0.symmetric() } }
  /// Stores the relationship in memory only.
  public static var transient: RelationshipOption { RelationshipOption { $0.transient() } }
  /// Limits the number of destinations: `1...8`, `1...` or `...8`.
  public static func count(_ range: some ValidationBounds<Int> & Sendable) -> RelationshipOption { RelationshipOption { $0.count(range) } }
  /// Specifies the relationship's name in an earlier version of the model.
  public static func renamed(from name: String) -> RelationshipOption { RelationshipOption { $0.renamed(from: name) } }
  /// Adds a text that changes the version hash when nothing else does.
  public static func hashModifier(_ text: String) -> RelationshipOption { RelationshipOption { $0.hashModifier(text) } }
  /// Adds an entry to the user info.
  public static func userInfo(_ key: String, _ value: String) -> RelationshipOption { RelationshipOption { $0.userInfo(key, value) } }
}

/// An option of `@FetchedProperty`.
public struct FetchedPropertyOption: Sendable {
  let change: @Sendable (FetchedProperty) -> FetchedProperty

  /// Removes the optional mark of the property. Model files may contain the mark; it has no effect.
  public static var required: FetchedPropertyOption { FetchedPropertyOption { $0.required() } }
  /// Adds an entry to the user info, which the predicate can access as `$FETCHED_PROPERTY.userInfo.key`.
  public static func userInfo(_ key: String, _ value: String) -> FetchedPropertyOption { FetchedPropertyOption { $0.userInfo(key, value) } }
}

/// An option of `@Entity`.
public struct EntityOption: Sendable {
  let change: @Sendable (inout EntityDescription) -> Void

  /// Makes the entity abstract: it has no objects of its own.
  public static var abstract: EntityOption { EntityOption { $0.isAbstract = true } }
  /// Requires the combined values of several properties to be unique among the entity's objects.
  public static func unique(_ properties: String...) -> EntityOption { EntityOption { $0.uniquenessConstraints.append(properties) } }
  /// Adds an index on properties. With a predicate, the index contains only the rows that match it.
  ///
  /// - Parameters:
  ///   - name: The name of the index.
  ///   - properties: The properties, most significant first.
  ///   - predicate: A predicate in format language that selects the rows to index; `nil` indexes all rows.
  public static func index(_ name: String, on properties: String..., where predicate: String? = nil) -> EntityOption {
    index(name, properties.map { FetchIndexElement(property: $0) }, predicate)
  }
  /// Adds an index on elements that each have a direction, such as `.ascending("name"), .descending("date")`.
  ///
  /// Elements can ignore the case of texts: `.ascending("name", collation: .caseInsensitive)`. They can also be expressions:
  /// `FetchIndexElement(expression: "lowercase:(name)")`.
  ///
  /// - Parameters:
  ///   - name: The name of the index.
  ///   - elements: The elements, most significant first.
  ///   - predicate: A predicate in format language that selects the rows to index; `nil` indexes all rows.
  public static func index(_ name: String, _ elements: FetchIndexElement..., where predicate: String? = nil) -> EntityOption {
    index(name, elements, predicate)
  }
  /// Adds a full-text index for SEARCH. Queries can search each of the properties, or all of them together.
  public static func index(_ name: String, fullText properties: String...) -> EntityOption {
    index(name, properties.map { .fullText($0) }, nil)
  }
  private static func index(_ name: String, _ elements: [FetchIndexElement], _ predicate: String?) -> EntityOption {
    EntityOption { $0.indexes.append(FetchIndexDescription(name: name, elements: elements, partialIndexPredicate: predicate)) }
  }
  /// Sets the expression, in format language, for the name that the system's search displays for an object. The application's own indexer
  /// evaluates it.
  public static func spotlightName(_ expression: String) -> EntityOption {
    EntityOption { $0.coreSpotlightDisplayNameExpression = expression }
  }
  /// Specifies the entity's name in an earlier version of the model.
  public static func renamed(from name: String) -> EntityOption { EntityOption { $0.renamingIdentifier = name } }
  /// Adds a text that changes the version hash when nothing else does.
  public static func hashModifier(_ text: String) -> EntityOption { EntityOption { $0.versionHashModifier = text } }
  /// Adds an entry to the user info.
  public static func userInfo(_ key: String, _ value: String) -> EntityOption { EntityOption { $0.userInfo[key] = value } }
}
