import ObjectModel

/// The effect of a deletion on the objects of a relationship.
public enum NSDeleteRule: UInt, Sendable {
  /// The objects are left unchanged.
  case noActionDeleteRule
  /// Their inverse relationships are cleared.
  case nullifyDeleteRule
  /// The objects are deleted too.
  case cascadeDeleteRule
  /// The deletion is denied while there are any objects.
  case denyDeleteRule

  init(_ rule: DeleteRule) { self = Self(rawValue: rule.coreDataNumber) ?? .nullifyDeleteRule }

  var rule: DeleteRule { DeleteRule(coreDataNumber: rawValue) ?? .nullify }
}
