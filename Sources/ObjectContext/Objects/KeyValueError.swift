public import Foundation
package import ObjectModel

/// An error of accessing a property by its name: the entity has no such property, or the property cannot hold the value.
///
/// ```swift
/// do {
///   try book.setValue("three hundred", forKey: "pages")
/// } catch let error as KeyValueError where error.code == .wrongType {
///   print("\(error.entityName).\(error.key) takes another type")
/// }
/// ```
///
/// ``ManagedObjectMembers/value(forKey:)``, ``ManagedObjectMembers/setValue(_:forKey:)``, and related methods throw it. The object is then
/// unchanged. The error never contains a value.
public struct KeyValueError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of a key-value error.
  public enum Code: Sendable, Hashable, CaseIterable {
    /// The entity has no property with the name.
    case unknownKey
    /// The entity has no relationship with the name.
    case unknownRelationship
    /// A key path continues after a property that is not a to-one relationship.
    case notAnObject
    /// The value's type differs from the property's.
    case wrongType
    /// The number exceeds the range of the attribute's type.
    case outOfRange
    /// The property is read-only.
    case readOnly
    /// The attribute's transformer failed.
    case transformFailed
  }

  /// The kind of the error.
  public let code: Code
  /// The key that was used.
  public let key: String
  /// The name of the entity.
  public let entityName: String
  /// Details about the error, if available.
  public let detail: String?

  package init(_ code: Code, key: String, entityName: String, detail: String? = nil) {
    self.code = code
    self.key = key
    self.entityName = entityName
    self.detail = detail
  }

  /// Creates the error for an unknown key and suggests the closest property name.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - entity: The entity.
  ///   - isRelationship: Whether the key must name a relationship.
  package init(unknown key: String, of entity: CompiledEntity, isRelationship: Bool = false) {
    guard isRelationship else {
      self.init(.unknownKey, key: key, entityName: entity.name, detail: SimilarName.advice(for: key, among: entity.propertyNames))
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
        ? "to-one, to-many and ordered relationships have functions of their own" : SimilarName.advice(for: key, among: names))
  }

  init(setting key: String, of entity: CompiledEntity, to value: Any?, expected: String) {
    self.init(.wrongType, key: key, entityName: entity.name, detail: Self.difference(of: value, from: expected))
  }

  init(reading key: String, of entity: CompiledEntity, a value: Any, as type: Any.Type) {
    self.init(.wrongType, key: key, entityName: entity.name, detail: "it is of the type \(Swift.type(of: value)), but is read as \(type)")
  }

  /// Describes the expected and the actual type, never the value.
  static func difference(of value: Any?, from expected: String) -> String {
    let given = AttributeConversion.unwrapped(value).map { "\(type(of: $0))" } ?? "nil"
    return "it takes \(expected), and was given \(given)"
  }

  /// A description of the error.
  public var description: String {
    let text =
      switch code {
      case .unknownKey: "the entity “\(entityName)” has no property “\(key)”"
      case .unknownRelationship: "the entity “\(entityName)” has no relationship “\(key)”"
      case .notAnObject: "“\(entityName).\(key)” is not a to-one relationship, so the key path cannot continue after it"
      case .wrongType: "“\(entityName).\(key)” has another type"
      case .outOfRange: "the number is out of range for “\(entityName).\(key)”"
      case .readOnly: "“\(entityName).\(key)” cannot be set"
      case .transformFailed: "the transformer of “\(entityName).\(key)” failed"
      }
    return detail.map { "\(text): \($0)" } ?? text
  }
}

// MARK: - Advice

extension KeyValueError: LocalizedError {}

extension KeyValueError: AdvisedError {
  package var advice: ErrorAdvice { code.advice }
}

extension KeyValueError.Code {
  /// The advice for an application's user and its developer.
  package var advice: ErrorAdvice {
    switch self {
    case .unknownKey:
      ErrorAdvice(user: "This is not possible.", developer: "Correct the key; the description suggests the closest key or lists all keys.")
    case .unknownRelationship:
      ErrorAdvice(user: "This is not possible.", developer: "Correct the key; the description suggests the closest key or lists all keys.")
    case .notAnObject:
      ErrorAdvice(
        user: "This is not possible.",
        developer: "End the key path at the property, or use a collection operator such as @count after a to-many relationship.")
    case .wrongType:
      ErrorAdvice(user: "A value has the wrong type.", developer: "Use a value of the type in the description, or convert it first.")
    case .outOfRange:
      ErrorAdvice(
        user: "A number is too large or too small.",
        developer: "Use a number in the range of the attribute's type, or give the attribute a wider type in the model.")
    case .readOnly:
      ErrorAdvice(
        user: "This cannot be changed.",
        developer: "Derived and fetched properties are computed: change the properties that they depend on.")
    case .transformFailed:
      ErrorAdvice(
        user: "A value cannot be used.",
        developer: "Check the attribute's transformer, and register it before the store is opened.")
    }
  }
}
