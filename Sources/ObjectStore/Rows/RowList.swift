// RowList: rows in order, with the chunks that hold them.

/// Rows in order. Eight bytes a row beside the chunks; an image is made when it is asked for.
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

  public var startIndex: Int { 0 }
  @inlinable public var endIndex: Int { rows.count }
  @inlinable public subscript(position: Int) -> RowImage {
    let address = rows[position]
    let chunk = chunks[Int(address.chunk)]
    return RowImage(chunk: chunk, base: UnsafeRawPointer(chunk.memory + Int(address.offset)))
  }

  /// The bytes of the chunks.
  public var byteCount: Int { chunks.reduce(0) { $0 + $1.capacity } }
}
