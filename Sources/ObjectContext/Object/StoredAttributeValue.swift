// StoredAttributeValue: attribute values read straight from a row.
public import Foundation
public import ObjectModel
public import ObjectStore

/// An attribute's Swift type that can be read from a row without going through a ``Slot``.
public protocol _StoredAttributeValue: AttributeValue {
  /// The value of a row's slot; nil when there is none.
  ///
  /// - Parameters:
  ///   - row: The base of a row image.
  ///   - slot: The slot number, of an attribute of the type.
  static func _read(_ row: UnsafeRawPointer, _ slot: Int) -> Self?

  /// Whether a row's slot, of which `_read(_:_:)` has made nothing, holds something that is no value of the type: damage.
  ///
  /// - Parameters:
  ///   - row: The base of a row image.
  ///   - slot: The slot number, of an attribute of the type.
  static func _isUnreadable(_ row: UnsafeRawPointer, _ slot: Int) -> Bool

  /// The word that a row holds for a value; nil for types whose values lie behind the words.
  static func _word(of value: Self) -> Int64?
}

extension _StoredAttributeValue {
  /// Whether the store found something there that is no value of the type.
  @inlinable public static func _isUnreadable(_ row: UnsafeRawPointer, _ slot: Int) -> Bool { RowImage.isUnreadable(row, slot) }
  /// No word: the values of most types that are no numbers lie behind the words.
  @inlinable public static func _word(of value: Self) -> Int64? { nil }
}

/// Reads of a row's words by its base.
@usableFromInline enum RowWords {
  /// The word; nil when the slot is null. Null bits are asked for only where the word is 0.
  @inlinable static func word(_ row: UnsafeRawPointer, _ slot: Int) -> Int64? {
    let word = RowImage.word(row, slot)
    return word != 0 || !RowImage.isNull(row, slot) ? word : nil
  }
  @inlinable static func bytes(_ row: UnsafeRawPointer, _ slot: Int) -> UnsafeRawBufferPointer? {
    word(row, slot) == nil ? nil : RowImage.bytes(row, slot)
  }
  /// Stores a word in an overlay's row of up to 64 slots, and notes the slot in the masks before it: it has a value, is dirty, was changed in the event.
  @inlinable static func set(_ word: Int64, _ slot: Int, inOverlay row: UnsafeMutableRawPointer) {
    row.storeBytes(of: word, toByteOffset: RowImage.wordsOffset &+ slot &* 8, as: Int64.self)
    let bit: UInt64 = 1 &<< UInt64(truncatingIfNeeded: slot)
    let nulls = row + (RowImage.wordsOffset &+ RowImage.slotCount(row) &* 8)
    nulls.storeBytes(of: nulls.load(as: UInt64.self) & ~bit, as: UInt64.self)
    for offset in 1...3 {
      let mask = row - offset &* 8
      mask.storeBytes(of: mask.load(as: UInt64.self) | bit, as: UInt64.self)
    }
  }
  @usableFromInline static func text(_ bytes: UnsafeRawBufferPointer) -> String? { RowImage.text(bytes) }
  /// Whether a value that could not be read is there.
  @usableFromInline static func hasSomething(_ row: UnsafeRawPointer, _ slot: Int) -> Bool {
    word(row, slot) != nil || RowImage.isUnreadable(row, slot)
  }
}

