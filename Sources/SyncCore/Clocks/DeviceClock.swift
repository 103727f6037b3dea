/// The clock that stamps the saves of a device.
///
/// Times increase with each save, and are after the times of all records that the device has pulled. The device's wall clock can be wrong:
/// its difference from the hub's clock is corrected as soon as the hub has answered.
package struct DeviceClock: Hashable, Codable, Sendable {
  /// The time of the last save.
  package private(set) var last = HybridTime.zero
  /// The latest time in pulled records.
  package private(set) var seen = HybridTime.zero
  /// What to add to the wall clock to get the hub's time, in milliseconds; nil before the hub has answered.
  package private(set) var offset: Int64?

  package init() {}

  /// The maximum time that a commit may be ahead of the hub's clock, in milliseconds.
  package static let tolerance: Int64 = 60_000

  /// Returns the hub's time, as far as it is known.
  package func hubTime(at wall: Int64) -> Int64 { wall + (offset ?? 0) }

  /// Returns the time of a new save.
  package mutating func stamp(at wall: Int64) -> HybridTime {
    last = max(last.next, seen.next, HybridTime(milliseconds: hubTime(at: wall)))
    return last
  }

  /// Records the time of a pulled record.
  package mutating func observe(_ time: HybridTime) { seen = max(seen, time) }

  /// Records the hub's time in an answer.
  package mutating func correct(hubTime: Int64, at wall: Int64) { offset = hubTime - wall }

  /// Returns whether a time is too far ahead for the hub to accept it.
  package func isAhead(_ time: HybridTime, at wall: Int64) -> Bool {
    offset != nil && time.milliseconds > hubTime(at: wall) + Self.tolerance && !isExplained(time)
  }

  /// Returns whether a time is ahead only because the zone has such times already, which a save must follow.
  ///
  /// A zone has them if the hub's clock was ahead once, or if the hub is a file that devices with different clocks open.
  package func isExplained(_ time: HybridTime) -> Bool { time.milliseconds <= seen.milliseconds + Self.explainedAdvance }

  /// How far the saves that follow a seen time can be after it, in milliseconds: each is later by one.
  private static let explainedAdvance: Int64 = 1_000

  /// Sets the clock back to the time of the last save that was not ahead, before those after it are stamped again.
  package mutating func reset(to time: HybridTime = .zero) { last = time }
}
