// RowChunk: the shared memory behind row images.

/// A block of memory that holds row images; it lives as long as one of them does.
///
/// One ``RowWriter`` writes it before any image of it is handed out, and nobody does afterwards: that makes it safe to share.
public final class RowChunk: @unchecked Sendable {  // the bytes are immutable once an image can be seen
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
}
