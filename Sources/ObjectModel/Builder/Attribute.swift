import Foundation

/// An attribute of an entity declared in Swift. By default it is optional and has no default value and no bounds.
///
/// ```swift
/// Attribute("title", .string).required().length(1...80)
/// Attribute("pages", Int32.self).initially(Int32(0)).range(Int32(0)...)
/// ```
///
/// Saves and batch requests check the bounds and throw ``ValidationError`` and ``BatchError``.
public struct Attribute: EntityComponent {
  private var attribute: AttributeDescription
  /// The attribute's name.
  package var name: String { attribute.name }

  /// Creates an attribute of a type.
  public init(_ name: String, _ type: AttributeType) {
    attribute = AttributeDescription(name: name, type: type, isOptional: true)
  }

  /// Creates an attribute of the type that stores a Swift type.
  public init(_ name: String, _ type: (some AttributeValue).Type) {
    self.init(name, type.attributeType)
  }

  /// Creates an attribute with values of a `Codable` type, or of the type of a registered transformer.
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

  /// Creates an attribute of a composite type that the model declares with ``Composite``.
  public init(_ name: String, composite: String) {
    self.init(name, .composite)
    attribute.compositeName = composite
  }

  /// Creates an attribute that stores the raw values of a type, such as an enumeration.
  public init<Value: RawRepresentable>(_ name: String, raw type: Value.Type) where Value.RawValue: AttributeValue {
    self.init(name, Value.RawValue.attributeType)
    attribute.valueClassName = "\(type)"
  }

  /// Requires a value when the object is saved.
  public func required() -> Attribute { changed { $0.isOptional = false } }
  /// Sets the value of a new object. All numeric types accept whole numbers.
  public func initially(_ value: some AttributeValue) -> Attribute { changed { $0.defaultValue = Self.slot(value, for: $0.type) } }
  /// Sets the value of a new object, as a type with raw values.
  public func initially<Value: RawRepresentable>(_ value: Value) -> Attribute where Value.RawValue: AttributeValue {
    initially(value.rawValue)
  }
  /// Sets the minimum and maximum number or date: `0...9`, `0...` or `...9`.
  public func range<Value: AttributeValue & Comparable>(_ range: some ValidationBounds<Value>) -> Attribute {
    changed { attribute in
      let type = attribute.type
      if let least = range.minimum { attribute.validation.minimum = Self.slot(least, for: type) }
      if let maximum = range.maximum { attribute.validation.maximum = Self.slot(maximum, for: type) }
    }
  }
  /// Sets the minimum and maximum number of characters: `1...80`, `1...` or `...80`.
  public func length(_ range: some ValidationBounds<Int>) -> Attribute {
    changed {
      if let least = range.minimum { $0.validation.minimumLength = least }
      if let maximum = range.maximum { $0.validation.maximumLength = maximum }
    }
  }
  /// Sets a regular expression that must match the whole string.
  public func matching(_ pattern: String) -> Attribute { changed { $0.validation.pattern = pattern } }
  /// Keeps the attribute in memory only.
  public func transient() -> Attribute { changed { $0.isTransient = true } }
  /// Allows storing large values in files next to the store.
  public func externalStorage() -> Attribute { changed { $0.allowsExternalBinaryDataStorage = true } }
  /// Marks the value for encryption before it is mirrored to other devices by the application.
  public func allowsCloudEncryption() -> Attribute { changed { $0.allowsCloudEncryption = true } }
  /// Computes the value from an expression in format language.
  ///
  /// - Parameters:
  ///   - expression: A path, a function of a path, an aggregate such as `messages.@count`, or `now()`.
  ///   - filter: The predicate for the members that an aggregate includes, on their own attributes, such as `isRead == NO`; nil for all.
  public func derived(_ expression: String, where filter: String? = nil) -> Attribute {
    changed {
      $0.derivationExpression = expression
      $0.derivationFilter = filter
    }
  }
  /// Sets how concurrent changes of the value on several devices are merged by synchronization.
  public func syncMergeRule(_ rule: SyncMergeRule) -> Attribute { changed { $0.syncMergeRule = rule } }
  /// Copies the value into the history when the object is deleted.
  public func preservedOnDeletion() -> Attribute { changed { $0.preservesValueInHistoryOnDeletion = true } }
  /// Marks the attribute for an indexer of the application for system search.
  public func indexedBySpotlight() -> Attribute { changed { $0.isIndexedBySpotlight = true } }
  /// What the attribute was called in an earlier version of the model.
  public func renamed(from name: String) -> Attribute { changed { $0.renamingIdentifier = name } }
  /// Sets a string that changes the version hash, even if nothing else changes.
  public func hashModifier(_ text: String) -> Attribute { changed { $0.versionHashModifier = text } }
  /// Adds a user info entry.
  public func userInfo(_ key: String, _ value: String) -> Attribute { changed { $0.userInfo[key] = value } }

  /// The name of the transformer of a transformable attribute.
  package var transformerName: String? { attribute.valueTransformerName }

  /// Returns the attribute with a transformer name.
  package func transformed(by name: String) -> Attribute { changed { $0.valueTransformerName = name } }

  private func changed(_ change: (inout AttributeDescription) -> Void) -> Attribute {
    var copy = self
    change(&copy.attribute)
    return copy
  }

  /// Converts a value to the storage form of the attribute's type, so that `initially(0)` also works for a decimal. Other mismatches are
  /// left to validation.
  private static func slot(_ value: some AttributeValue, for type: AttributeType) -> Slot {
    switch (value.slot, type.traits.number) {
    case (.int(let number), .double), (.int(let number), .single): .real(Double(number))
    case (.int(let number), .decimal) where !(value is Bool): Decimal(number).slot
    case (.real(let number), .decimal) where !(value is Date):
      DecimalCoding.encode(representable: number).map { .bytes($0) } ?? .real(number)
    case (.real(let number), .single): .real(Double(Float(number)))
    case (let slot, _): slot
    }
  }

  /// Adds the attribute to an entity.
  @_spi(Generated) public func add(to entity: inout EntityDescription) { entity.properties.append(.attribute(attribute)) }
}

/// A range that bounds numbers, dates, lengths or counts, with a minimum, a maximum or both, such as `1...80`, `0...` and `...5000`.
public protocol ValidationBounds<Bound> {
  /// The type of the bounds.
  associatedtype Bound
  /// The minimum; nil if unbounded.
  @_spi(Generated) var minimum: Bound? { get }
  /// The maximum; nil if unbounded.
  @_spi(Generated) var maximum: Bound? { get }
}

extension ValidationBounds {
  /// Nil: unbounded.
  @_spi(Generated) public var minimum: Bound? { nil }
  /// Nil: unbounded.
  @_spi(Generated) public var maximum: Bound? { nil }
}

extension ClosedRange: ValidationBounds {
  /// The minimum.
  @_spi(Generated) public var minimum: Bound? { lowerBound }
  /// The maximum.
  @_spi(Generated) public var maximum: Bound? { upperBound }
}

extension PartialRangeFrom: ValidationBounds {
  /// The minimum.
  @_spi(Generated) public var minimum: Bound? { lowerBound }
}

extension PartialRangeThrough: ValidationBounds {
  /// The maximum.
  @_spi(Generated) public var maximum: Bound? { upperBound }
}
