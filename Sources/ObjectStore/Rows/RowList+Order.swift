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
  fileprivate func word(_ row: RowList.Place) -> UInt64 {
    if row.isNull(slot) { return SortWord.none.directed(isAscending) }
    switch kind {
    case .int: return SortWord(row.int(slot)).directed(isAscending)
    case .real: return SortWord(row.real(slot)).directed(isAscending)
    case .text: return SortWord(row.bytes(slot)).directed(isAscending)
    }
  }

  /// The order of two rows: negative where the left one comes first.
  fileprivate func order(_ left: RowList.Place, _ right: RowList.Place) -> Int {
    let order: Int
    switch (left.isNull(slot), right.isNull(slot)) {
    case (true, true): return 0
    case (true, false): order = -1
    case (false, true): order = 1
    case (false, false):
      switch kind {
      case .int: order = left.int(slot) < right.int(slot) ? -1 : left.int(slot) > right.int(slot) ? 1 : 0
      case .real: order = left.real(slot) < right.real(slot) ? -1 : left.real(slot) > right.real(slot) ? 1 : 0
      case .text: order = SortWord.compare(left.bytes(slot), right.bytes(slot))
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
  /// Where a row lies, for as long as the list is held: what is read of it in a loop is not retained.
  fileprivate struct Place {
    let base: UnsafeRawPointer

    var key: Int64 { RowImage.key(base) }
    func int(_ slot: Int) -> Int64 { base.load(fromByteOffset: RowImage.wordsOffset &+ slot &* 8, as: Int64.self) }
    func real(_ slot: Int) -> Double { base.load(fromByteOffset: RowImage.wordsOffset &+ slot &* 8, as: Double.self) }

    func isNull(_ slot: Int) -> Bool {
      let slotCount = Int(base.load(fromByteOffset: 6, as: UInt16.self))
      let bits = base.load(fromByteOffset: RowImage.wordsOffset &+ slotCount &* 8 &+ (slot &>> 6) &* 8, as: UInt64.self)
      return bits &>> UInt64(slot & 63) & 1 != 0
    }

    func bytes(_ slot: Int) -> UnsafeRawBufferPointer {
      let word = UInt64(bitPattern: int(slot))
      return UnsafeRawBufferPointer(start: base + Int(word & 0xFFFF_FFFF), count: Int(word &>> 32))
    }
  }

  private struct Entry {
    let word: UInt64
    let row: Place
  }

  /// The rows in an order; equal ones in that of their keys. Every row has to have the slots.
  package func sorted(by keys: [RowSortKey]) -> RowList {
    guard let first = keys.first, count > 1 else { return self }
    var entries: ContiguousArray<Entry> = []
    entries.reserveCapacity(count)
    for address in rows {
      let row = Place(base: address.row)
      entries.append(Entry(word: first.word(row), row: row))
    }
    entries.sort { left, right in
      if left.word != right.word { return left.word < right.word }
      for key in keys {
        let order = key.order(left.row, right.row)
        if order != 0 { return order < 0 }
      }
      return left.row.key < right.row.key
    }
    return RowList(chunks: chunks, rows: ContiguousArray(entries.lazy.map { Address($0.row.base) }))
  }

  /// The rows at some positions, in their order.
  package func rows(at positions: some Sequence<Int>) -> RowList {
    RowList(chunks: chunks, rows: ContiguousArray(positions.lazy.map { self.rows[$0] }))
  }
}
