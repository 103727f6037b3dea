// Attribute: an attribute declared in Swift.
import Foundation

/// An attribute in an entity declared in Swift. By default it is optional, and has no default value and no bounds.
///
/// ```swift
/// Attribute("title", .string).required().length(1...80)
/// Attribute("pages", Int32.self).initially(Int32(0)).range(Int32(0)...)
/// ```
///
/// Saves and batch requests check the bounds: they throw ``ValidationError`` and ``BatchError``.
public struct Attribute: EntityComponent {
  private var attribute: AttributeDescription
  /// The attribute's name.
  package var name: String { attribute.name }

  /// An attribute of a type.
  public init(_ name: String, _ type: AttributeType) {
    attribute = AttributeDescription(name: name, type: type, isOptional: true)
  }

  /// An attribute of the type that holds a Swift type.
  public init(_ name: String, _ type: (some AttributeValue).Type) {
    self.init(name, type._attributeType)
  }

  /// An attribute that holds values of a `Codable` type, or of what a registered transformer takes.
  ///
  /// - Parameters:
  ///   - name: The attribute's name.
  ///   - type: The type of its values.
  ///   - transformer: The name under which a transformer is registered; nil for JSON of a `Codable` type.
  public init<Value>(_ name: String, transforming type: Value.Type, by transformer: String? = nil) {
    self.init(name, .transformable)
    attribute.valueClassName = "\(type)"
    attribute.valueTransformerName = transformer
  }

  /// An attribute that holds a composite value of a kind that the model declares with ``Composite``.
  public init(_ name: String, composite: String) {
    self.init(name, .composite)
    attribute.compositeName = composite
  }

  /// An attribute that holds the raw values of a type, such as an enumeration.
  public init<Value: RawRepresentable>(_ name: String, raw type: Value.Type) where Value.RawValue: AttributeValue {
    self.init(name, Value.RawValue._attributeType)
    attribute.valueClassName = "\(type)"
  }

  /// The attribute must have a value when the object is saved.
  public func required() -> Attribute { changed { $0.isOptional = false } }
  /// The value that a new object starts with. Every numeric type takes whole numbers.
  public func initially(_ value: some AttributeValue) -> Attribute { changed { $0.defaultValue = Self.slot(value, for: $0.type) } }
  /// The value of a type with raw values that a new object starts with.
  public func initially<Value: RawRepresentable>(_ value: Value) -> Attribute where Value.RawValue: AttributeValue {
    initially(value.rawValue)
  }
  /// The least and the greatest number or date: `0...9`, `0...` or `...9`.
  public func range<Value: AttributeValue & Comparable>(_ range: some ValidationBounds<Value>) -> Attribute {
    changed { attribute in
      let type = attribute.type
      if let least = range._minimum { attribute.validation.minimum = Self.slot(least, for: type) }
      if let greatest = range._maximum { attribute.validation.maximum = Self.slot(greatest, for: type) }
    }
  }
  /// The least and the greatest number of characters: `1...80`, `1...` or `...80`.
  public func length(_ range: some ValidationBounds<Int>) -> Attribute {
    changed {
      if let least = range._minimum { $0.validation.minimumLength = least }
      if let greatest = range._maximum { $0.validation.maximumLength = greatest }
    }
  }
  /// A regular expression that the whole string must match.
  public func matching(_ pattern: String) -> Attribute { changed { $0.validation.pattern = pattern } }
  /// The attribute is kept in memory only.
  public func transient() -> Attribute { changed { $0.isTransient = true } }
  /// Large values may be kept in files beside the store.
  public func externalStorage() -> Attribute { changed { $0.allowsExternalBinaryDataStorage = true } }
  /// The value is sealed before it is mirrored to other devices: a mark for the application's own mirroring.
  public func allowsCloudEncryption() -> Attribute { changed { $0.allowsCloudEncryption = true } }
  /// The value is computed from an expression in format language.
  ///
  /// - Parameters:
  ///   - expression: A path, a function of one, an aggregate such as `messages.@count`, or `now()`.
  ///   - filter: Which members an aggregate takes, as a predicate on their own attributes such as `isRead == NO`; nil for all.
  public func derived(_ expression: String, where filter: String? = nil) -> Attribute {
    changed {
      $0.derivationExpression = expression
      $0.derivationFilter = filter
    }
  }
  /// The value is copied into the history of the object's deletion.
  public func preservedOnDeletion() -> Attribute { changed { $0.preservesValueInHistoryOnDeletion = true } }
  /// System search indexes the attribute: a mark for the application's own indexer.
  public func indexedBySpotlight() -> Attribute { changed { $0.isIndexedBySpotlight = true } }
  /// What the attribute was called in an earlier version of the model.
  public func renamed(from name: String) -> Attribute { changed { $0.renamingIdentifier = name } }
  /// Text that changes the version hash when nothing else does.
  public func hashModifier(_ text: String) -> Attribute { changed { $0.versionHashModifier = text } }
  /// Adds a note of the application.
  public func note(_ key: String, _ value: String) -> Attribute { changed { $0.userInfo[key] = value } }

  /// The name of the transformer of a transformable attribute.
  package var transformerName: String? { attribute.valueTransformerName }

  /// The attribute with the name of a transformer.
  package func transformed(by name: String) -> Attribute { changed { $0.valueTransformerName = name } }

  private func changed(_ change: (inout AttributeDescription) -> Void) -> Attribute {
    var copy = self
    change(&copy.attribute)
    return copy
  }

  /// A value as the attribute's type holds it, so that `initially(0)` does for a decimal as well; other kinds are left for validation.
  private static func slot(_ value: some AttributeValue, for type: AttributeType) -> Slot {
    switch (value._slot, type) {
    case (.int(let number), .double), (.int(let number), .float): .real(Double(number))
    case (.int(let number), .decimal) where !(value is Bool): Decimal(number)._slot
    case (.real(let number), .decimal) where !(value is Date):
      DecimalCoding.decimal(shortest: number).map(\._slot) ?? .real(number)
    case (.real(let number), .float): .real(Double(Float(number)))
    case (let slot, _): slot
    }
  }

  /// Adds the attribute to an entity.
  public func _add(to entity: inout EntityDescription) { entity.properties.append(.attribute(attribute)) }
}
