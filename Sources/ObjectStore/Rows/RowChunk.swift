/// A block of memory that contains row images and lives as long as any of them.
///
/// Chunks can be shared safely: one ``RowWriter`` writes each row before it vends an image of it, and the row's bytes do not change
/// afterwards. Later rows in the same chunk use other bytes. If rows of a chunk have external values, no rows are added after images of it
/// were vended.
public final class RowChunk: @unchecked Sendable {  // the bytes of a row are immutable once an image of it exists
  /// The start of the rows. The chunk's own address is stored before it, so that a row's address leads to its chunk.
  @usableFromInline let memory: UnsafeMutableRawPointer
  @usableFromInline let capacity: Int
  /// The external values of the chunk's rows, which refer to them by index.
  final var externals: [ExternalData] = []

  @usableFromInline init(capacity: Int) {
    self.capacity = capacity
    memory = UnsafeMutableRawPointer.allocate(byteCount: Self.headSize + capacity, alignment: 8) + Self.headSize
    // Unretained: the chunk of a row is looked up only by holders of the row, which keep the chunk alive.
    (memory - Self.headSize).storeBytes(of: Unmanaged.passUnretained(self).toOpaque(), as: UnsafeMutableRawPointer.self)
  }

  deinit { (memory - Self.headSize).deallocate() }

  /// The number of bytes before the rows.
  @usableFromInline static var headSize: Int { 8 }

  /// The capacity in bytes of a chunk for many rows: 32 KiB, so that little is wasted after the last row.
  @usableFromInline static var standardCapacity: Int { 32_768 }

  /// The capacity in bytes of a chunk for rows that are read individually. A row that is held keeps at most this much memory alive.
  static var smallCapacity: Int { 4_096 }

  /// The upper bound of the offset at which a row can start: 16 bits of a row's key word encode the offset in units of 8 bytes.
  @usableFromInline static var endOfStarts: Int { 8 << 16 }
}
