// RowList+Order: rows in the order of their values.
import Foundation
import ObjectModel

/// A key of an order of rows: a slot of theirs. Rows without a value come first when ascending, last when descending.
package struct RowSortKey: Sendable {
  package enum Kind: Sendable {
    case int, real, text
  }
  private let slot: Int
  private let kind: Kind
  private let isAscending: Bool

  package init(slot: Int, kind: Kind, isAscending: Bool) {
    self.slot = slot
    self.kind = kind
    self.isAscending = isAscending
  }

  /// The first word of a row's value.
  fileprivate func word(_ row: UnsafeRawPointer) -> UInt64 {
    if RowImage.isNull(row, slot) { return SortWord.none.directed(isAscending) }
    switch kind {
    case .int: return SortWord(RowImage.word(row, slot)).directed(isAscending)
    case .real: return SortWord(RowImage.real(row, slot)).directed(isAscending)
    case .text: return SortWord(RowImage.bytes(row, slot)).directed(isAscending)
    }
  }

  /// The order of two rows: negative where the left one comes first.
  fileprivate func order(_ left: UnsafeRawPointer, _ right: UnsafeRawPointer) -> Int {
    let order: Int
    switch (RowImage.isNull(left, slot), RowImage.isNull(right, slot)) {
    case (true, true): return 0
    case (true, false): order = -1
    case (false, true): order = 1
    case (false, false):
      switch kind {
      case .int: order = SortWord.order(RowImage.word(left, slot), RowImage.word(right, slot))
      case .real: order = SortWord.order(RowImage.real(left, slot), RowImage.real(right, slot))
      case .text: order = SortWord.compare(RowImage.bytes(left, slot), RowImage.bytes(right, slot))
      }
    }
    return isAscending ? order : -order
  }
}

/// The beginning of a value as a number: values are in the order of their numbers, and equal numbers say nothing.
@usableFromInline package struct SortWord {
  @usableFromInline let value: UInt64

  @inlinable init(value: UInt64) { self.value = value }

  /// So many bytes of a text are in it.
  package static var byteCount: Int { 8 }

  /// No value, which is before all values.
  @inlinable package static var none: SortWord { SortWord(value: 0) }

  @inlinable package init(_ integer: Int64) { value = UInt64(bitPattern: integer) ^ 1 &<< 63 }

  @inlinable package init(_ real: Double) {
    // Both zeros are equal.
    let bits = (real == 0 ? 0.0 : real).bitPattern
    value = bits &>> 63 == 0 ? bits | 1 &<< 63 : ~bits
  }

  @inlinable package init(_ bytes: UnsafeRawBufferPointer) {
    if bytes.count >= 8 {
      value = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
    } else {
      var word: UInt64 = 0
      for byte in bytes { word = word &<< 8 | UInt64(byte) }
      value = bytes.isEmpty ? 0 : word &<< UInt64(64 &- 8 &* bytes.count)
    }
  }

  /// The number in an order that ascends or descends.
  @inlinable package func directed(_ isAscending: Bool) -> UInt64 { isAscending ? value : ~value }

  /// The order of numbers: negative where the left one comes first.
  @inline(__always) package static func order<Number: Comparable>(_ left: Number, _ right: Number) -> Int {
    left < right ? -1 : left > right ? 1 : 0
  }

  /// The order of bytes: negative where the left ones come first.
  package static func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    let common = min(left.count, right.count)
    if common > 0, let first = left.baseAddress, let second = right.baseAddress {
      let order = memcmp(first, second, common)
      if order != 0 { return Int(order) }
    }
    return left.count - right.count
  }
}

extension RowList {
  /// A row by its address, for as long as the list is held: what is read of it in a loop is not retained.
  private struct Entry {
    let word: UInt64
    let row: UnsafeRawPointer
  }

  /// The rows in an order; equal ones in that of their keys. Every row has to have the slots.
  package func sorted(by keys: [RowSortKey]) -> RowList {
    guard let first = keys.first, count > 1 else { return self }
    var entries: ContiguousArray<Entry> = []
    entries.reserveCapacity(count)
    for address in rows {
      entries.append(Entry(word: first.word(address.row), row: address.row))
    }
    entries.sort { left, right in
      if left.word != right.word { return left.word < right.word }
      for key in keys {
        let order = key.order(left.row, right.row)
        if order != 0 { return order < 0 }
      }
      return RowImage.key(left.row) < RowImage.key(right.row)
    }
    return RowList(chunks: chunks, rows: ContiguousArray(entries.lazy.map { Address($0.row) }))
  }

  /// The rows at some positions, in their order.
  package func rows(at positions: some Sequence<Int>) -> RowList {
    RowList(chunks: chunks, rows: ContiguousArray(positions.lazy.map { self.rows[$0] }))
  }
}
