// RowList: rows in order, with the chunks that hold them.
public import ObjectModel

/// Rows in order. It takes eight bytes a row beside the chunks, and makes an image when it is asked for.
public struct RowList: Sendable, RandomAccessCollection {
  /// Where a row begins.
  @frozen @usableFromInline struct Address: @unchecked Sendable {  // the list has the chunks of its rows, which nobody changes
    @usableFromInline let row: UnsafeRawPointer
    @inlinable init(_ row: UnsafeRawPointer) { self.row = row }
  }
  @usableFromInline let chunks: [RowChunk]
  @usableFromInline let rows: ContiguousArray<Address>

  init(chunks: [RowChunk], rows: ContiguousArray<Address>) {
    self.chunks = chunks
    self.rows = rows
  }

  /// No rows.
  public init() {
    chunks = []
    rows = []
  }

  /// 0.
  public var startIndex: Int { 0 }
  /// The number of rows.
  @inlinable public var endIndex: Int { rows.count }
  /// The row at a position. The image keeps its chunk alive.
  @inlinable public subscript(position: Int) -> RowImage { RowImage(heldRow: rows[position].row) }

  /// What the row at a position stands for.
  @inlinable package func reference(_ position: Int) -> ObjectReference {
    RowImage.reference(base(position))
  }

  /// Where the row at a position begins; valid as long as the list is held.
  @inlinable package func base(_ position: Int) -> UnsafeRawPointer { rows[position].row }

  /// A value of the row at a position. Nothing is retained for a number.
  ///
  /// - Throws: ``StoreError`` where what is stored is no value of the kind.
  package func slot(_ index: Int, kind: SlotKind, at position: Int) throws -> Slot {
    let row = base(position)
    if !RowImage.isNull(row, index) {
      if kind == .int || kind == .reference { return .int(RowImage.word(row, index)) }
      if kind == .real { return .real(RowImage.real(row, index)) }
    }
    return try self[position].slot(index, kind: kind)
  }

  /// What the rows stand for, in order.
  package var references: [ObjectReference] { indices.map { reference($0) } }

  /// Gives the rows their keys. Only for rows that nobody else has seen yet.
  func setKeys(_ keys: [Int64]) {
    for (address, key) in zip(rows, keys) {
      RowImage.setKey(key, of: UnsafeMutableRawPointer(mutating: address.row))
    }
  }

  /// The bytes of the chunks.
  public var byteCount: Int { chunks.reduce(0) { $0 + $1.capacity } }
}

extension RowList {
  /// Rows from anywhere, in order, without a copy: their chunks live as long as the list.
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
