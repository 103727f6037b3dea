import Foundation
@_spi(Generated) import ObjectModel

/// Converts default values of attributes between Core Data's and the model's representation.
enum DefaultValue {
  /// Returns the initial value of an attribute as a Swift value; nil if it has none.
  static func value(of attribute: AttributeDescription) -> Any? {
    // If the transformer cannot read a default, an application could not have set it.
    (try? AttributeConversion.untypedValue(of: attribute.defaultValue, attribute)) ?? nil
  }

  /// Returns a value as stored in models. A value of another type is kept, and reported when the model is used.
  static func slot(of value: Any?, type: AttributeType) -> Slot {
    guard let value = AttributeConversion.unwrapped(value) else { return .null }
    let number = value as? NSNumber
    switch type.traits.number {
    case .integer: if let number { return type == .boolean ? Slot(number.boolValue) : .int(number.int64Value) }
    case .double: if let number { return Slot(number.doubleValue) }
    case .single: if let number { return Slot(number.floatValue) }
    case .decimal: if let number = (value as? Decimal) ?? number?.decimalValue { return Slot(number) }
    case nil: break
    }
    guard let value = value as? any AttributeValue else { return .null }
    return value.slot
  }
}
