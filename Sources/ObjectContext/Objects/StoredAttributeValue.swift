public import Foundation
public import ObjectModel
public import ObjectStore

/// The Swift type of an attribute that can be read from a row without an intermediate ``Slot``.
public protocol StoredAttributeValue: AttributeValue {
  /// Reads the value of a slot in a row; nil if there is none.
  ///
  /// - Parameters:
  ///   - row: The base address of a row image.
  ///   - slot: The slot number of an attribute of this type.
  @_spi(Generated) static func read(_ row: UnsafeRawPointer, _ slot: Int) -> Self?

  /// Returns whether a slot for which `read(_:_:)` returned nil contains an invalid value, which indicates damage.
  ///
  /// - Parameters:
  ///   - row: The base address of a row image.
  ///   - slot: The slot number of an attribute of this type.
  @_spi(Generated) static func isUnreadable(_ row: UnsafeRawPointer, _ slot: Int) -> Bool

  /// The 64-bit word that a row stores for a value; nil for types whose values are stored after the words.
  @_spi(Generated) static func word(of value: Self) -> Int64?
}

extension StoredAttributeValue {
  /// Returns whether the store marked the slot's value as invalid.
  @_spi(Generated) @inlinable public static func isUnreadable(_ row: UnsafeRawPointer, _ slot: Int) -> Bool {
    RowImage.isUnreadable(row, slot)
  }
  /// Returns nil: most nonnumeric types are stored after the words.
  @_spi(Generated) @inlinable public static func word(of value: Self) -> Int64? { nil }
}

/// Access to the words of a row by its base address.
@usableFromInline enum RowWords {
  /// Returns the word of a slot; nil if the slot is null. Checks the null bit only if the word is 0.
  @inlinable static func word(_ row: UnsafeRawPointer, _ slot: Int) -> Int64? {
    let word = RowImage.word(row, slot)
    return word != 0 || !RowImage.isNull(row, slot) ? word : nil
  }
  @inlinable static func bytes(_ row: UnsafeRawPointer, _ slot: Int) -> UnsafeRawBufferPointer? {
    word(row, slot) == nil ? nil : RowImage.bytes(row, slot)
  }
  /// Stores a word in an overlay's row of up to 64 slots and updates the preceding masks: the slot has a value, is dirty, and has changed
  /// in the current event.
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
  /// Returns whether the slot contains a value or is marked as unreadable.
  @usableFromInline static func hasSomething(_ row: UnsafeRawPointer, _ slot: Int) -> Bool {
    word(row, slot) != nil || RowImage.isUnreadable(row, slot)
  }
}

