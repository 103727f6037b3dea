// KeyAllocator: keys for new rows, from blocks that each root entity reserves in a transaction of their own.
import ObjectModel
import ObjectStore
import SQLCipherConnection
import Synchronization

/// Hands out keys. A key that was handed out is never handed out again, used or not; 0 is never one.
///
/// A save needs one durable commit and neither `max + 1` nor RETURNING this way. Nothing is reserved until something is inserted.
final class KeyAllocator: Sendable {
  fileprivate struct Block {
    var next: Int64 = 0
    var end: Int64 = 0
    /// How many keys the next reservation takes: it doubles, so that a bulk insert seldom asks.
    var size: Int64 = KeyAllocator.firstBlock
    /// No key below it may be reserved: keys of a reservation that was rolled back may be in somebody's hands.
    var floor: Int64 = 1
    #if CIPHERDATA_CHECKS
      /// What was handed out, in order, without touching neighbours.
      var handedOut: [Range<Int64>] = []
    #endif
  }
  static let firstBlock: Int64 = 1_000
  static let largestBlock: Int64 = 64_000

  private let blocks: Mutex<[Block]>

  init(tableCount: Int) {
    blocks = Mutex([Block](repeating: Block(), count: tableCount))
  }

  /// Keys that were reserved, from the first to the one before the last.
  struct ReservedBlock {
    fileprivate let start: Int64
    fileprivate let end: Int64
  }

  /// As many of the reserved keys of a table as there are, up to a number.
  func take(_ count: Int, for table: EntityTable) -> Range<Int64> {
    blocks.withLock { blocks in
      let start = blocks[table.index].next
      let taken = min(Int64(count), blocks[table.index].end - start)
      blocks[table.index].next += taken
      blocks[table.index].floor = max(blocks[table.index].floor, start + taken)
      #if CIPHERDATA_CHECKS
        blocks[table.index].noteHandedOut(start..<(start + taken))
      #endif
      return start..<(start + taken)
    }
  }

  /// Reserves a block that holds a number of keys. They may be handed out once the transaction, or part, is committed: see ``begin(_:of:)``.
  func reserve(_ needed: Int, for table: EntityTable, _ transaction: WriteTransaction) throws -> ReservedBlock {
    guard needed <= RowKey.greatest else { throw usedUp(table) }
    let (size, floor) = blocks.withLock { (max($0[table.index].size, Int64(needed)), $0[table.index].floor) }
    let connection = transaction.connection
    let read = try connection.statement(.nextKey)
    try read.bind(1, table.id)
    let start = max(try read.step() ? read.int64(0) : 1, floor)
    read.reset()
    // The number in the file may be any.
    guard start <= RowKey.greatest - size else { throw usedUp(table) }
    let write = try connection.statement(.reservation)
    try write.bind(1, table.id)
    try write.bind(2, start + size)
    try write.run()
    return ReservedBlock(start: start, end: start + size)
  }

  private func usedUp(_ table: EntityTable) -> StoreError {
    StoreError(.usedUpKeys(entity: table.root.name), operation: .insert)
  }

  /// Hands out the keys of a block from here on; the rest of the block before it is given up.
  func begin(_ block: ReservedBlock, of table: EntityTable) {
    blocks.withLock { blocks in
      blocks[table.index].next = block.start
      blocks[table.index].end = block.end
      blocks[table.index].size = min(Self.largestBlock, max(block.end - block.start, Self.firstBlock) * 2)
    }
  }

  /// Forgets all reservations, after the transaction that made some was rolled back.
  func forget() {
    blocks.withLock { blocks in
      for index in blocks.indices {
        blocks[index].next = 0
        blocks[index].end = 0
      }
    }
  }

  /// An allocator for a transaction that is not committed yet: its reservations are nobody else's.
  func makeForTransaction() -> KeyAllocator {
    let floors = blocks.withLock { $0.map(\.floor) }
    let allocator = KeyAllocator(tableCount: floors.count)
    allocator.blocks.withLock { blocks in for index in blocks.indices { blocks[index].floor = floors[index] } }
    return allocator
  }

  /// Takes over what a transaction's allocator has handed out: none of those keys is handed out again.
  ///
  /// - Returns: The indexes of the tables whose keys it handed out.
  func adopt(_ other: KeyAllocator) -> [Int] {
    let others = other.blocks.withLock { $0 }
    return blocks.withLock { blocks in
      blocks.indices.filter { index in
        guard others[index].floor > blocks[index].floor else { return false }
        // What is left of a block here lies below only if the block does.
        blocks[index].floor = others[index].floor
        #if CIPHERDATA_CHECKS
          for keys in others[index].handedOut { blocks[index].noteHandedOut(keys) }
        #endif
        return true
      }
    }
  }
}

extension WriteTransaction {
  /// The keys of one that is held over several requests: what is reserved in it is nobody else's until it is committed.
  var keys: KeyAllocator? { kept() }
}

#if CIPHERDATA_CHECKS
  extension KeyAllocator.Block {
    /// No key is handed out twice, whatever was rolled back meanwhile.
    fileprivate mutating func noteHandedOut(_ keys: Range<Int64>) {
      defer { _checkInvariants() }
      if keys.isEmpty { return }
      let place = handedOut.firstIndex { $0.upperBound >= keys.lowerBound } ?? handedOut.count
      guard place < handedOut.count, handedOut[place].lowerBound <= keys.upperBound else { return handedOut.insert(keys, at: place) }
      let end = handedOut[place...].firstIndex { $0.lowerBound > keys.upperBound } ?? handedOut.count
      for range in handedOut[place..<end] { checkInvariant(!range.overlaps(keys), "keys \(keys) are handed out again: \(range) were") }
      handedOut.replaceSubrange(
        place..<end, with: [min(keys.lowerBound, handedOut[place].lowerBound)..<max(keys.upperBound, handedOut[end - 1].upperBound)])
    }

    /// The block is one, of keys that may be, and nothing that was handed out can be reserved again.
    fileprivate func _checkInvariants() {
      checkInvariant(next >= 0 && next <= end && end <= RowKey.greatest + 1, "a block from \(next) to \(end)")
      checkInvariant((KeyAllocator.firstBlock...KeyAllocator.largestBlock).contains(size), "the next block has \(size) keys")
      let first = handedOut.last?.upperBound ?? 1
      checkInvariant(floor >= first, "keys below \(first) are handed out, and the floor is \(floor)")
    }
  }
#endif
