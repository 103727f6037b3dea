/// The value of an attribute or of a to-one relationship in a record.
///
/// Values are compared by their bits, so that joining never depends on the order of its operands.
package enum FieldValue: Sendable {
  case null
  case integer(Int64)
  /// A floating-point number, by its bits.
  case real(UInt64)
  case text(String)
  case bytes([UInt8])
  case reference(RecordID)
  /// What has replaced a value for good: a former reference to an object that admits one referrer only, and to which another object refers
  /// since, or an addition of a link that was removed (``Link``). It has the stamp of that value and replaces it, but no later value. Objects
  /// have nil instead.
  case superseded
  /// What an attribute counts (``MergeRule/counter``). A counter that nothing was added to is null.
  case counter(Counter)
  /// What the deletions of the object have seen.
  case deletion(DeletionMark)
  /// A large value, whose bytes are not in the record.
  case asset(AssetReference)
  /// The place of a member in an ordered relationship (``PropertyID/position(through:)``).
  case position(PositionKey)
  /// What an attribute has that a function of the application merges (``MergeRule/custom``). If no save has written it, it is null.
  case versions(ValueVersions)

  /// The referenced record, if the value is a reference.
  package var reference: RecordID? {
    if case .reference(let id) = self { id } else { nil }
  }

  /// The large value.
  package var asset: AssetReference? { if case .asset(let asset) = self { asset } else { nil } }

  /// The place in an ordered relationship, if the value is one.
  package var position: PositionKey? { if case .position(let key) = self { key } else { nil } }

  /// Whether the value is a large one that a commit cannot contain, because only the device has it.
  package var isUnsealed: Bool { asset.map { $0.sealed == nil } ?? false }

  /// About how many bytes the value takes.
  package var approximateSize: Int {
    switch self {
    case .null, .superseded: 1
    case .integer, .real: 8
    case .text(let text): text.utf8.count
    case .bytes(let bytes): bytes.count
    case .reference: 16
    case .counter(let counter): 20 * counter.entries.count
    case .deletion(let mark): 8 * mark.entries.count
    case .asset(let asset): 84 + 32 * (asset.sealed?.chunks.count ?? 0)
    case .position(let key): key.bytes.count
    case .versions(let versions):
      versions.versions.reduce(16 * versions.seen.entries.count) {
        $0 + 16 + $1.value.approximateSize + $1.base.approximateSize + 16 * $1.baseSeen.entries.count
      }
    }
  }
}

extension FieldValue: Hashable {
  package static func == (one: FieldValue, other: FieldValue) -> Bool {
    switch (one, other) {
    case (.null, .null), (.superseded, .superseded): true
    case (.integer(let one), .integer(let other)): one == other
    case (.real(let one), .real(let other)): one == other
    // Strings are equal if they are canonically equivalent, even with different bytes.
    case (.text(let one), .text(let other)): one.utf8.elementsEqual(other.utf8)
    case (.bytes(let one), .bytes(let other)): one == other
    case (.reference(let one), .reference(let other)): one == other
    case (.counter(let one), .counter(let other)): one == other
    case (.deletion(let one), .deletion(let other)): one == other
    case (.asset(let one), .asset(let other)): one == other
    case (.position(let one), .position(let other)): one == other
    case (.versions(let one), .versions(let other)): one == other
    default: false
    }
  }

  package func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .integer(let value): hasher.combine(value)
    case .real(let bits): hasher.combine(bits)
    case .text(let text): for byte in text.utf8 { hasher.combine(byte) }
    case .bytes(let bytes): hasher.combine(bytes)
    case .reference(let id): hasher.combine(id)
    case .superseded: hasher.combine(1)
    case .counter(let counter): hasher.combine(counter)
    case .deletion(let mark): hasher.combine(mark)
    case .asset(let asset): hasher.combine(asset)
    case .position(let key): hasher.combine(key)
    case .versions(let versions): hasher.combine(versions)
    }
  }
}

extension FieldValue: Comparable {
  /// An order of all values, which decides between values with the same stamp.
  package static func < (one: FieldValue, other: FieldValue) -> Bool {
    switch (one, other) {
    case (.integer(let one), .integer(let other)): one < other
    case (.real(let one), .real(let other)): one < other
    case (.text(let one), .text(let other)): one.utf8.lexicographicallyPrecedes(other.utf8)
    case (.bytes(let one), .bytes(let other)): one.lexicographicallyPrecedes(other)
    case (.reference(let one), .reference(let other)): one < other
    case (.counter(let one), .counter(let other)): one.entries.lexicographicallyPrecedes(other.entries)
    case (.position(let one), .position(let other)): one < other
    case (.versions(let one), .versions(let other)): one < other
    case (.deletion(let one), .deletion(let other)): one.entries.lexicographicallyPrecedes(other.entries)
    case (.asset(let one), .asset(let other)) where one.sealed == nil && other.sealed == nil || one.sealed != nil && other.sealed != nil:
      one < other
    default: one.kind < other.kind
    }
  }

  private var kind: Int {
    switch self {
    case .null: 0
    case .integer: 1
    case .real: 2
    case .text: 3
    case .bytes: 4
    case .reference: 5
    case .superseded: 6
    case .counter: 7
    case .deletion: 8
    // What a commit contains in its place has the same stamp, and replaces it on the device.
    case .asset(let asset): asset.sealed == nil ? -1 : 9
    case .position: 10
    case .versions: 11
    }
  }
}

/// A value in a record, with the stamp of the save that wrote it.
package struct Field: Hashable, Sendable {
  package let property: PropertyID
  package var value: FieldValue
  package var stamp: Stamp
  /// How the value is joined with others.
  package let rule: MergeRule

  package init(_ property: PropertyID, _ value: FieldValue, _ stamp: Stamp, _ rule: MergeRule = .latest) {
    (self.property, self.value, self.stamp, self.rule) = (property, value, stamp, rule)
  }

  /// Returns the field with another value, with the stamp of the former one.
  package func replacing(_ value: FieldValue) -> Field { Field(property, value, stamp, rule) }
}
