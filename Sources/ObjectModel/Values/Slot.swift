// Slot: the value every other layer speaks at its dynamic edge.
public import Foundation

/// A stored value: what a column holds, and what crosses the dynamic edges of the library (key-value access, binders, overlays).
///
/// Integers and booleans are held as ``int(_:)``, floating-point numbers and dates
/// (seconds since 2001-01-01 UTC) as ``real(_:)``, strings and URIs as ``text(_:)``, UUIDs (16 bytes), decimals (``DecimalCoding``), binary and
/// transformed values as ``bytes(_:)``. A to-one relationship is an ``int(_:)`` that packs an ``ObjectReference``.
public enum Slot: Sendable, Hashable {
  /// No value.
  case null
  /// An integer, a boolean (0 or 1) or a packed object reference.
  case int(Int64)
  /// A floating-point number, or a date as seconds since the reference date.
  case real(Double)
  /// A string or an absolute URI.
  case text(String)
  /// Bytes: binary data, a UUID, an encoded decimal or a transformed value.
  case bytes(Data)

  /// Whether the slot holds no value.
  @inlinable public var isNull: Bool {
    if case .null = self { return true }
    return false
  }

  /// Whether two values are the same. Texts are compared by their bytes, as columns are: `String` takes é, and e with a combining accent,
  /// for the same.
  public static func == (left: Slot, right: Slot) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.int(let left), .int(let right)): left == right
    case (.real(let left), .real(let right)): left == right
    // The first comparison is fast and rules most texts out.
    case (.text(let left), .text(let right)): left == right && left.utf8.elementsEqual(right.utf8)
    case (.bytes(let left), .bytes(let right)): left == right
    default: false
    }
  }

  /// Hashes the value.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .int(let value): hasher.combine(value)
    case .real(let value): hasher.combine(value)
    // Equal bytes are equal strings, so that their hash will do.
    case .text(let value): hasher.combine(value)
    case .bytes(let value): hasher.combine(value)
    }
  }
}

/// How a slot's value is held in a row image's 8-byte word and in a column.
public enum SlotKind: UInt8, Sendable, Hashable {
  /// A 64-bit integer.
  case int
  /// A double.
  case real
  /// UTF-8 text behind the words.
  case text
  /// Bytes behind the words.
  case bytes
  /// A packed ``ObjectReference`` to the destination of a to-one relationship.
  case reference
  /// Nothing is stored: a transient attribute.
  case none
}