extension Int64: _StoredAttributeValue {
  /// The word of the value.
  @inlinable public static func _word(of value: Int64) -> Int64? { value }
  /// Reads the value from a row; nil when there is none.
  @inlinable public static func _read(_ row: UnsafeRawPointer, _ slot: Int) -> Int64? { RowWords.word(row, slot) }
}
extension Int: _StoredAttributeValue {
  /// The word of the value.
  @inlinable public static func _word(of value: Int) -> Int64? { Int64(value) }
  /// Reads the value from a row; nil when there is none.
  @inlinable public static func _read(_ row: UnsafeRawPointer, _ slot: Int) -> Int? {
    RowWords.word(row, slot).map { Int(truncatingIfNeeded: $0) }
  }
}
extension Int32: _StoredAttributeValue {
  /// The word of the value.
  @inlinable public static func _word(of value: Int32) -> Int64? { Int64(value) }
  /// Reads the value from a row; nil when there is none.
  @inlinable public static func _read(_ row: UnsafeRawPointer, _ slot: Int) -> Int32? {
    RowWords.word(row, slot).map { Int32(truncatingIfNeeded: $0) }
  }
}
extension Int16: _StoredAttributeValue {
  /// The word of the value.
  @inlinable public static func _word(of value: Int16) -> Int64? { Int64(value) }
  /// Reads the value from a row; nil when there is none.
  @inlinable public static func _read(_ row: UnsafeRawPointer, _ slot: Int) -> Int16? {
    RowWords.word(row, slot).map { Int16(truncatingIfNeeded: $0) }
  }
}
extension Bool: _StoredAttributeValue {
  /// The word of the value.
  @inlinable public static func _word(of value: Bool) -> Int64? { value ? 1 : 0 }
  /// Reads the value from a row; nil when there is none.
  @inlinable public static func _read(_ row: UnsafeRawPointer, _ slot: Int) -> Bool? { RowWords.word(row, slot).map { $0 != 0 } }
}
extension Double: _StoredAttributeValue {
  /// The word of the value. The sum is 0.0 for -0.0, which stores keep as 0.0.
  @inlinable public static func _word(of value: Double) -> Int64? { Int64(bitPattern: (value + 0).bitPattern) }
  /// Reads the value from a row; nil when there is none.
  @inlinable public static func _read(_ row: UnsafeRawPointer, _ slot: Int) -> Double? {
    RowWords.word(row, slot).map { Double(bitPattern: UInt64(bitPattern: $0)) }
  }
}
extension Float: _StoredAttributeValue {
  /// The word of the value.
  @inlinable public static func _word(of value: Float) -> Int64? { Double._word(of: Double(value)) }
  /// Reads the value from a row; nil when there is none.
  @inlinable public static func _read(_ row: UnsafeRawPointer, _ slot: Int) -> Float? { Double._read(row, slot).map(Float.init) }
}
extension Date: _StoredAttributeValue {
  /// The word of the value.
  @inlinable public static func _word(of value: Date) -> Int64? { Double._word(of: value.timeIntervalSinceReferenceDate) }
  /// Reads the value from a row; nil when there is none.
  @inlinable public static func _read(_ row: UnsafeRawPointer, _ slot: Int) -> Date? {
    Double._read(row, slot).map(Date.init(timeIntervalSinceReferenceDate:))
  }
}
extension String: _StoredAttributeValue {
  /// Reads the value from a row; nil when there is none.
  @inlinable public static func _read(_ row: UnsafeRawPointer, _ slot: Int) -> String? {
    RowWords.bytes(row, slot).flatMap(RowWords.text)
  }
  /// Whether the row, or its store, holds something there.
  @inlinable public static func _isUnreadable(_ row: UnsafeRawPointer, _ slot: Int) -> Bool { RowWords.hasSomething(row, slot) }
}
extension Data: _StoredAttributeValue {
  /// Reads the value from a row; nil when there is none.
  @inlinable public static func _read(_ row: UnsafeRawPointer, _ slot: Int) -> Data? { RowWords.bytes(row, slot).map { Data($0) } }
}
extension UUID: _StoredAttributeValue {
  /// Reads the value from a row; nil when there is none.
  @inlinable public static func _read(_ row: UnsafeRawPointer, _ slot: Int) -> UUID? {
    guard let bytes = RowWords.bytes(row, slot), bytes.count == 16 else { return nil }
    return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
  }
  /// Whether the row, or its store, holds something there.
  @inlinable public static func _isUnreadable(_ row: UnsafeRawPointer, _ slot: Int) -> Bool { RowWords.hasSomething(row, slot) }
}
extension URL: _StoredAttributeValue {
  /// Reads the value from a row; nil when there is none.
  public static func _read(_ row: UnsafeRawPointer, _ slot: Int) -> URL? { String._read(row, slot).flatMap(URL.init(string:)) }
  /// Whether the row, or its store, holds something there.
  @inlinable public static func _isUnreadable(_ row: UnsafeRawPointer, _ slot: Int) -> Bool { RowWords.hasSomething(row, slot) }
}
extension Decimal: _StoredAttributeValue {
  /// Reads the value from a row; nil when there is none.
  public static func _read(_ row: UnsafeRawPointer, _ slot: Int) -> Decimal? { Data._read(row, slot).flatMap(DecimalCoding.decode) }
  /// Whether the row, or its store, holds something there.
  @inlinable public static func _isUnreadable(_ row: UnsafeRawPointer, _ slot: Int) -> Bool { RowWords.hasSomething(row, slot) }
}
