import Foundation
import ObjectModel
import ObjectStore

extension ManagedObject {
  /// Runs a validation hook on the value of a required attribute. Called by generated overrides of ``validateValue(_:forKey:)``.
  ///
  /// The hook is not called for a missing value, which the model's rules report. A value that the hook assigns replaces the original.
  ///
  /// ```swift
  /// override func validateValue(_ value: inout Any?, forKey key: String) throws {
  ///   if key == "title" { try validate(&value, forKey: key, by: validateTitle) }
  ///   try super.validateValue(&value, forKey: key)
  /// }
  /// func validateTitle(_ value: inout String) throws { value = value.trimmingCharacters(in: .whitespaces) }
  /// ```
  ///
  /// - Parameters:
  ///   - value: The value, as ``ManagedObjectMembers/value(forKey:)`` returns it.
  ///   - key: The attribute.
  ///   - hook: The rule. Its type is the attribute's Swift type, an enumeration of its raw values, or the type of a transformable
  ///     attribute.
  /// - Throws: The errors of the hook; ``KeyValueError`` if the value has another type.
  public final func validate<Value>(_ value: inout Any?, forKey key: String, by hook: (inout Value) throws -> Void) throws {
    guard var typed: Value = try typedValue(value, forKey: key) else { return }
    try hook(&typed)
    value = Self.untyped(typed)
  }

  /// Runs a validation hook on the value of an optional attribute or to-one relationship. A missing value is nil. See
  /// ``validate(_:forKey:by:)``.
  ///
  /// - Parameters:
  ///   - value: The value, which the hook may change.
  ///   - key: The property's name.
  ///   - hook: The rule, with the type of the property.
  /// - Throws: The errors of the hook; ``KeyValueError`` if the value has another type.
  public final func validateOptional<Value>(_ value: inout Any?, forKey key: String, by hook: (inout Value?) throws -> Void) throws {
    var typed: Value? = try typedValue(value, forKey: key)
    try hook(&typed)
    value = typed.map(Self.untyped)
  }

  /// Converts an attribute value to the type of the generated property.
  private func typedValue<Value>(_ value: Any?, forKey key: String) throws -> Value? {
    guard let value = AttributeConversion.unwrapped(value) else { return nil }
    if let typed = value as? Value { return typed }
    if case .attribute(let slot) = compiledEntity.property(named: key), let attribute = slot.attribute {
      let stored = try slotValue(from: value, for: slot)
      do { return try AttributeConversion.value(of: stored, attribute, as: Value.self) } catch {
        let code: KeyValueError.Code = attribute.type == .transformable ? .transformFailed : .wrongType
        throw KeyValueError(code, key: key, entityName: compiledEntity.name, detail: error.description)
      }
    }
    throw KeyValueError(setting: key, of: compiledEntity, to: value, expected: "\(Value.self)")
  }

  /// Replaces an enumeration value with its raw value, which the attribute stores.
  private static func untyped<Value>(_ value: Value) -> Any {
    if value is any AttributeValue { return value }
    if let value = value as? any RawRepresentable { return value.rawValue }
    return value
  }
}
