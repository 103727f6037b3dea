/// The value of an attribute that a function of the application merges: the values of saves that did not know each other.
///
/// A save adds a *version*: a value, and a stamp that never changes: the one that the save got first, or a later one if the device has seen
/// versions of its own that are later, because its clock was corrected. It replaces the versions that the device showed when it saved.
/// Joining two states retains a version if both have it, or if the state without it has not seen it. States are thus a semilattice,
/// whatever the function does, and the value follows from the state (``merged(by:)``).
///
/// Each version has the value that it is based on: what the zone had when the device saved. The zone's states are in one order, so the earlier
/// one of two bases is the last value that both versions know: the base of a three-way merge.
///
/// - Note: Seeing a version includes the earlier ones of the same device. If an older copy of a store is restored, and the device does not
///   notice it, what it saves next therefore replaces what it has lost, as for other attributes.
package struct ValueVersions: Hashable, Sendable {
  /// The latest time of each device whose versions were seen.
  package struct Seen: Hashable, Sendable {
    package struct Entry: Hashable, Comparable, Sendable {
      package let device: DeviceID
      package let time: HybridTime

      package init(_ device: DeviceID, _ time: HybridTime) { (self.device, self.time) = (device, time) }

      package static func < (one: Entry, other: Entry) -> Bool { (one.device, one.time) < (other.device, other.time) }
    }

    /// In ascending order of devices.
    package private(set) var entries: [Entry] = []

    package init() {}

    /// Creates what was seen from entries, or returns nil if they are not in order.
    package init?(validating entries: [Entry]) {
      for (one, next) in zip(entries, entries.dropFirst()) where one.device >= next.device { return nil }
      self.entries = entries
    }

    package func contains(_ stamp: Stamp) -> Bool { entries.contains { $0.device == stamp.device && $0.time >= stamp.time } }

    package func isSubset(of other: Seen) -> Bool { entries.allSatisfy { other.contains(Stamp($0.time, $0.device)) } }

    /// Returns a stamp of the same device that was not seen: the same one or a later one.
    func unseen(_ stamp: Stamp) -> Stamp {
      guard let entry = entries.first(where: { $0.device == stamp.device }), entry.time >= stamp.time else { return stamp }
      return Stamp(entry.time.next, stamp.device)
    }

    func joined(with other: Seen) -> Seen {
      var result = self
      for entry in other.entries { result.insert(Stamp(entry.time, entry.device)) }
      return result
    }

    mutating func insert(_ stamp: Stamp) {
      if contains(stamp) { return }
      let position = entries.firstIndex { $0.device >= stamp.device } ?? entries.count
      if position < entries.count, entries[position].device == stamp.device { entries.remove(at: position) }
      entries.insert(Entry(stamp.device, stamp.time), at: position)
    }
  }

  /// The value of one save.
  package struct Version: Hashable, Sendable {
    package let stamp: Stamp
    package let value: FieldValue
    /// What the zone had when the device saved.
    package let base: FieldValue
    /// What that state had seen.
    package let baseSeen: Seen

    package init(_ stamp: Stamp, _ value: FieldValue, base: FieldValue = .null, baseSeen: Seen = Seen()) {
      (self.stamp, self.value, self.base, self.baseSeen) = (stamp, value, base, baseSeen)
    }
  }

  /// All versions that were seen, also those that were replaced.
  package let seen: Seen
  /// The versions that were not replaced, in ascending order of stamps. All were seen.
  package let versions: [Version]

  private init(seen: Seen, versions: [Version]) { (self.seen, self.versions) = (seen, versions) }

  /// Creates the state of an attribute, or returns nil if versions are not in order or were not seen.
  package init?(validating versions: [Version], seen: Seen) {
    for (one, next) in zip(versions, versions.dropFirst()) where one.stamp >= next.stamp { return nil }
    guard versions.allSatisfy({ seen.contains($0.stamp) && $0.value.isPlain && $0.base.isPlain }) else { return nil }
    self.init(seen: seen, versions: versions)
  }

  /// Creates the state of an attribute with a value from before synchronization, or from before the model declared the rule. Devices that had
  /// the same have the same version.
  package init(baseline value: FieldValue, at time: HybridTime) {
    let stamp = Stamp(time, Counter.baseline)
    var (seen, versions) = (Seen(), [Version]())
    if value.isPlain, value != .null {
      seen.insert(stamp)
      versions.append(Version(stamp, value))
    }
    self.init(seen: seen, versions: versions)
  }

  /// Creates the state from the value of a field; empty if that has none.
  package init(_ value: FieldValue) {
    if case .versions(let versions) = value { self = versions } else { self.init(seen: Seen(), versions: []) }
  }

  /// Creates the state from a field, which may be from before the model declared the rule.
  package init(of field: Field?) {
    switch field {
    case let field? where field.rule == .custom: self.init(field.value)
    case let field?: self.init(baseline: field.value.unmerged, at: field.stamp.time)
    case nil: self.init(.null)
    }
  }

  /// Creates the state of a save that has no stamp yet.
  ///
  /// - Parameter former: The value that the object had; nil if the save has inserted it.
  package init(unstamped value: FieldValue, replacing former: FieldValue?) {
    var seen = Seen()
    seen.insert(Self.unstamped)
    self.init(
      seen: seen, versions: [Version(Self.unstamped, value, base: former ?? .null, baseSeen: former == nil ? Seen() : seen)])
  }

  /// What a save without a stamp has written; nil for other states.
  package var unstamped: (value: FieldValue, former: FieldValue?)? {
    guard let version = versions.first, version.stamp == Self.unstamped else { return nil }
    return (version.value, version.baseSeen.entries.isEmpty ? nil : version.base)
  }

  private static let unstamped = Stamp(.zero, Counter.baseline)

  /// The state as the value of a field.
  package var fieldValue: FieldValue { seen.entries.isEmpty ? .null : .versions(self) }

  /// The value of the last save.
  package var last: FieldValue { versions.last?.value ?? .null }

  package func joined(with other: ValueVersions) -> ValueVersions {
    if self == other { return self }
    var all: [Stamp: Version] = [:]
    for version in versions { all[version.stamp] = version }
    var result: [Version] = []
    for theirs in other.versions {
      if let mine = all.removeValue(forKey: theirs.stamp) {
        // Two states of a restored store can have used a time twice: one of both remains, the same one everywhere.
        result.append(Swift.max(mine, theirs))
      } else if !seen.contains(theirs.stamp) {
        result.append(theirs)
      }
    }
    for mine in versions where all[mine.stamp] != nil && !other.seen.contains(mine.stamp) { result.append(mine) }
    return ValueVersions(seen: seen.joined(with: other.seen), versions: result.sorted { $0.stamp < $1.stamp })
  }

  // MARK: Changes

  /// Returns the state after a save.
  ///
  /// - Parameters:
  ///   - stamp: The stamp that the save got first.
  ///   - former: The value that the object had; nil if the save has inserted the object, or if it is not known.
  ///   - settled: The state without pending saves.
  ///   - function: The function that merges versions, if the device has it.
  package func setting(
    _ value: FieldValue, _ stamp: Stamp, replacing former: FieldValue?, settled: ValueVersions, _ function: MergeFunction?
  ) -> ValueVersions {
    let stamp = seen.unseen(stamp)
    var seen = seen
    seen.insert(stamp)
    // An object from before synchronization need not be in the zone yet.
    if former != nil { seen.insert(Self.first) }
    if versions.isEmpty {
      let base = former.flatMap { $0.isPlain ? $0 : nil } ?? .null
      return ValueVersions(seen: seen, versions: [Version(stamp, value, base: base, baseSeen: self.seen.joined(with: Self.before(former)))])
    }
    if let shown = shown(as: former, function) {
      // The device shows one of the versions. The others are merged with what replaces it.
      let isSettled = settled.versions == [shown]
      let new = Version(stamp, value, base: isSettled ? shown.value : shown.base, baseSeen: isSettled ? settled.seen : shown.baseSeen)
      return ValueVersions(seen: seen, versions: (versions.filter { $0 != shown } + [new]).sorted { $0.stamp < $1.stamp })
    }
    var new = Version(stamp, value, base: settled.merged(by: function).value, baseSeen: settled.seen)
    // The zone does not have the object yet.
    if settled.fieldValue == .null, let last = versions.last { new = Version(stamp, value, base: last.base, baseSeen: last.baseSeen) }
    return ValueVersions(seen: seen, versions: [new])
  }

  /// Returns the only version that an object shows; nil if it shows the merged value.
  private func shown(as value: FieldValue?, _ function: MergeFunction?) -> Version? {
    if versions.count < 2 { return nil }
    let merged = merged(by: function)
    let shown = versions.last { $0.value == value }
    // It can have been saved by a process with other functions than this one.
    if merged.failure != .missing { return value == nil || value == merged.value ? nil : shown }
    return shown ?? versions.last
  }

  /// Returns the state after a device, whose model does not declare the rule, has set the attribute to a value.
  func setting(_ value: FieldValue, _ stamp: Stamp) -> ValueVersions {
    // What is part of the state already counts once, also under the stamp that it got when the model declared the rule.
    guard value.isPlain, !seen.contains(stamp), !seen.contains(Stamp(stamp.time, Counter.baseline)) else { return self }
    // It has known the value from before.
    let former = versions.last { $0.stamp.device == Counter.baseline && $0.stamp.time <= stamp.time }
    var seen = seen
    seen.insert(stamp)
    var baseSeen = Seen()
    if let former { baseSeen.insert(former.stamp) }
    let new = Version(stamp, value, base: former?.value ?? .null, baseSeen: baseSeen)
    return ValueVersions(seen: seen, versions: (versions.filter { $0 != former } + [new]).sorted { $0.stamp < $1.stamp })
  }

  /// The stamp of values from before synchronization (``Baseline``).
  private static let first = Stamp(HybridTime(value: 1), Counter.baseline)

  private static func before(_ former: FieldValue?) -> Seen {
    var seen = Seen()
    if former != nil { seen.insert(first) }
    return seen
  }
}

extension ValueVersions.Version: Comparable {
  package static func < (one: Self, other: Self) -> Bool {
    (one.stamp, one.value, one.base) != (other.stamp, other.value, other.base)
      ? (one.stamp, one.value, one.base) < (other.stamp, other.value, other.base)
      : one.baseSeen.entries.lexicographicallyPrecedes(other.baseSeen.entries)
  }
}

extension ValueVersions: Comparable {
  package static func < (one: Self, other: Self) -> Bool {
    one.seen != other.seen
      ? one.seen.entries.lexicographicallyPrecedes(other.seen.entries) : one.versions.lexicographicallyPrecedes(other.versions)
  }
}

extension FieldValue {
  /// Whether it is the value of an attribute, as an object has it.
  package var isPlain: Bool {
    switch self {
    case .null, .integer, .real, .text, .bytes: true
    default: false
    }
  }

  /// The value of an attribute without that it is merged: of a counter the sum, of several versions the last one.
  package var unmerged: FieldValue {
    switch self {
    case .counter(let counter): counter.sum
    case .versions(let versions): versions.last
    case .superseded: .null
    default: self
    }
  }
}
