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
