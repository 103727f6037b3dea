/// A time of a hybrid logical clock: milliseconds since 1970 in the upper 48 bits, and a counter in the lower 16 bits.
package struct HybridTime: Hashable, Comparable, Codable, Sendable {
  package var value: UInt64

  package init(value: UInt64) { self.value = value }

  /// Creates the first time of a millisecond.
  package init(milliseconds: Int64) { value = UInt64(clamping: max(milliseconds, 0)) << 16 }

  /// The milliseconds since 1970.
  package var milliseconds: Int64 { Int64(value >> 16) }
  /// The time directly after this one.
  package var next: HybridTime { HybridTime(value: value + 1) }

  package static func < (one: HybridTime, other: HybridTime) -> Bool { one.value < other.value }
  package static let zero = HybridTime(value: 0)
}

/// When and on which device a value was written. No two saves have the same stamp.
package struct Stamp: Hashable, Comparable, Sendable {
  package var time: HybridTime
  package var device: DeviceID

  package init(_ time: HybridTime, _ device: DeviceID) { (self.time, self.device) = (time, device) }

  package static func < (one: Stamp, other: Stamp) -> Bool { (one.time, one.device) < (other.time, other.device) }
}

/// The identity of a device: of one lineage of one store file.
package struct DeviceID: Hashable, Comparable, Codable, Sendable {
  package let value: UInt64
  package init(_ value: UInt64) { self.value = value }
  package static func < (one: DeviceID, other: DeviceID) -> Bool { one.value < other.value }
}
