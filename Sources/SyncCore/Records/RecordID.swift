/// The identity of a record: the stable ID of its object, a UUID.
package struct RecordID: Hashable, Comparable, Codable, Sendable {
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

  package static func < (one: RecordID, other: RecordID) -> Bool { (one.high, one.low) < (other.high, other.low) }
}

/// The identity of an entity on all devices, computed from the model's names.
package struct EntityID: Hashable, Comparable, Sendable {
  package let value: UInt64
  package init(_ value: UInt64) { self.value = value }
  package static func < (one: EntityID, other: EntityID) -> Bool { one.value < other.value }
}

/// The identity of a property on all devices, computed from the model's names.
package struct PropertyID: Hashable, Comparable, Sendable {
  package let value: UInt64
  package init(_ value: UInt64) { self.value = value }
  package static func < (one: PropertyID, other: PropertyID) -> Bool { one.value < other.value }
}

/// The identity of an account on hubs: a UUID. It is public.
package struct AccountID: Hashable, Comparable, Sendable {
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

  package static func < (one: AccountID, other: AccountID) -> Bool { (one.high, one.low) < (other.high, other.low) }
}

/// The identity of a zone: a UUID.
package struct ZoneID: Hashable, Comparable, Codable, Sendable {
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

  package static func < (one: ZoneID, other: ZoneID) -> Bool { (one.high, one.low) < (other.high, other.low) }
}
