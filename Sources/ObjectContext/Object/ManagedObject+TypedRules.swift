// ManagedObject+TypedRules: an application's own rules for values, with their types: what generated classes call.
import ObjectModel

extension ManagedObject {
  /// Calls a rule for a required attribute's value, which may put another in its place. A missing value, or one of another type, is left to the model's rules.
  public final func validate<Value>(_ value: inout Any?, as type: Value.Type, by rule: (inout Value) throws -> Void) throws {
    guard var typed = AttributeConversion.unwrapped(value) as? Value else { return }
    try rule(&typed)
    value = typed
  }

  /// Calls a rule for an optional attribute's value, which may put another in its place. A value of another type is left to the model's rules.
  public final func validateOptional<Value>(_ value: inout Any?, as type: Value.Type, by rule: (inout Value?) throws -> Void) throws {
    let given = AttributeConversion.unwrapped(value)
    var typed = given as? Value
    if given != nil, typed == nil { return }
    try rule(&typed)
    value = typed.map { $0 as Any }
  }
}
