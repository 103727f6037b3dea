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
    switch attribute.type {
    case .integer16, .integer32, .integer64:
      guard let number = integer(value) else { throw .wrongType }
      guard let number else { throw .outOfRange }
      if AttributeChecker.typeFailure(of: .int(number), type: attribute.type) != nil { throw .outOfRange }
      return .int(number)
    case .boolean:
      if let value = value as? Bool { return value._slot }
      guard case .some(.some(let number)) = integer(value), number == 0 || number == 1 else { throw .wrongType }
      return .int(number)
    case .double, .float:
      if let value = value as? Double { return attribute.type == .float ? try float(value)._slot : value._slot }
      if let value = value as? Float { return value._slot }
      guard case .some(.some(let number)) = integer(value) else { throw .wrongType }
      return .real(Double(number))
    case .decimal:
      if let value = value as? Decimal { return value._slot }
      if case .some(.some(let number)) = integer(value) { return Decimal(number)._slot }
      guard let value = value as? Double ?? (value as? Float).map(Double.init) else { throw .wrongType }
      if value.isNaN { return Decimal.nan._slot }
      // The conversion is that of predicates, so that they find the value.
      guard let coding = DecimalCoding.encode(representable: value) else { throw .outOfRange }
      return .bytes(coding)
    case .date: return try (value as? Date).typed()
    case .string: return try (value as? String).typed()
    case .uri: return try (value as? URL).typed()
    case .uuid: return try (value as? UUID).typed()
    case .binary:
      if let value = value as? Data { return value._slot }
      guard let value = value as? [UInt8] else { throw .wrongType }
      return .bytes(Data(value))
    case .transformable: return try transformed(value, attribute)
    case .undefined, .composite:
      guard let value = number(in: value) ?? value as? any AttributeValue else { throw .wrongType }
      return value._slot
    }
  }

  /// Returns the Swift type that an attribute accepts, as part of a message.
  package static func expectation(of slot: CompiledSlot) -> String {
    guard let type = slot.attributeType else { return "an object" }
    let swiftType =
      switch type {
      case .integer16, .integer32, .integer64: "an integer"
      case .boolean: "a Bool"
      case .double, .float, .decimal: "a number"
      case .date: "a Date"
      case .string: "a String"
      case .uri: "a URL"
      case .uuid: "a UUID"
      case .binary: "Data"
      case .transformable: "a value that its transformer takes"
      case .undefined, .composite: "a value of an attribute"
      }
    return "\(swiftType) (\(type.rawValue))"
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

extension Optional where Wrapped: AttributeValue {
  fileprivate func typed() throws(AttributeConversion.Failure) -> Slot {
    guard let self else { throw .wrongType }
    return self._slot
  }
}

private protocol AnyOptional {
  var wrapped: Any? { get }
}
extension Optional: AnyOptional {
  fileprivate var wrapped: Any? { map { $0 as Any } }
}
