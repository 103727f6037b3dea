// RowList: rows in order, with the chunks that hold them.
public import ObjectModel

/// Rows in order. It takes eight bytes a row beside the chunks, and makes an image when it is asked for.
public struct RowList: Sendable, RandomAccessCollection {
  /// Where a row lies.
  @frozen @usableFromInline struct Address: Sendable {
    @usableFromInline let chunk: UInt32
    @usableFromInline let offset: UInt32
    @inlinable init(chunk: UInt32, offset: UInt32) {
      self.chunk = chunk
      self.offset = offset
    }
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
  @inlinable public subscript(position: Int) -> RowImage {
    let address = rows[position]
    let chunk = chunks[Int(address.chunk)]
    return RowImage(chunk: chunk, base: UnsafeRawPointer(chunk.memory + Int(address.offset)))
  }

  /// What the row at a position stands for.
  @inlinable package func reference(_ position: Int) -> ObjectReference {
    let address = rows[position]
    let base = chunks[Int(address.chunk)].memory + Int(address.offset)
    return ObjectReference(
      entity: Int(base.load(fromByteOffset: 4, as: UInt16.self)), key: base.load(fromByteOffset: 8, as: Int64.self))
  }

  /// What the rows stand for, in order.
  package var references: [ObjectReference] { indices.map { reference($0) } }

  /// Gives the rows their keys. Only for rows that nobody else has seen yet.
  func setKeys(_ keys: [Int64]) {
    for (address, key) in zip(rows, keys) {
      (chunks[Int(address.chunk)].memory + Int(address.offset)).storeBytes(of: key, toByteOffset: 8, as: Int64.self)
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
    var numbers: [ObjectIdentifier: UInt32] = [:]
    for image in images {
      let number = numbers[ObjectIdentifier(image.chunk)] ?? UInt32(chunks.count)
      if Int(number) == chunks.count {
        chunks.append(image.chunk)
        numbers[ObjectIdentifier(image.chunk)] = number
      }
      rows.append(Address(chunk: number, offset: UInt32(image.base - UnsafeRawPointer(image.chunk.memory))))
    }
    self.init(chunks: chunks, rows: rows)
  }
}
