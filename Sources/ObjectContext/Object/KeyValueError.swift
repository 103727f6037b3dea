// KeyValueError: what can go wrong when properties are named by strings.
package import ObjectModel

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
/// ``ManagedObjectMembers/value(forKey:)``, ``ManagedObjectMembers/setValue(_:forKey:)`` and those like them throw it, and nothing was changed. It never holds a value.
public struct KeyValueError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kinds of errors.
  public enum Code: Sendable, Hashable, CaseIterable {
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

  package init(_ code: Code, key: String, entityName: String, detail: String? = nil) {
    self.code = code
    self.key = key
    self.entityName = entityName
    self.detail = detail
  }

  /// The error of a key that is no property of an entity, with the one that may have been meant.
  ///
  /// - Parameter isRelationship: Whether only relationships are asked for.
  package init(unknown key: String, of entity: CompiledEntity, isRelationship: Bool = false) {
    guard isRelationship else {
      self.init(.unknownKey, key: key, entityName: entity.name, detail: CloseName.advice(for: key, among: entity.propertyNames))
      return
    }
    let names = entity.propertyNames.filter { name in
      switch entity.property(named: name) {
      case .toOne, .toMany: true
      case .attribute, .composite, .fetched, nil: false
      }
    }
    let isOfOtherKind = names.contains(key)
    self.init(
      .unknownRelationship, key: key, entityName: entity.name,
      detail: isOfOtherKind
        ? "to-one, to-many and ordered relationships have functions of their own" : CloseName.advice(for: key, among: names))
  }

  /// The error of a value that a property does not take.
  init(setting key: String, of entity: CompiledEntity, to value: Any?, expected: String) {
    self.init(.wrongType, key: key, entityName: entity.name, detail: Self.difference(of: value, from: expected))
  }

  /// The error of a value that is read as a type that it has not.
  init(reading key: String, of entity: CompiledEntity, a value: Any, as type: Any.Type) {
    self.init(.wrongType, key: key, entityName: entity.name, detail: "it is of the type \(Swift.type(of: value)), and is read as \(type)")
  }

  /// What was given where something else is expected: types, never a value.
  static func difference(of value: Any?, from expected: String) -> String {
    let given = AttributeConversion.unwrapped(value).map { "\(type(of: $0))" } ?? "nil"
    return "it takes \(expected), and was given \(given)"
  }

  /// What is wrong, in a sentence.
  public var description: String {
    let text =
      switch code {
      case .unknownKey: "the entity “\(entityName)” has no property “\(key)”"
      case .unknownRelationship: "the entity “\(entityName)” has no relationship “\(key)”"
      case .notAnObject: "“\(entityName).\(key)” is no to-one relationship, so the key path cannot go on behind it"
      case .wrongType: "“\(entityName).\(key)” has another type"
      case .outOfRange: "the number does not fit at “\(entityName).\(key)”"
      case .readOnly: "“\(entityName).\(key)” cannot be set"
      case .transformFailed: "the transformer of “\(entityName).\(key)” failed"
      }
    return detail.map { "\(text): \($0)" } ?? text
  }
}
