// RowChunk: the shared memory behind row images.

/// A block of memory that holds row images; it lives as long as one of them does.
///
/// One ``RowWriter`` writes each row before an image of it is handed out, and nobody does afterwards: that makes it safe to share. Rows that follow in
/// the same chunk are other bytes. A chunk whose rows have large values gets no more rows once images of them were handed out.
public final class RowChunk: @unchecked Sendable {  // the bytes of a row are immutable once an image of it can be seen
  @usableFromInline let memory: UnsafeMutableRawPointer
  @usableFromInline let capacity: Int
  /// The large values that rows of the chunk refer to by number.
  final var externals: [ExternalData] = []

  @usableFromInline init(capacity: Int) {
    self.capacity = capacity
    memory = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
  }

  deinit { memory.deallocate() }

  /// The bytes of a chunk that holds many rows: 16 KiB, of which the last row wastes little.
  @usableFromInline static var standardCapacity: Int { 16_384 }

  /// The bytes of a chunk for rows that are read one at a time: one that is kept keeps no more than these.
  static var smallCapacity: Int { 4_096 }
}
