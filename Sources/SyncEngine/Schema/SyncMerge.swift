package import ObjectModel

/// How concurrent changes of a property are merged.
package enum SyncMerge: Sendable, Hashable {
  /// An attribute is merged by its rule.
  case value(SyncMergeRule)
  /// The same for an attribute that can have large values, which are sent apart from the records.
  case largeValue(SyncMergeRule)
  /// A to-one relationship has the destination of the latest change.
  case toOne(isRequired: Bool)
  /// The same for a one-to-one relationship. Of several objects that refer to a destination, one keeps it.
  case oneToOne(isRequired: Bool)
  /// The same for a relationship to parents: of two moves into each other, the earlier one remains.
  case parent
  /// Members of a to-many relationship are added and removed one by one. Those of an ordered one that a save moves together stay together.
  case members(isOrdered: Bool)
  /// The members of the relationship follow from its inverse, `Entity.relationship`. Their order is merged as that of `members`.
  case inverse(String, isOrdered: Bool)
  /// The value is computed on each device.
  case derived
  /// The value is not stored.
  case transient
  /// The objects are fetched on each device.
  case fetched
  /// The property stands in the way of synchronizing the model.
  case unsupported(SyncObstacle.Reason)

  /// The name of the case or rule in JSON.
  package var name: String {
    switch self {
    case .value(let rule), .largeValue(let rule): rule.rawValue
    case .toOne, .oneToOne, .parent: SyncMergeRule.latest.rawValue
    case .members: "members"
    case .inverse: "inverse"
    case .derived: "derived"
    case .transient: "transient"
    case .fetched: "fetched"
    case .unsupported: "unsupported"
    }
  }

  /// What remains of concurrent changes, as part of a table.
  package var explanation: String {
    switch self {
    case .value(.latest): "the later change"
    case .value(.firstWriter): "the first value other than nil"
    case .value(.max): "the greatest value"
    case .value(.min): "the least value"
    case .value(.union): "the bits of all values"
    case .value(.counter): "the sum of the changes"
    case .value(.custom(let name)): "what the application's function “\(name)” makes of the changes; without it, the later one"
    case .largeValue(let rule): "large value: " + SyncMerge.value(rule).explanation
    case .toOne(let isRequired): "the later change" + Self.requirement(isRequired)
    case .oneToOne(let isRequired): "the later change; one object refers to a destination" + Self.requirement(isRequired)
    case .parent: "the later change; no object is its own ancestor"
    case .members(let isOrdered): "members are added and removed one by one; an addition wins" + Self.order(isOrdered)
    case .inverse(let name, let isOrdered): "follows from \(name)" + Self.order(isOrdered)
    case .derived: "computed on each device, not sent"
    case .transient: "not sent"
    case .fetched: "fetched on each device, not sent"
    case .unsupported(let reason): "not synchronized yet: \(reason.explanation)"
    }
  }

  private static func order(_ isOrdered: Bool) -> String { isOrdered ? "; what is moved together stays together" : "" }

  private static func requirement(_ isRequired: Bool) -> String { isRequired ? "; deleted with the destination" : "" }
}
