import ObjectModel

/// The last objects that were created because a relationship led to them, retained until enough newer ones replace them or the event ends.
///
/// Such an object may have no other reference: `book.author?.name` releases the author at once, and the author's next book would create it
/// again. Objects are retained in small blocks in the order of creation. The oldest block is released when there are too many objects or
/// too many bytes of rows.
///
/// This type does not access other parts of the context. It does not release objects itself but returns them, so that they are deallocated
/// with the caller's copy.
package struct RecentObjects: ~Copyable {
  /// The maximum number of retained objects.
  package static var limit: Int { 8_192 }
  /// The maximum number of bytes of rows that were loaded while their objects were retained.
  package static var byteLimit: Int { 16 << 20 }
  private static var blockSize: Int { 128 }

  private struct Block {
    var objects: ContiguousArray<ManagedObject> = []
    /// The bytes of rows loaded while this block was the newest.
    var byteCount = 0
  }

  /// The blocks, with the oldest first.
  private var blocks: ContiguousArray<Block> = []
  private var byteCount = 0

  package init() {}

  package var count: Int { blocks.reduce(0) { $0 + $1.objects.count } }

  /// Retains an object that was just created.
  ///
  /// - Returns: The objects that are released in exchange.
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
    defer { recordChange() }
    return blocks.count * Self.blockSize > Self.limit ? dropOldest() : []
  }

  /// Records that a row was loaded for an object that is or was retained.
  ///
  /// - Parameter size: The size of the row in bytes.
  /// - Returns: The objects that are released in exchange.
  @inline(__always) package mutating func recordRow(size: Int) -> ContiguousArray<ManagedObject> {
    let last = blocks.count - 1
    if last < 0 { return [] }
    blocks[last].byteCount += size
    byteCount += size
    return byteCount > Self.byteLimit ? dropUntilWithinLimit() : []
  }

  private mutating func dropUntilWithinLimit() -> ContiguousArray<ManagedObject> {
    var dropped: ContiguousArray<ManagedObject> = []
    while byteCount > Self.byteLimit { dropped += dropOldest() }
    recordChange()
    return dropped
  }

  private mutating func dropOldest() -> ContiguousArray<ManagedObject> {
    let block = blocks.removeFirst()
    byteCount -= block.byteCount
    return block.objects
  }

  /// Removes all objects.
  ///
  /// - Returns: The objects that were retained.
  package mutating func removeAll() -> [ContiguousArray<ManagedObject>] {
    if blocks.isEmpty { return [] }
    let held = blocks.map(\.objects)
    blocks = []
    byteCount = 0
    return held
  }

  @inline(__always) private func recordChange() {
    #if CIPHERDATA_CHECKS
      _checkInvariants()
    #endif
  }
}

#if CIPHERDATA_CHECKS
  extension RecentObjects {
    /// Checks that the limits are respected, that no block is empty, and that the byte counts match.
    package func _checkInvariants() {
      checkInvariant(count <= Self.limit, "\(count) objects are held")
      checkInvariant(byteCount <= Self.byteLimit, "\(byteCount) bytes are held")
      checkInvariant(blocks.allSatisfy { !$0.objects.isEmpty && $0.objects.count <= Self.blockSize }, "a block is empty or too large")
      checkInvariant(byteCount == blocks.reduce(0) { $0 + $1.byteCount }, "\(byteCount) bytes are counted")
    }
  }
#endif
