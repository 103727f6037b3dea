import SyncCore

/// Changes of records, encoded one after the other. Decoded, they take ten times as much memory.
///
/// Changes have ascending positions, which remain when the first ones are removed.
struct PackedChanges {
  /// The size of a chunk. A larger change has a chunk of its own.
  private static let chunkSize = 1 << 16

  private var chunks: [[UInt8]] = []
  /// The number of chunks before the first one.
  private var removedChunks = 0
  /// The size of the chunks.
  private var chunkBytes = 0
  /// Where each change is: the number of its chunk in the upper half, and its offset.
  private var starts: [UInt64] = []
  /// The position of the first element of ``starts``.
  private var base = 0
  /// The position of the first change that was not removed.
  private(set) var first = 0

  /// The position that the next change gets.
  var end: Int { base + starts.count }

  /// The size of the encoded changes and of their positions.
  var byteCount: Int { chunkBytes + 8 * starts.count }

  /// Adds a change after the last one.
  mutating func append(_ change: PendingChange) { starts.append(store(change)) }

  /// Replaces the change at a position.
  mutating func replace(_ position: Int, by change: PendingChange) { starts[position - base] = store(change) }

  subscript(position: Int) -> PendingChange { get throws { try PendingChangeCoding.decode(bytes(at: position)) } }

  /// Returns the encoded change at a position.
  func bytes(at position: Int) -> [UInt8] {
    let start = starts[position - base]
    let chunk = chunks[Int(start >> 32) - removedChunks]
    let offset = Int(start & 0xFFFF_FFFF)
    let count = (0..<4).reduce(0) { $0 | Int(chunk[offset + $1]) << (8 * $1) }
    return Array(chunk[offset + 4..<offset + 4 + count])
  }

  /// Removes the changes before a position. Their memory is released when they are the greater part.
  mutating func removeAll(before position: Int) {
    first = position
    guard (first - base) * 2 > starts.count else { return }
    starts.removeFirst(first - base)
    base = first
    let kept = starts.lazy.map { Int($0 >> 32) }.min() ?? removedChunks + chunks.count
    chunkBytes -= chunks[..<(kept - removedChunks)].reduce(0) { $0 + $1.capacity }
    chunks.removeFirst(kept - removedChunks)
    removedChunks = kept
  }

  /// Encodes a change after its length.
  private mutating func store(_ change: PendingChange) -> UInt64 {
    let bytes = PendingChangeCoding.encode(change)
    if chunks.last.map({ $0.count + 4 + bytes.count > Self.chunkSize }) ?? true {
      chunks.append([])
      chunks[chunks.count - 1].reserveCapacity(max(Self.chunkSize, 4 + bytes.count))
      chunkBytes += chunks[chunks.count - 1].capacity
    }
    let last = chunks.count - 1
    let start = UInt64(removedChunks + last) << 32 | UInt64(chunks[last].count)
    withUnsafeBytes(of: UInt32(bytes.count).littleEndian) { chunks[last] += $0 }
    chunks[last] += bytes
    return start
  }
}
