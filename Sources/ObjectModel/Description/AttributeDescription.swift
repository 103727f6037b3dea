/// An attribute of an ``EntityDescription``: its type, default value, bounds and storage options.
///
/// ```swift
/// var title = AttributeDescription(name: "title", type: .string)
/// title.validation.maximumLength = 80
/// title.isOptional = true
/// ```
public struct AttributeDescription: Sendable, Hashable {
  /// The attribute's name, unique in its entity.
  public var name: String
  /// The type of its values.
  public var type: AttributeType
  /// Whether the value may be null when the object is saved.
  public var isOptional: Bool
  /// Whether the value exists in memory only.
  public var isTransient = false
  /// The value of a new object; null for none.
  public var defaultValue: Slot
  /// The bounds that validation checks.
  public var validation = AttributeValidation()
  /// The name of the ``CompositeDescription`` of a `composite` attribute; nil otherwise.
  public var compositeName: String?
  /// The name of an ``AttributeTransformer`` of a `transformable` attribute; nil for the default, which stores `Codable` values as JSON.
  public var valueTransformerName: String?
  /// For a `transformable` attribute, the Swift type in typed classes. For other attributes, a type with raw values, such as an
  /// enumeration.
  public var valueClassName: String?
  /// Whether typed classes use a Swift scalar. Kept for the model file; generated classes always use one.
  public var usesScalarValueType = true
  /// Whether large values may be stored in files next to the store.
  public var allowsExternalBinaryDataStorage = false
  /// Whether the value should be encrypted before it is mirrored to other devices.
  public var allowsCloudEncryption = false
  /// Whether the value is copied into the history when the object is deleted.
  public var preservesValueInHistoryOnDeletion = false
  /// Whether system search should index the attribute. For an indexer of the application; the library has none.
  public var isIndexedBySpotlight = false
  /// Whether a model from before 2017 requests an index of this attribute; see `EntityDescription.effectiveIndexes`.
  public var isIndexed = false
  /// The expression of a derived attribute.
  public var derivationExpression: String?
  /// The predicate, in format language, for the members that an aggregate of a derived attribute includes; nil for all. It applies to
  /// attributes of the objects in the to-many relationship of ``derivationExpression``. Stored in model files as `derivationFilter`, which
  /// Core Data's editor may keep or remove.
  public var derivationFilter: String?
  /// The name of the property in an earlier version of the model. After several renamings, use the first name: it identifies the property in
  /// all stores, those created with this version and those migrated to it.
  public var renamingIdentifier: String?
  /// A string that changes the version hash, even if nothing else changes.
  public var versionHashModifier: String?
  /// Application-defined values.
  public var userInfo: [String: String] = [:]
  /// Parts of the model file that the other properties do not represent.
  package var preserved = PreservedXML()

  /// Creates an attribute.
  ///
  /// - Parameters:
  ///   - name: The attribute's name.
  ///   - type: The type of its values.
  ///   - isOptional: Whether an object can be saved without a value.
  ///   - defaultValue: The value of a new object.
  public init(name: String, type: AttributeType, isOptional: Bool = false, defaultValue: Slot = .null) {
    self.name = name
    self.type = type
    self.isOptional = isOptional
    self.defaultValue = defaultValue
  }
}

/// The bounds of an attribute's values. Bounds are inclusive; nil means unbounded. A missing value satisfies all bounds.
///
/// ```swift
/// var isbn = AttributeDescription(name: "isbn", type: .string, isOptional: true)
/// isbn.validation.pattern = "[0-9]{13}"
/// var pages = AttributeDescription(name: "pages", type: .integer32)
/// pages.validation.minimum = .int(1)
/// ```
///
/// A save checks the bounds of inserted and updated objects, and throws ``ValidationError`` for violations. Changed bounds in a model do
/// not affect values that are already stored. A bound that the attribute's type does not support makes the model invalid, see
/// ``ModelValidationError``. A pattern that is not a regular expression is ignored and reported as a warning of the model.
public struct AttributeValidation: Sendable, Hashable {
  /// The minimum number or earliest date, in the storage form of the attribute's type.
  public var minimum: Slot?
  /// The maximum number or latest date.
  public var maximum: Slot?
  /// The minimum number of characters of a string.
  public var minimumLength: Int?
  /// The maximum number of characters of a string.
  public var maximumLength: Int?
  /// A regular expression that the whole string must match.
  public var pattern: String?

  /// Creates a validation without bounds.
  public init() {}

  /// Whether there are no bounds.
  package var isEmpty: Bool {
    minimum == nil && maximum == nil && minimumLength == nil && maximumLength == nil && pattern == nil
  }
}

/// A composite type: a named group of attributes, which can be composites themselves.
///
/// An attribute of the type ``AttributeType/composite`` refers to it by ``AttributeDescription/compositeName``. Each part has its own
/// column, and a name in key paths, such as `home.city`.
public struct CompositeDescription: Sendable, Hashable {
  /// The name, unique among the model's composites.
  public var name: String
  /// The parts.
  public var elements: [AttributeDescription]
  /// Application-defined values.
  public var userInfo: [String: String] = [:]
  /// Parts of the model file that the other properties do not represent.
  package var preserved = PreservedXML()

  /// Creates a composite type.
  public init(name: String, elements: [AttributeDescription] = []) {
    self.name = name
    self.elements = elements
  }
}