extension Int64: StoredAttributeValue {
  /// Returns the word of a value.
  @_spi(Generated) @inlinable public static func word(of value: Int64) -> Int64? { value }
  /// Reads the value from a row; nil if there is none.
  @_spi(Generated) @inlinable public static func read(_ row: UnsafeRawPointer, _ slot: Int) -> Int64? { RowWords.word(row, slot) }
}
extension Int: StoredAttributeValue {
  /// Returns the word of a value.
  @_spi(Generated) @inlinable public static func word(of value: Int) -> Int64? { Int64(value) }
  /// Reads the value from a row; nil if there is none.
  @_spi(Generated) @inlinable public static func read(_ row: UnsafeRawPointer, _ slot: Int) -> Int? {
    RowWords.word(row, slot).map { Int(truncatingIfNeeded: $0) }
  }
}
extension Int32: StoredAttributeValue {
  /// Returns the word of a value.
  @_spi(Generated) @inlinable public static func word(of value: Int32) -> Int64? { Int64(value) }
  /// Reads the value from a row; nil if there is none.
  @_spi(Generated) @inlinable public static func read(_ row: UnsafeRawPointer, _ slot: Int) -> Int32? {
    RowWords.word(row, slot).map { Int32(truncatingIfNeeded: $0) }
  }
}
extension Int16: StoredAttributeValue {
  /// Returns the word of a value.
  @_spi(Generated) @inlinable public static func word(of value: Int16) -> Int64? { Int64(value) }
  /// Reads the value from a row; nil if there is none.
  @_spi(Generated) @inlinable public static func read(_ row: UnsafeRawPointer, _ slot: Int) -> Int16? {
    RowWords.word(row, slot).map { Int16(truncatingIfNeeded: $0) }
  }
}
extension Bool: StoredAttributeValue {
  /// Returns the word of a value.
  @_spi(Generated) @inlinable public static func word(of value: Bool) -> Int64? { value ? 1 : 0 }
  /// Reads the value from a row; nil if there is none.
  @_spi(Generated) @inlinable public static func read(_ row: UnsafeRawPointer, _ slot: Int) -> Bool? {
    RowWords.word(row, slot).map { $0 != 0 }
  }
}
extension Double: StoredAttributeValue {
  /// Returns the word of a value. Adding 0 converts -0.0 to 0.0, which is the form that stores keep.
  @_spi(Generated) @inlinable public static func word(of value: Double) -> Int64? { Int64(bitPattern: (value + 0).bitPattern) }
  /// Reads the value from a row; nil if there is none.
  @_spi(Generated) @inlinable public static func read(_ row: UnsafeRawPointer, _ slot: Int) -> Double? {
    RowWords.word(row, slot).map { Double(bitPattern: UInt64(bitPattern: $0)) }
  }
}
extension Float: StoredAttributeValue {
  /// Returns the word of a value.
  @_spi(Generated) @inlinable public static func word(of value: Float) -> Int64? { Double.word(of: Double(value)) }
  /// Reads the value from a row; nil if there is none.
  @_spi(Generated) @inlinable public static func read(_ row: UnsafeRawPointer, _ slot: Int) -> Float? {
    Double.read(row, slot).map(Float.init)
  }
}
extension Date: StoredAttributeValue {
  /// Returns the word of a value.
  @_spi(Generated) @inlinable public static func word(of value: Date) -> Int64? { Double.word(of: value.timeIntervalSinceReferenceDate) }
  /// Reads the value from a row; nil if there is none.
  @_spi(Generated) @inlinable public static func read(_ row: UnsafeRawPointer, _ slot: Int) -> Date? {
    Double.read(row, slot).map(Date.init(timeIntervalSinceReferenceDate:))
  }
}
extension String: StoredAttributeValue {
  /// Reads the value from a row; nil if there is none.
  @_spi(Generated) @inlinable public static func read(_ row: UnsafeRawPointer, _ slot: Int) -> String? {
    RowWords.bytes(row, slot).flatMap(RowWords.text)
  }
  /// Returns whether the row contains an unreadable value.
  @_spi(Generated) @inlinable public static func isUnreadable(_ row: UnsafeRawPointer, _ slot: Int) -> Bool {
    RowWords.hasSomething(row, slot)
  }
}
extension Data: StoredAttributeValue {
  /// Reads the value from a row; nil if there is none.
  @_spi(Generated) @inlinable public static func read(_ row: UnsafeRawPointer, _ slot: Int) -> Data? {
    RowWords.bytes(row, slot).map { Data($0) }
  }
}
extension UUID: StoredAttributeValue {
  /// Reads the value from a row; nil if there is none.
  @_spi(Generated) @inlinable public static func read(_ row: UnsafeRawPointer, _ slot: Int) -> UUID? {
    guard let bytes = RowWords.bytes(row, slot), bytes.count == 16 else { return nil }
    return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
  }
  /// Returns whether the row contains an unreadable value.
  @_spi(Generated) @inlinable public static func isUnreadable(_ row: UnsafeRawPointer, _ slot: Int) -> Bool {
    RowWords.hasSomething(row, slot)
  }
}
extension URL: StoredAttributeValue {
  /// Reads the value from a row; nil if there is none.
  @_spi(Generated) public static func read(_ row: UnsafeRawPointer, _ slot: Int) -> URL? {
    String.read(row, slot).flatMap(URL.init(string:))
  }
  /// Returns whether the row contains an unreadable value.
  @_spi(Generated) @inlinable public static func isUnreadable(_ row: UnsafeRawPointer, _ slot: Int) -> Bool {
    RowWords.hasSomething(row, slot)
  }
}
extension Decimal: StoredAttributeValue {
  /// Reads the value from a row; nil if there is none.
  @_spi(Generated) public static func read(_ row: UnsafeRawPointer, _ slot: Int) -> Decimal? {
    Data.read(row, slot).flatMap(DecimalCoding.decode)
  }
  /// Returns whether the row contains an unreadable value.
  @_spi(Generated) @inlinable public static func isUnreadable(_ row: UnsafeRawPointer, _ slot: Int) -> Bool {
    RowWords.hasSomething(row, slot)
  }
}
