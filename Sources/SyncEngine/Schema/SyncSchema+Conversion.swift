import Foundation
import ObjectModel
import SyncCore

/// Attributes whose type is another one in another version of the model.
///
/// A record keeps the value as it was written. An object shows it converted, or nil if that is not possible, or the default value if the
/// attribute is required. Only a change of this attribute replaces the value.
extension SyncSchema {
  /// Returns what an object has for the value of an attribute; nil if it has to keep what it has.
  func slot(for value: FieldValue, _ property: Property, ofEntity number: Int) -> Slot? {
    let value = value.resolved
    if let slot = value.slot(property.kind) { return slot }
    let entity = model.entities[number]
    let slot = entity.slots[property.slot]
    // The functions of the application know values of any type.
    if let known = [SlotKind.int, .real, .text, .bytes].lazy.compactMap({ value.slot($0) }).first,
      let converted = SyncConversions.converted(known, for: slot, of: entity, in: model)
    {
      return converted
    }
    if let type = slot.attributeType, let converted = value.converted(to: type) { return converted }
    if slot.isOptional { return .null }
    return slot.defaultValue.isNull ? nil : slot.defaultValue
  }

  /// Returns whether a value of another type is the one that an object shows.
  func isShown(_ value: FieldValue, as shown: FieldValue, _ property: Property, ofEntity number: Int) -> Bool {
    guard value.reference == nil, value.resolved.slot(property.kind) == nil else { return false }
    return slot(for: value, property, ofEntity: number).map { FieldValue($0) == shown } ?? true
  }
}

extension FieldValue {
  /// Converts between numbers and texts, without loss: `3` and `3.0` and "3", but "3.5" and "three" are not integers.
  fileprivate func converted(to type: AttributeType) -> Slot? {
    if type.isInteger {
      switch self {
      case .real(let bits): return Int64(exactly: Double(bitPattern: bits)).map { .int($0) }
      case .text(let text): return Int64(text).map { .int($0) }
      default: return nil
      }
    }
    switch (type, self) {
    case (.double, .integer(let value)), (.float, .integer(let value)): return .real(Double(value))
    case (.double, .text(let text)), (.float, .text(let text)):
      return Double(text).flatMap { $0.isFinite ? .real($0) : nil }
    case (.string, .integer(let value)): return .text("\(value)")
    case (.string, .real(let bits)): return .text("\(Double(bitPattern: bits))")
    default: return nil
    }
  }
}
