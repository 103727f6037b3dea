// AttributeDescription: a value property of an entity.
/// An attribute of an entity: its type, its default value, its bounds, and how it is stored. It is a value, which an ``EntityDescription``
/// holds.
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
  /// Whether it may have no value when the object is saved.
  public var isOptional: Bool
  /// Whether it is kept in memory only.
  public var isTransient = false
  /// The value that a new object starts with; null for none.
  public var defaultValue: Slot
  /// The bounds that validation checks.
  public var validation = AttributeValidation()
  /// The name of the ``CompositeDescription`` of a `composite` attribute; nil otherwise.
  public var compositeName: String?
  /// The name of the `ValueTransformer` of a `transformable` attribute; nil for the default, which stores `Codable` values as JSON.
  public var valueTransformerName: String?
  /// The Swift type of a `transformable` attribute, for typed classes; of another attribute, the type whose raw values it holds, such as an enumeration.
  public var valueClassName: String?
  /// Whether typed classes use a Swift scalar. It is kept for the model file; generated classes always use one.
  public var usesScalarValueType = true
  /// Whether large values may be kept in files beside the store.
  public var allowsExternalBinaryDataStorage = false
  /// Whether the value is sealed before it is mirrored to other devices.
  public var allowsCloudEncryption = false
  /// Whether the value is copied into the history of the object's deletion.
  public var preservesValueInHistoryOnDeletion = false
  /// Whether system search indexes the attribute. It is for an indexer of the application's own: the library has none.
  public var isIndexedBySpotlight = false
  /// Whether a model of before 2017 asks for an index of the attribute alone; see `EntityDescription.effectiveIndexes`.
  public var isIndexed = false
  /// The expression of a derived attribute.
  public var derivationExpression: String?
  /// The predicate, in format language, of the members that an aggregate of a derived attribute takes; nil for all. It asks about the attributes of
  /// the objects that the to-many relationship of ``derivationExpression`` leads to. A model file has it as `derivationFilter`, which Core Data's editor may
  /// keep or leave out.
  public var derivationFilter: String?
  /// What the property was called in an earlier version of the model.
  public var renamingIdentifier: String?
  /// Text that changes the version hash when nothing else does.
  public var versionHashModifier: String?
  /// Notes of the application.
  public var userInfo: [String: String] = [:]
  /// What a model file says beyond the other properties.
  package var preserved = PreservedXML()

  /// Makes an attribute.
  ///
  /// - Parameters:
  ///   - name: The attribute's name.
  ///   - type: The type of its values.
  ///   - isOptional: Whether an object may be saved without a value.
  ///   - defaultValue: The value of a new object.
  public init(name: String, type: AttributeType, isOptional: Bool = false, defaultValue: Slot = .null) {
    self.name = name
    self.type = type
    self.isOptional = isOptional
    self.defaultValue = defaultValue
  }
}

/// The bounds of an attribute's values. Bounds are inclusive, nil stands for none, and a missing value passes all of them.
///
/// ```swift
/// var isbn = AttributeDescription(name: "isbn", type: .string, isOptional: true)
/// isbn.validation.pattern = "[0-9]{13}"
/// var pages = AttributeDescription(name: "pages", type: .integer32)
/// pages.validation.minimum = .int(1)
/// ```
///
/// A save checks the bounds of the objects that it inserts and updates, and throws ``ValidationError`` for those that break them. Values that are stored
/// already are not checked when a model gets other bounds. A bound that the attribute's type cannot have is a mistake of the model, which is refused with
/// ``ModelValidationError``; a pattern that is not a regular expression is not checked, and a warning of the model says so.
public struct AttributeValidation: Sendable, Hashable {
  /// The least number or earliest date, as the attribute's type holds it.
  public var minimum: Slot?
  /// The greatest number or latest date.
  public var maximum: Slot?
  /// The least number of characters of a string.
  public var minimumLength: Int?
  /// The greatest number of characters of a string.
  public var maximumLength: Int?
  /// A regular expression that the whole string must match.
  public var pattern: String?

  /// No bounds.
  public init() {}

  /// Whether there are no bounds.
  package var isEmpty: Bool {
    minimum == nil && maximum == nil && minimumLength == nil && maximumLength == nil && pattern == nil
  }
}
