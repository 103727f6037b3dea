// RecentObjects: the objects that relationships have led to last, held for a while.
import ObjectModel

/// The last objects that were made because a relationship led to them, held until as many others came, or the event ends.
///
/// Nobody else may hold such an object: `book.author?.name` lets go of it at once, and the next book of the author would make it anew. Objects are held in
/// small blocks, in the order in which they came; the oldest block goes when there are too many objects, or too many bytes of rows. It touches no other
/// part of the context, and lets go of nothing itself: what it gives up is returned, and dies with the caller's copy.
package struct RecentObjects: ~Copyable {
  /// How many objects are held at most.
  package static var limit: Int { 8_192 }
  /// How many bytes the rows of the objects may take that got them while they were held.
  package static var byteLimit: Int { 16 << 20 }
  /// The objects of a block.
  private static var blockSize: Int { 128 }

  private struct Block {
    var objects: ContiguousArray<ManagedObject> = []
    /// The bytes of rows that came while this block was the newest.
    var byteCount = 0
  }

  /// The oldest first.
  private var blocks: ContiguousArray<Block> = []
  private var byteCount = 0

  package init() {}

  /// How many objects are held.
  package var count: Int { blocks.reduce(0) { $0 + $1.objects.count } }

  /// Holds an object that was just made.
  ///
  /// - Returns: The objects that have to go for it.
  @inline(__always) package mutating func hold(_ object: ManagedObject) -> ContiguousArray<ManagedObject> {
    let last = blocks.count - 1
    guard last >= 0, blocks[last].objects.count < Self.blockSize else { return holdInNewBlock(object) }
    blocks[last].objects.append(object)
    return []
  }

  private mutating func holdInNewBlock(_ object: ManagedObject) -> ContiguousArray<ManagedObject> {
    var block = Block()
    block.objects.reserveCapacity(Self.blockSize)
    block.objects.append(object)
    blocks.append(block)
    defer { noteChange() }
    return blocks.count * Self.blockSize > Self.limit ? dropOldest() : []
  }

  /// An object that is held, or was, has got a row.
  ///
  /// - Parameter size: The bytes of the row.
  /// - Returns: The objects that have to go for it.
  @inline(__always) package mutating func noteRow(size: Int) -> ContiguousArray<ManagedObject> {
    let last = blocks.count - 1
    if last < 0 { return [] }
    blocks[last].byteCount += size
    byteCount += size
    return byteCount > Self.byteLimit ? dropUntilWithinLimit() : []
  }

  private mutating func dropUntilWithinLimit() -> ContiguousArray<ManagedObject> {
    var dropped: ContiguousArray<ManagedObject> = []
    while byteCount > Self.byteLimit { dropped += dropOldest() }
    noteChange()
    return dropped
  }

  private mutating func dropOldest() -> ContiguousArray<ManagedObject> {
    let block = blocks.removeFirst()
    byteCount -= block.byteCount
    return block.objects
  }

  /// Lets go of all objects.
  ///
  /// - Returns: The objects that were held.
  package mutating func removeAll() -> [ContiguousArray<ManagedObject>] {
    if blocks.isEmpty { return [] }
    let held = blocks.map(\.objects)
    blocks = []
    byteCount = 0
    return held
  }

  @inline(__always) private func noteChange() {
    #if CIPHERDATA_CHECKS
      _checkInvariants()
    #endif
  }
}

#if CIPHERDATA_CHECKS
  extension RecentObjects {
    /// The limits are kept, no block is empty, and bytes are counted as they are.
    package func _checkInvariants() {
      checkInvariant(count <= Self.limit, "\(count) objects are held")
      checkInvariant(byteCount <= Self.byteLimit, "\(byteCount) bytes are held")
      checkInvariant(blocks.allSatisfy { !$0.objects.isEmpty && $0.objects.count <= Self.blockSize }, "a block is empty or too large")
      checkInvariant(byteCount == blocks.reduce(0) { $0 + $1.byteCount }, "\(byteCount) bytes are counted")
    }
  }
#endif
