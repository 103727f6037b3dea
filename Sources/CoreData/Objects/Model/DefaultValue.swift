// DefaultValue: the default values of attributes as applications name them, and as models keep them.
import Foundation
import ObjectModel

/// Default values of attributes.
enum DefaultValue {
  /// What a new object has, as a value of Swift; nil for none.
  static func value(of attribute: AttributeDescription) -> Any? {
    // A default that its transformer cannot read is none that an application could set.
    (try? AttributeConversion.untypedValue(of: attribute.defaultValue, attribute)) ?? nil
  }

  /// A value as models keep it; what is none of the type is kept too, and told when the model is used.
  static func slot(of value: Any?, type: AttributeType) -> Slot {
    guard let value = AttributeConversion.unwrapped(value) else { return .null }
    let number = value as? NSNumber
    switch type {
    case .integer16, .integer32, .integer64: if let number { return .int(number.int64Value) }
    case .boolean: if let number { return Slot(number.boolValue) }
    case .double: if let number { return Slot(number.doubleValue) }
    case .float: if let number { return Slot(number.floatValue) }
    case .decimal: if let number = (value as? Decimal) ?? number?.decimalValue { return Slot(number) }
    default: break
    }
    guard let value = value as? any AttributeValue else { return .null }
    return value._slot
  }
}
