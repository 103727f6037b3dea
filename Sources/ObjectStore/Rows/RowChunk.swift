// RowChunk: the shared memory behind row images.

/// A block of memory that holds row images; it lives as long as one of them does.
///
/// One ``RowWriter`` writes each row before an image of it is handed out, and nobody does afterwards: that makes it safe to share. Rows that follow in
/// the same chunk are other bytes. A chunk whose rows have large values gets no more rows once images of them were handed out.
public final class RowChunk: @unchecked Sendable {  // the bytes of a row are immutable once an image of it can be seen
  /// Where the rows begin. Before it stands the chunk's own address, so that it is found by the address of a row.
  @usableFromInline let memory: UnsafeMutableRawPointer
  @usableFromInline let capacity: Int
  /// The large values that rows of the chunk refer to by number.
  final var externals: [ExternalData] = []

  @usableFromInline init(capacity: Int) {
    self.capacity = capacity
    memory = UnsafeMutableRawPointer.allocate(byteCount: Self.headSize + capacity, alignment: 8) + Self.headSize
    // A row is asked for its chunk only by who holds it: nothing is retained.
    (memory - Self.headSize).storeBytes(of: Unmanaged.passUnretained(self).toOpaque(), as: UnsafeMutableRawPointer.self)
  }

  deinit { (memory - Self.headSize).deallocate() }

  /// The bytes before the rows.
  @usableFromInline static var headSize: Int { 8 }

  /// The bytes of a chunk that holds many rows: 32 KiB, of which the last row wastes little.
  @usableFromInline static var standardCapacity: Int { 32_768 }

  /// The bytes of a chunk for rows that are read one at a time: one that is kept keeps no more than these.
  static var smallCapacity: Int { 4_096 }

  /// Rows begin before this offset, which is told by 16 bits of their keys.
  @usableFromInline static var endOfStarts: Int { 8 << 16 }
}
