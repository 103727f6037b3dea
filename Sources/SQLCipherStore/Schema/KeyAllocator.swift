// KeyAllocator: keys for new rows, from blocks that each root entity reserves in a transaction of their own.
import ObjectModel
import ObjectStore
import SQLCipherConnection
import Synchronization

/// Hands out keys. A key that was handed out is never handed out again, used or not; 0 is never one.
///
/// A save needs one durable commit and neither `max + 1` nor RETURNING this way. Nothing is reserved until something is inserted.
final class KeyAllocator: Sendable {
  private struct Block {
    var next: Int64 = 0
    var end: Int64 = 0
    /// How many keys the next reservation takes: it doubles, so that a bulk insert seldom asks.
    var size: Int64 = KeyAllocator.firstBlock
    /// No key below it may be reserved: keys of a reservation that was rolled back may be in somebody's hands.
    var floor: Int64 = 1
  }
  static let firstBlock: Int64 = 1_000
  static let largestBlock: Int64 = 64_000
  /// Greater keys mean references of another kind (see `ObjectIDSpace`).
  static let greatestKey = (Int64(1) << 46) - 1

  /// Whether a number may be a row's key.
  @inline(__always) static func isKey(_ number: Int64) -> Bool {
    UInt64(bitPattern: number &- 1) < UInt64(bitPattern: greatestKey)
  }

  private let blocks: Mutex<[Block]>

  init(tableCount: Int) {
    blocks = Mutex([Block](repeating: Block(), count: tableCount))
  }

  /// Keys for one table.
  ///
  /// - Parameters:
  ///   - withWriter: Runs its argument on the writer, inside a write transaction.
  func keys(_ count: Int, for table: EntityTable, withWriter: ((Connection) throws -> Void) throws -> Void) throws -> [Int64] {
    guard count > 0 else { return [] }
    var result: [Int64] = []
    result.reserveCapacity(count)
    take(count, for: table, into: &result)
    while result.count < count {
      // Not under the lock: the writer may be waited for. Two threads that reserve at once lose a block's rest at most.
      try reserve(count - result.count, for: table, withWriter: withWriter)
      take(count - result.count, for: table, into: &result)
    }
    return result
  }

  private func take(_ count: Int, for table: EntityTable, into result: inout [Int64]) {
    let range = blocks.withLock { blocks in
      let start = blocks[table.index].next
      let taken = min(Int64(count), blocks[table.index].end - start)
      blocks[table.index].next += taken
      blocks[table.index].floor = max(blocks[table.index].floor, start + taken)
      return start..<(start + taken)
    }
    result.append(contentsOf: range)
  }

  /// Reserves a block that holds a number of keys.
  func reserve(_ needed: Int, for table: EntityTable, withWriter: ((Connection) throws -> Void) throws -> Void) throws {
    let (size, floor) = blocks.withLock { (max($0[table.index].size, Int64(needed)), $0[table.index].floor) }
    var start: Int64 = 0
    try withWriter { connection in
      let read = try connection.statement(sql: "SELECT next FROM \(MetadataTable.keys) WHERE id = ?")
      try read.bind(1, table.id)
      start = max(try read.step() ? read.int64(0) : 1, floor)
      read.reset()
      // The number in the file may be any.
      guard start <= Self.greatestKey - size else {
        throw StoreError(.invalidRequest, "The entity “\(table.root.name)” has used up all its keys.", operation: .insert)
      }
      let write = try connection.statement(sql: "INSERT OR REPLACE INTO \(MetadataTable.keys) VALUES (?, ?)")
      try write.bind(1, table.id)
      try write.bind(2, start + size)
      try write.run()
    }
    blocks.withLock { blocks in
      blocks[table.index].next = start
      blocks[table.index].end = start + size
      blocks[table.index].size = min(Self.largestBlock, max(size, Self.firstBlock) * 2)
    }
  }

  /// Reserves as many keys as somebody else has given out from 1 on, without a list of them.
  ///
  /// - Returns: What is to be added to each of his.
  func reserve(upTo greatest: Int64, for table: EntityTable, withWriter: ((Connection) throws -> Void) throws -> Void) throws -> Int64 {
    guard greatest > 0 else { return 0 }
    guard greatest <= Self.greatestKey else {
      throw StoreError(.invalidRequest, "The entity “\(table.root.name)” has used up all its keys.", operation: .insert)
    }
    // A block that was reserved before is given up: its rest lies below the new one.
    try reserve(Int(greatest), for: table, withWriter: withWriter)
    return blocks.withLock { blocks in
      let start = blocks[table.index].next
      blocks[table.index].next = start + greatest
      blocks[table.index].floor = max(blocks[table.index].floor, start + greatest)
      return start - 1
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
    let floors = other.blocks.withLock { $0.map(\.floor) }
    return blocks.withLock { blocks in
      blocks.indices.filter { index in
        guard floors[index] > blocks[index].floor else { return false }
        // What is left of a block here lies below only if the block does.
        blocks[index].floor = floors[index]
        return true
      }
    }
  }
}
