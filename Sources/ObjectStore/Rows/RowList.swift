import Foundation
public import ObjectModel

/// An ordered collection of rows. It takes 8 bytes a row in addition to the chunks, and creates images on access.
public struct RowList: Sendable, RandomAccessCollection {
  @frozen @usableFromInline struct Address: @unchecked Sendable {  // the list retains the chunks of its rows, which are immutable
    @usableFromInline let row: UnsafeRawPointer
    @inlinable init(_ row: UnsafeRawPointer) { self.row = row }
  }
  @usableFromInline let chunks: [RowChunk]
  @usableFromInline let rows: ContiguousArray<Address>

  init(chunks: [RowChunk], rows: ContiguousArray<Address>) {
    self.chunks = chunks
    self.rows = rows
  }

  /// Creates an empty list.
  public init() {
    chunks = []
    rows = []
  }

  /// 0.
  public var startIndex: Int { 0 }
  /// The number of rows.
  @inlinable public var endIndex: Int { rows.count }
  /// The row at a position. The image retains its chunk.
  @inlinable public subscript(position: Int) -> RowImage { RowImage(heldRow: rows[position].row) }

  /// Returns the entity and key of the row at a position.
  @inlinable package func reference(_ position: Int) -> ObjectReference {
    RowImage.reference(base(position))
  }

  /// Returns the address of the row at a position, valid as long as the list is held.
  @inlinable package func base(_ position: Int) -> UnsafeRawPointer { rows[position].row }

  /// Returns a value of the row at a position. Numbers are read without a retain.
  ///
  /// - Throws: ``StoreError`` if the stored value is not of the given kind.
  package func slot(_ index: Int, kind: SlotKind, at position: Int) throws -> Slot {
    let row = base(position)
    if !RowImage.isNull(row, index) {
      if kind == .int || kind == .reference { return .int(RowImage.word(row, index)) }
      if kind == .real { return .real(RowImage.real(row, index)) }
    }
    return try self[position].slot(index, kind: kind)
  }

  /// The entities and keys of the rows, in order.
  package var references: [ObjectReference] { indices.map { reference($0) } }

  /// Sets the keys of the rows. Only for rows that are not shared yet.
  func setKeys(_ keys: [Int64]) {
    for (address, key) in zip(rows, keys) {
      RowImage.setKey(key, of: UnsafeMutableRawPointer(mutating: address.row))
    }
  }

  /// The total capacity of the chunks in bytes.
  public var byteCount: Int { chunks.reduce(0) { $0 + $1.capacity } }
}

extension RowList {
  /// Creates a list of existing rows, in order, without copying them. The list retains their chunks.
  public init(_ images: some Sequence<RowImage>) {
    var chunks: [RowChunk] = []
    var rows: ContiguousArray<Address> = []
    var known: Set<ObjectIdentifier> = []
    for image in images {
      if known.insert(ObjectIdentifier(image.chunk)).inserted { chunks.append(image.chunk) }
      rows.append(Address(image.base))
    }
    self.init(chunks: chunks, rows: rows)
  }
}

// MARK: - Sorting rows

/// A sort key: a slot and a direction. Rows without a value come first if ascending, last if descending.
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

  fileprivate func word(_ row: UnsafeRawPointer) -> UInt64 {
    if RowImage.isNull(row, slot) { return SortWord.none.directed(isAscending) }
    switch kind {
    case .int: return SortWord(RowImage.word(row, slot)).directed(isAscending)
    case .real: return SortWord(RowImage.real(row, slot)).directed(isAscending)
    case .text: return SortWord(RowImage.bytes(row, slot)).directed(isAscending)
    }
  }

  /// Compares two rows. Negative if the left one comes first.
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

/// The prefix of a value as an order-preserving integer. Different integers order their values; equal integers require a comparison of the
/// full values.
@usableFromInline package struct SortWord {
  @usableFromInline let value: UInt64

  @inlinable init(value: UInt64) { self.value = value }

  /// The number of bytes of a text that fit in the integer.
  package static var byteCount: Int { 8 }

  /// The integer for a missing value, which sorts before all values.
  @inlinable package static var none: SortWord { SortWord(value: 0) }

  @inlinable package init(_ integer: Int64) { value = UInt64(bitPattern: integer) ^ 1 &<< 63 }

  @inlinable package init(_ real: Double) {
    // Positive and negative zero are equal.
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

  /// Returns the integer, inverted for a descending order.
  @inlinable package func directed(_ isAscending: Bool) -> UInt64 { isAscending ? value : ~value }

  /// Compares two numbers. Negative if the left one comes first.
  @inline(__always) package static func order<Number: Comparable>(_ left: Number, _ right: Number) -> Int {
    left < right ? -1 : left > right ? 1 : 0
  }

  /// Compares bytes lexicographically. Negative if the left ones come first.
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
  /// A row address and the first word of its sort value. Reading a row by address in the loop costs no retain; the list keeps the rows
  /// alive.
  private struct Entry {
    let word: UInt64
    let row: UnsafeRawPointer
  }

  /// Returns the rows sorted by the given keys, and by row key if those are equal. Every row must have the slots.
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

  /// Returns the rows at the given positions, in the order of the positions.
  package func rows(at positions: some Sequence<Int>) -> RowList {
    RowList(chunks: chunks, rows: ContiguousArray(positions.lazy.map { self.rows[$0] }))
  }
}
