/// The value of an attribute that is a counter: what each device has added.
///
/// A save adds a *dot*: the device, a time, and an amount. The time is that of the stamp that the save got first. It never changes, also if
/// the save is stamped again, so a save that is sent repeatedly counts once. As soon as the zone has a device's dots, the device replaces
/// them by a *total*, which contains the amounts of all its dots up to a time.
///
/// Joining two counters retains all dots and, of each device, the total with the latest time; dots that it covers are dropped. The value is
/// the sum. Integers overflow; real numbers are added in the order of devices and times, so that all devices get the same bits.
///
/// - Note: If an older copy of a store is restored, the device does not notice it, and its clock is set back too, new dots can have times
///   that a total of the lost state covers. They are lost then.
package struct Counter: Hashable, Sendable {
  /// A total, or the amount of one save.
  package struct Entry: Hashable, Comparable, Sendable {
    package let device: DeviceID
    /// Of a total, the time of the last dot that it covers.
    package let time: HybridTime
    package let isTotal: Bool
    /// An integer or a real number.
    package let amount: FieldValue

    package init(_ device: DeviceID, _ time: HybridTime, isTotal: Bool = false, _ amount: FieldValue) {
      (self.device, self.time, self.isTotal, self.amount) = (device, time, isTotal, amount)
    }

    /// Total first: it is before the dots of its device that it does not cover.
    package static func < (one: Entry, other: Entry) -> Bool {
      (one.device, one.time, one.amount) < (other.device, other.time, other.amount)
    }
  }

  /// The totals and dots in ascending order of devices and times. No dot is covered by a total.
  package let entries: [Entry]

  private init(entries: [Entry]) { self.entries = entries }

  /// Creates a counter from entries, or returns nil if they are not in order, or a total covers a dot.
  package init?(validating entries: [Entry]) {
    for (one, next) in zip(entries, entries.dropFirst()) {
      guard one.device < next.device || one.device == next.device && one.time < next.time && !next.isTotal else { return nil }
    }
    guard entries.allSatisfy({ Self.isAmount($0.amount) }) else { return nil }
    self.entries = entries
  }

  /// Creates a counter with the amount of one save.
  ///
  /// - Parameter stamp: The stamp that the save got first.
  package init(adding amount: FieldValue, _ stamp: Stamp) { entries = [Entry(stamp.device, stamp.time, amount)] }

  /// Creates a counter with what was there before the attribute was counted, or before synchronization. Devices that had the same have the
  /// same total; of different ones, the latest counts.
  package init(baseline value: FieldValue, at time: HybridTime) {
    entries = Self.isAmount(value) ? [Entry(Self.baseline, time, isTotal: true, value)] : []
  }

  /// Creates a counter from the value of a field; empty if that has none.
  package init(_ value: FieldValue) { if case .counter(let counter) = value { self = counter } else { entries = [] } }

  /// The device of what was there before. No device has this ID.
  package static let baseline = DeviceID(0)

  /// The counter as the value of a field.
  package var fieldValue: FieldValue { entries.isEmpty ? .null : .counter(self) }

  /// The value of the attribute.
  package var sum: FieldValue {
    guard var sum = entries.first?.amount else { return .null }
    for entry in entries.dropFirst() { sum = Self.sum(sum, entry.amount) }
    return sum
  }

  package static func sum(_ one: FieldValue, _ other: FieldValue) -> FieldValue {
    switch (one, other) {
    case (.integer(let one), .integer(let other)): .integer(one &+ other)
    default: .real((number(one) + number(other)).bitPattern)
    }
  }

  /// Returns what a save has added that has replaced a value by another one, or nil if that is nothing. Null counts as 0.
  package static func difference(from former: FieldValue, to value: FieldValue) -> FieldValue? {
    switch (former, value) {
    case (.integer(let former), .integer(let value)): return former == value ? nil : .integer(value &- former)
    case (.integer(let former), .null): return .integer(0 &- former)
    case (_, .null) where !isAmount(former): return nil
    case (_, .integer) where !isAmount(former): return value
    case (_, .real), (.real, _):
      let difference = number(value) - number(former)
      return difference == 0 && isAmount(former) ? nil : .real(difference.bitPattern)
    default: return nil
    }
  }

  private static func number(_ value: FieldValue) -> Double {
    switch value {
    case .integer(let integer): Double(integer)
    case .real(let bits): Double(bitPattern: bits)
    default: 0
    }
  }

  private static func isAmount(_ value: FieldValue) -> Bool {
    switch value {
    case .integer, .real: true
    default: false
    }
  }

  /// Returns the counter that contains what either of two contains.
  package func joined(with other: Counter) -> Counter {
    if entries.isEmpty || self == other { return other }
    if other.entries.isEmpty { return self }
    var result: [Entry] = []
    result.reserveCapacity(entries.count + other.entries.count)
    var (mine, theirs) = (entries[...], other.entries[...])
    while let device = [mine.first?.device, theirs.first?.device].compactMap({ $0 }).min() {
      var all: [Entry] = []
      while let entry = mine.first, entry.device == device { all.append(mine.removeFirst()) }
      while let entry = theirs.first, entry.device == device { all.append(theirs.removeFirst()) }
      let total = all.lazy.filter(\.isTotal).max()
      if let total { result.append(total) }
      for dot in all.sorted() where !dot.isTotal && total.map({ $0.time < dot.time }) ?? true {
        // Two states of a restored store can have used a time twice: one of both remains, the same one everywhere.
        if let last = result.last, last.device == device, last.time == dot.time { result.removeLast() }
        result.append(dot)
      }
    }
    return Counter(entries: result)
  }

  /// Returns whether the counter contains what a device has added at a time.
  package func contains(_ time: HybridTime, of device: DeviceID) -> Bool {
    entries.contains { $0.device == device && ($0.time == time || $0.isTotal && $0.time > time) }
  }

  /// Returns the counter after a device, whose model does not declare it, has set the attribute to a value.
  func setting(_ value: FieldValue, _ stamp: Stamp) -> Counter {
    // What is part of the counter already counts once.
    let isContained = entries.contains { ($0.device == stamp.device || $0.device == Self.baseline) && $0.time >= stamp.time }
    guard !isContained, let difference = Self.difference(from: sum, to: value) else { return self }
    return joined(with: Counter(adding: difference, stamp))
  }

  /// Returns the counter with the dots of a device replaced by a total.
  ///
  /// - Parameters:
  ///   - last: The last time that no later dot of the device can have.
  ///   - excluded: A counter with the dots that the zone does not have yet.
  func compacted(_ device: DeviceID, through last: HybridTime, excluding excluded: Counter) -> Counter {
    let first = excluded.entries.first { $0.device == device && !$0.isTotal }?.time
    var total: Entry?
    var rest: [Entry] = []
    for entry in entries {
      if entry.device == device, entry.isTotal || entry.time <= last, first.map({ entry.time < $0 }) ?? true {
        total = Entry(device, entry.time, isTotal: true, total.map { Self.sum($0.amount, entry.amount) } ?? entry.amount)
      } else {
        rest.append(entry)
      }
    }
    return total.map { Counter(entries: (rest + [$0]).sorted()) } ?? self
  }
}
