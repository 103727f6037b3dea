import Foundation

/// Converts values of type `Any` to slots.
package enum AttributeConversion {
  /// The reason why a value cannot be converted.
  package enum Failure: Error, Sendable, Hashable {
    /// The value has another type.
    case wrongType
    /// The number is out of the range of the attribute's type.
    case outOfRange
    /// The attribute's transformer failed.
    case transformFailed(String)
  }

  /// Returns the content of an optional in an `Any`.
  package static func unwrapped(_ value: Any?) -> Any? {
    guard let value else { return nil }
    if let optional = value as? any AnyOptional { return optional.wrapped }
    return value
  }

  /// Converts a value to the slot of an attribute. Integers can have any integer type.
  package static func slot(from value: Any?, for slot: CompiledSlot) throws(Failure) -> Slot {
    guard let value = unwrapped(value) else { return .null }
    guard let attribute = slot.attribute else { throw .wrongType }
    if attribute.type == .transformable { return try transformed(value, attribute) }
    let traits = attribute.type.traits
    if let number = traits.number, let result = try self.number(value, number, traits) { return result }
    // A value of any type can be a number that only its content gives a type.
    if let result = traits.slot(of: traits.swiftType == nil ? number(in: value) ?? value : value) { return result }
    guard traits.resolvedType == .binary, let bytes = value as? [UInt8] else { throw .wrongType }
    return .bytes(Data(bytes))
  }

  /// Converts a number to the slot of a numeric attribute; nil if the value is not a number that the attribute accepts.
  private static func number(_ value: Any, _ form: NumberForm, _ traits: AttributeTypeTraits) throws(Failure) -> Slot? {
    switch form {
    case .integer(let range):
      if traits.resolvedType == .boolean, let value = value as? Bool { return value.slot }
      guard let number = integer(value) else { return nil }
      guard let number, range.contains(number) else {
        if traits.resolvedType == .boolean { return nil }
        throw .outOfRange
      }
      return .int(number)
    case .double, .single:
      if let value = value as? Double { return form == .single ? try float(value).slot : value.slot }
      if let value = value as? Float { return value.slot }
      guard case .some(.some(let number)) = integer(value) else { return nil }
      return .real(Double(number))
    case .decimal:
      if let value = value as? Decimal { return value.slot }
      if case .some(.some(let number)) = integer(value) { return Decimal(number).slot }
      guard let value = value as? Double ?? (value as? Float).map(Double.init) else { return nil }
      if value.isNaN { return Decimal.nan.slot }
      // The conversion is that of predicates, so that they find the value.
      guard let coding = DecimalCoding.encode(representable: value) else { throw .outOfRange }
      return .bytes(coding)
    }
  }

  /// Returns the Swift type that an attribute accepts, as part of a message.
  package static func expectation(of slot: CompiledSlot) -> String {
    guard let type = slot.attributeType else { return "an object" }
    return "\(type.traits.expectation) (\(type.rawValue))"
  }

  private static func transformed(_ value: Any, _ attribute: AttributeDescription) throws(Failure) -> Slot {
    let hasTransformer = attribute.valueTransformerName.map { AttributeTransformers.transformer(forName: $0) != nil } ?? false
    if !hasTransformer, let data = value as? Data { return .bytes(data) }
    do { return .bytes(try AttributeTransformers.data(from: value, transformerName: attribute.valueTransformerName)) } catch {
      throw .transformFailed(error.description)
    }
  }

  /// Converts a number to `Float`, unless it is out of range.
  private static func float(_ value: Double) throws(Failure) -> Float {
    let float = Float(value)
    if float.isInfinite, value.isFinite { throw .outOfRange }
    return float
  }

  /// Returns the integer in a value: nil if it is not an integer, an inner nil if it does not fit into 64 bits.
  private static func integer(_ value: Any) -> Int64?? {
    switch value {
    case let value as Int: .some(Int64(value))
    case let value as Int64: .some(value)
    case let value as Int32: .some(Int64(value))
    case let value as Int16: .some(Int64(value))
    case is Bool: nil
    case let value as any BinaryInteger: .some(Int64(exactly: value))
    default: nil
    }
  }
}

private protocol AnyOptional {
  var wrapped: Any? { get }
}
extension Optional: AnyOptional {
  fileprivate var wrapped: Any? { map { $0 as Any } }
}
