/// How the values that several saves have written to an attribute are merged.
///
/// A field contains its rule, so devices with different versions of a model merge it in the same way.
package enum MergeRule: UInt8, Hashable, Comparable, Sendable {
  /// The value with the latest stamp remains.
  case latest = 0
  /// The value with the earliest stamp remains.
  case firstWriter = 1
  /// The greatest value remains.
  case max = 2
  /// The smallest value remains.
  case min = 3
  /// Integers are sets of options: an option is set if any save has set it.
  case union = 4
  /// Saves write differences, which are added up (``Counter``).
  case counter = 5
  /// What deletions have seen is joined (``DeletionMark``). No attribute has this rule.
  case deletion = 6
  /// A function of the application merges what saves have written that did not know each other (``ValueVersions``).
  case custom = 7

  /// Whether values contain stamps that do not change when saves are stamped again.
  package var hasFixedStamps: Bool { self == .counter || self == .custom }

  package static func < (one: MergeRule, other: MergeRule) -> Bool { one.rawValue < other.rawValue }
}

extension Field {
  /// Returns the join of two values of one property.
  ///
  /// If the rules differ, because versions of the model declare different ones, the field with the greater rule remains.
  func joined(with other: Field) -> Field {
    if rule != other.rule { return rule < other.rule ? other : self }
    switch rule {
    case .latest: return isBefore(other) ? other : self
    case .firstWriter:
      if value.isNull || other.value.isNull { return winner(value.isNull == other.value.isNull ? isBefore(other) : value.isNull, other) }
      return winner((other.stamp, value) < (stamp, other.value), other)
    case .max, .min:
      let (mine, theirs) = (value.order, other.value.order)
      if mine == theirs { return winner(isBefore(other), other) }
      // What is not a number loses in both directions.
      if mine.kind == 0 || theirs.kind == 0 || rule == .max { return winner(mine < theirs, other) }
      return winner(theirs < mine, other)
    case .union:
      if case .integer(let mine) = value, case .integer(let theirs) = other.value {
        return Field(property, .integer(mine | theirs), Swift.max(stamp, other.stamp), .union)
      }
      let (mine, theirs) = (value.unionPriority, other.value.unionPriority)
      return winner(mine == theirs ? isBefore(other) : mine < theirs, other)
    case .counter:
      let counter = Counter(value).joined(with: Counter(other.value))
      return Field(property, counter.fieldValue, Swift.max(stamp, other.stamp), .counter)
    case .deletion:
      let mark = DeletionMark(value).joined(with: DeletionMark(other.value))
      return Field(property, .deletion(mark), Swift.max(stamp, other.stamp), .deletion)
    case .custom:
      let versions = ValueVersions(value).joined(with: ValueVersions(other.value))
      return Field(property, versions.fieldValue, Swift.max(stamp, other.stamp), .custom)
    }
  }

  /// Returns the state of a property after a change.
  ///
  /// In contrast to a join, the change or the state takes the rule of the other one if that is greater: what a device writes with another
  /// version of the model, and what was there before the model declared the rule, is merged too.
  func applying(_ change: Field) -> Field {
    if rule == change.rule { return joined(with: change) }
    if rule < change.rule {
      // What was there is a version, the same one on all devices.
      if change.rule == .custom { return Field(property, ValueVersions(of: self).fieldValue, stamp, .custom).joined(with: change) }
      if change.rule != .counter { return with(change.rule).joined(with: change) }
      // What was there is a part of the counter, the same one on all devices. Null counts as 0: it must not be set again by a device that has
      // not seen the counter.
      let former = value.isNull && change.value != .null ? .integer(0) : value
      return Field(property, Counter(baseline: former, at: stamp.time).fieldValue, stamp, .counter).joined(with: change)
    }
    if rule == .custom {
      let versions = ValueVersions(value).setting(change.value.unmerged, change.stamp)
      return Field(property, versions.fieldValue, Swift.max(stamp, change.stamp), .custom)
    }
    if rule != .counter { return joined(with: change.with(rule)) }
    return Field(property, Counter(value).setting(change.value, change.stamp).fieldValue, Swift.max(stamp, change.stamp), .counter)
  }

  private func with(_ rule: MergeRule) -> Field { Field(property, value, stamp, rule) }

  private func isBefore(_ other: Field) -> Bool { (stamp, value) < (other.stamp, other.value) }

  private func winner(_ isOther: Bool, _ other: Field) -> Field { isOther ? other : self }
}

extension FieldValue {
  fileprivate var isNull: Bool { self == .null || self == .superseded }

  /// Of two values that are no sets of options, the one with the greater priority remains.
  fileprivate var unionPriority: Int {
    if case .integer = self { return 2 }
    return isNull ? 0 : 1
  }

  /// The position of a value for the rules `max` and `min`. What is not a number has kind 0.
  fileprivate var order: Order {
    switch self {
    case .null, .superseded: Order(kind: 0, bits: 0, value: .null)
    case .real(let bits) where Double(bitPattern: bits).isNaN: Order(kind: 0, bits: 1, value: self)
    // Numbers of both signs in ascending order.
    case .real(let bits): Order(kind: 2, bits: bits >> 63 == 0 ? bits | 1 << 63 : ~bits, value: .null)
    case .integer: Order(kind: 1, bits: 0, value: self)
    default: Order(kind: 3, bits: 0, value: self)
    }
  }

  fileprivate struct Order: Comparable {
    let kind: Int
    let bits: UInt64
    let value: FieldValue

    static func < (one: Order, other: Order) -> Bool { (one.kind, one.bits, one.value) < (other.kind, other.bits, other.value) }
  }
}
