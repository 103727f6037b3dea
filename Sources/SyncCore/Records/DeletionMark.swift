/// A deletion that an edit can win over: what the deletions of an object have seen of its record.
///
/// It is the value of the field ``PropertyID/deletion`` of a live record, which keeps its other values. The object exists as long as any of
/// these values is of a save that the deletions did not know. Of each property, the mark has the latest time of each device whose value was
/// part of the state when the object was deleted: usually one, the stamp of the value. In addition it has the stamps of the deletions
/// themselves, under ``PropertyID/deletion``: a device has seen everything that it has written before. Marks are joined by taking the latest
/// times, so they are a semilattice.
///
/// A device that inserts the object again under the same record, such as to undo the deletion, writes ``PropertyID/revival`` with it.
///
/// - Note: A value that does not become part of the merged state is not an edit here: a number that is not the greatest one, for example. An
///   attribute that is merged by ``MergeRule/union`` has the latest stamp of its parts only.
package struct DeletionMark: Hashable, Sendable {
  /// The latest time at which a device has written a property, as far as the deletions know.
  package struct Entry: Hashable, Comparable, Sendable {
    package let property: PropertyID
    package let stamp: Stamp
    /// Whether the stamp does not change when saves are stamped again: that of an amount of a counter.
    package let isFixed: Bool

    package init(_ property: PropertyID, _ stamp: Stamp, isFixed: Bool = false) {
      (self.property, self.stamp, self.isFixed) = (property, stamp, isFixed)
    }

    package static func < (one: Entry, other: Entry) -> Bool {
      (one.property, one.stamp.device, one.stamp.time, one.isFixed ? 1 : 0)
        < (other.property, other.stamp.device, other.stamp.time, other.isFixed ? 1 : 0)
    }

    fileprivate func isOfSameWriter(as other: Entry) -> Bool { property == other.property && stamp.device == other.stamp.device }
  }

  /// In ascending order of properties and devices, of which each pair has at most one entry.
  package let entries: [Entry]

  /// Creates a mark from entries in any order.
  package init(_ entries: some Sequence<Entry>) {
    var result: [Entry] = []
    for entry in entries.sorted() {
      if let last = result.last, last.isOfSameWriter(as: entry) { result.removeLast() }
      result.append(entry)
    }
    self.entries = result
  }

  /// Creates a mark that has seen the values of a state.
  package init(seeing state: Record?) { self.init((state?.fields ?? []).flatMap { Self.entries(of: $0) }) }

  /// Creates a mark from the value of a field; empty if that has none.
  package init(_ value: FieldValue) { if case .deletion(let mark) = value { self = mark } else { entries = [] } }

  /// The entries of a mark that has seen a value.
  static func entries(of field: Field) -> [Entry] {
    switch field.value {
    case .deletion: []
    case .counter(let counter): counter.entries.map { Entry(field.property, Stamp($0.time, $0.device), isFixed: true) }
    case .versions(let versions): versions.versions.map { Entry(field.property, $0.stamp, isFixed: true) }
    default: [Entry(field.property, field.stamp)]
    }
  }

  package func joined(with other: DeletionMark) -> DeletionMark {
    if entries == other.entries || other.entries.isEmpty { return self }
    return DeletionMark(entries + other.entries)
  }

  func adding(_ entry: Entry) -> DeletionMark { DeletionMark(entries + [entry]) }

  /// Returns the latest time of a property that is seen of a device.
  func time(of property: PropertyID, by device: DeviceID) -> HybridTime? {
    entries.first { $0.property == property && $0.stamp.device == device }?.stamp.time
  }

  /// Returns whether the deletions have seen what was written to a property.
  func hasSeen(_ property: PropertyID, _ stamp: Stamp) -> Bool {
    if let time = time(of: property, by: stamp.device), time >= stamp.time { return true }
    // A counter has begun with a value that a deletion has seen before it was counted.
    if stamp.device == Counter.baseline,
      entries.contains(where: { $0.property == property && !$0.isFixed && $0.stamp.time == stamp.time })
    {
      return true
    }
    // What revives an object is written later than the reference that it follows from.
    if property == .revival { return false }
    return hasSeenDeletion(stamp)
  }

  /// Returns whether the deletions have seen a reference to the object.
  func hasSeenReference(_ property: PropertyID, of referrer: RecordID, _ stamp: Stamp) -> Bool {
    time(of: .reference(property, of: referrer), by: stamp.device).map { $0 >= stamp.time } ?? false
  }

  /// Returns whether a deletion with a stamp, or a later one of the same device, is among the deletions.
  package func hasSeenDeletion(_ stamp: Stamp) -> Bool { time(of: .deletion, by: stamp.device).map { $0 >= stamp.time } ?? false }

  /// Returns whether the deletions have seen all that a value consists of.
  func hasSeen(_ field: Field) -> Bool { Self.entries(of: field).allSatisfy { hasSeen($0.property, $0.stamp) } }

  /// Returns the mark with stamps replaced, apart from fixed ones.
  func mapStamps(_ transform: (Stamp) -> Stamp) -> DeletionMark {
    DeletionMark(entries.map { $0.isFixed ? $0 : Entry($0.property, transform($0.stamp)) })
  }
}

/// The properties of deletion marks. No other property has these IDs.
extension PropertyID {
  /// The property of a record that has a ``DeletionMark``.
  package static let deletion = PropertyID(.max - 2)
  /// The property by which an object exists again after its deletion.
  package static let revival = PropertyID(.max - 3)

  /// Whether objects do not have the property.
  package var isOfRecordOnly: Bool { self == .deletion || self == .revival || self == .successor || self == .waiting }

  /// The property under which a mark has what it has seen of another record's reference to the object.
  package static func reference(_ property: PropertyID, of referrer: RecordID) -> PropertyID {
    PropertyID((property.value &* 0x9E37_79B9_7F4A_7C15 ^ referrer.high) &* 0xC2B2_AE3D_27D4_EB4F ^ referrer.low)
  }
}

extension Record {
  /// The record's deletion mark, whether or not an edit has won over it.
  package var deletionMark: DeletionMark? {
    for field in fields.reversed() {
      if field.property == .deletion { return DeletionMark(field.value) }
      if field.property < .deletion { break }
    }
    return nil
  }

  /// Whether the object does not exist by the state of its own record: it is a tombstone, or a deletion has seen all values. Records that
  /// deny a deletion can make the object exist nevertheless.
  package var isDeleted: Bool {
    if isTombstone { return true }
    guard let mark = deletionMark else { return false }
    // That a reference follows the object of a merged record is no edit.
    return fields.allSatisfy { $0.stamp.isDerived && $0.property != .revival || mark.hasSeen($0) }
  }
}
