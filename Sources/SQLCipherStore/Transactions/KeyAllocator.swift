import ObjectModel
import ObjectStore
import SQLCipherConnection
import Synchronization

/// Allocates keys for new rows, from blocks that each root entity reserves in a separate transaction.
///
/// A key is never allocated twice, whether or not it was used; 0 is never allocated. With reserved blocks a save needs only one durable
/// commit, and neither `max + 1` nor RETURNING. No block is reserved before the first insertion.
final class KeyAllocator: Sendable {
  fileprivate struct Block {
    var next: Int64 = 0
    var end: Int64 = 0
    /// The number of keys in the next reservation. It doubles each time, so that bulk inserts rarely reserve.
    var size: Int64 = KeyAllocator.firstBlock
    /// The lowest key that may be reserved. Keys below it may be in use, even if the transaction of their reservation was rolled back.
    var floor: Int64 = 1
    #if CIPHERDATA_CHECKS
      /// The allocated ranges, sorted, with adjacent ranges merged.
      var allocated: [Range<Int64>] = []
    #endif
  }
  static let firstBlock: Int64 = 1_000
  static let largestBlock: Int64 = 64_000

  private let blocks: Mutex<[Block]>

  init(tableCount: Int) {
    blocks = Mutex([Block](repeating: Block(), count: tableCount))
  }

  /// A range of reserved keys; `end` is exclusive.
  struct KeyBlock {
    fileprivate let start: Int64
    fileprivate let end: Int64
  }

  /// Allocates up to `count` of a table's reserved keys.
  func take(_ count: Int, for table: EntityTable) -> Range<Int64> {
    blocks.withLock { blocks in
      let start = blocks[table.index].next
      let taken = min(Int64(count), blocks[table.index].end - start)
      blocks[table.index].next += taken
      blocks[table.index].floor = max(blocks[table.index].floor, start + taken)
      #if CIPHERDATA_CHECKS
        blocks[table.index].recordAllocated(start..<(start + taken))
      #endif
      return start..<(start + taken)
    }
  }

  /// Reserves a block of at least `needed` keys. Allocate from it only after the transaction, or nested transaction, is committed: see
  /// ``begin(_:of:)``.
  func reserve(_ needed: Int, for table: EntityTable, _ transaction: WriteTransaction) throws -> KeyBlock {
    guard needed <= RowKey.maximum else { throw usedUp(table) }
    let (size, floor) = blocks.withLock { (max($0[table.index].size, Int64(needed)), $0[table.index].floor) }
    let connection = transaction.connection
    if let stableIDs = try transaction.stableIDs {
      try stableIDs.beginRangesIfCopied(lineage: transaction.assignLineageIfInherited().identifier)
    }
    let read = try connection.statement(.nextKey)
    try read.bind(1, table.id)
    let start = max(try read.step() ? read.int64(0) : 1, floor)
    read.reset()
    // The number in the file is untrusted.
    guard start <= RowKey.maximum - size else { throw usedUp(table) }
    let write = try connection.statement(.reservation)
    try write.bind(1, table.id)
    try write.bind(2, start + size)
    try write.run()
    return KeyBlock(start: start, end: start + size)
  }

  private func usedUp(_ table: EntityTable) -> StoreError {
    StoreError(.keysExhausted(entity: table.root.name), operation: .insert)
  }

  /// Makes a reserved block the current one. The unused keys of the previous block are lost.
  func begin(_ block: KeyBlock, of table: EntityTable) {
    blocks.withLock { blocks in
      blocks[table.index].next = block.start
      blocks[table.index].end = block.end
      blocks[table.index].size = min(Self.largestBlock, max(block.end - block.start, Self.firstBlock) * 2)
    }
  }

  /// Discards all reservations after a rollback of a transaction that made some.
  func forget() {
    blocks.withLock { blocks in
      for index in blocks.indices {
        blocks[index].next = 0
        blocks[index].end = 0
      }
    }
  }

  /// Returns an allocator for an uncommitted transaction, which alone uses its reservations.
  func makeForTransaction() -> KeyAllocator {
    let floors = blocks.withLock { $0.map(\.floor) }
    let allocator = KeyAllocator(tableCount: floors.count)
    allocator.blocks.withLock { blocks in for index in blocks.indices { blocks[index].floor = floors[index] } }
    return allocator
  }

  /// Takes over the keys that a transaction's allocator allocated, so that they are not allocated again.
  ///
  /// - Returns: The indexes of the tables with allocated keys.
  func adopt(_ other: KeyAllocator) -> [Int] {
    let others = other.blocks.withLock { $0 }
    return blocks.withLock { blocks in
      blocks.indices.filter { index in
        guard others[index].floor > blocks[index].floor else { return false }
        // Keys that remain in a block of this allocator are below the new floor only if the whole block is.
        blocks[index].floor = others[index].floor
        #if CIPHERDATA_CHECKS
          for keys in others[index].allocated { blocks[index].recordAllocated(keys) }
        #endif
        return true
      }
    }
  }
}

extension WriteTransaction {
  /// The allocator of a transaction that spans several requests. Only this transaction uses its reservations until the commit.
  var keys: KeyAllocator? { kept() }
}

#if CIPHERDATA_CHECKS
  extension KeyAllocator.Block {
    /// Checks that no key is allocated twice, even after rollbacks.
    fileprivate mutating func recordAllocated(_ keys: Range<Int64>) {
      defer { _checkInvariants() }
      if keys.isEmpty { return }
      let place = allocated.firstIndex { $0.upperBound >= keys.lowerBound } ?? allocated.count
      guard place < allocated.count, allocated[place].lowerBound <= keys.upperBound else { return allocated.insert(keys, at: place) }
      let end = allocated[place...].firstIndex { $0.lowerBound > keys.upperBound } ?? allocated.count
      for range in allocated[place..<end] { checkInvariant(!range.overlaps(keys), "keys \(keys) are allocated again: \(range) were") }
      allocated.replaceSubrange(
        place..<end, with: [min(keys.lowerBound, allocated[place].lowerBound)..<max(keys.upperBound, allocated[end - 1].upperBound)])
    }

    /// Checks that the block and its keys are in range, and that no allocated key can be reserved again.
    fileprivate func _checkInvariants() {
      checkInvariant(next >= 0 && next <= end && end <= RowKey.maximum + 1, "a block from \(next) to \(end)")
      checkInvariant((KeyAllocator.firstBlock...KeyAllocator.largestBlock).contains(size), "the next block has \(size) keys")
      let first = allocated.last?.upperBound ?? 1
      checkInvariant(floor >= first, "keys below \(first) are allocated, but the lower bound is \(floor)")
    }
  }
#endif
