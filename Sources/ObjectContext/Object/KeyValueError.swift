// KeyValueError: what can go wrong when properties are named by strings.

/// What went wrong when a property was named by a string: the entity has no such property, or the value is of a type that the property cannot hold.
///
/// ```swift
/// do {
///   try book.setValue("three hundred", forKey: "pages")
/// } catch let error as KeyValueError where error.code == .wrongType {
///   print("\(error.entityName).\(error.key) takes another type")
/// }
/// ```
///
/// ``ManagedObject/value(forKey:)``, ``ManagedObject/setValue(_:forKey:)`` and those like them throw it, and nothing was changed. It never holds a value.
public struct KeyValueError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kinds of errors.
  public enum Code: Sendable, Hashable {
    /// The entity has no such property.
    case unknownKey
    /// The entity has no such relationship.
    case unknownRelationship
    /// A key path goes on behind something that is not a to-one relationship.
    case notAnObject
    /// The value has another type than the property.
    case wrongType
    /// The number does not fit into the attribute's type.
    case outOfRange
    /// The property cannot be set.
    case readOnly
    /// The attribute's transformer failed.
    case transformFailed
  }

  /// The kind.
  public let code: Code
  /// The key.
  public let key: String
  /// The entity.
  public let entityName: String
  /// What more is known.
  public let detail: String?

  init(_ code: Code, key: String, entityName: String, detail: String? = nil) {
    self.code = code
    self.key = key
    self.entityName = entityName
    self.detail = detail
  }

  /// What is wrong, in a sentence.
  public var description: String {
    let text =
      switch code {
      case .unknownKey: "the entity “\(entityName)” has no property “\(key)”"
      case .unknownRelationship: "the entity “\(entityName)” has no relationship “\(key)”"
      case .notAnObject: "“\(entityName).\(key)” is no to-one relationship, so the key path cannot go on behind it"
      case .wrongType: "“\(entityName).\(key)” was given a value of another type"
      case .outOfRange: "“\(entityName).\(key)” was given a number that its type cannot hold"
      case .readOnly: "“\(entityName).\(key)” cannot be set"
      case .transformFailed: "the transformer of “\(entityName).\(key)” failed"
      }
    return detail.map { "\(text): \($0)" } ?? text
  }
}
