public import Foundation

/// A stored value of dynamic type: the content of a column, also used in key-value access, statement binders and overlays.
///
/// Integers and booleans are stored as ``int(_:)``; floating-point numbers and dates (seconds since 2001-01-01 UTC) as ``real(_:)``;
/// strings and URIs as ``text(_:)``; UUIDs (16 bytes), decimals (``DecimalCoding``), binary and transformed values as ``bytes(_:)``. A
/// to-one relationship is an ``int(_:)`` with a packed ``ObjectReference``.
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

  /// Whether the value is null.
  @inlinable public var isNull: Bool {
    if case .null = self { return true }
    return false
  }

  /// The value as the Swift type of its storage form; nil if it is null.
  package var untypedValue: (any Sendable)? {
    switch self {
    case .null: nil
    case .int(let value): value
    case .real(let value): value
    case .text(let value): value
    case .bytes(let value): value
    }
  }

  /// Returns whether two values are equal. Text is compared bytewise, as in columns, whereas `String` treats canonically equivalent strings
  /// as equal.
  public static func == (left: Slot, right: Slot) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.int(let left), .int(let right)): left == right
    case (.real(let left), .real(let right)): left == right
    // The first comparison is fast and excludes most strings.
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
    // Bytewise equal strings are equal, so their hash is suitable.
    case .text(let value): hasher.combine(value)
    case .bytes(let value): hasher.combine(value)
    }
  }
}

/// The storage form of a slot's value in a row image and in a column.
public enum SlotKind: UInt8, Sendable, Hashable {
  /// A 64-bit integer.
  case int
  /// A double.
  case real
  /// UTF-8 text after the row's words.
  case text
  /// Bytes after the row's words.
  case bytes
  /// A packed ``ObjectReference`` to the destination of a to-one relationship.
  case reference
  /// No storage: a transient property.
  case none
}
