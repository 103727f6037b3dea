package import SyncCore
import SQLCipherConnection

// Chunks of large values in a hub's file. The bytes are in a table of their own, because SQLite writes whole rows.

extension SQLCipherHubStorage {
  package func missingChunks(_ ids: [ChunkID]) throws -> [ChunkID] {
    try ids.filter { try !connection.hasRow(.chunk, zone, $0.digest) }
  }

  package func putChunk(_ id: ChunkID, _ bytes: [UInt8], at time: Int64) throws {
    try connection.run(.newChunk, zone, id.digest, time)
    guard let number = try connection.first(.chunk, zone, id.digest, read: { $0.int64(0) }) else { return }
    try connection.run(.newChunkBytes, number, bytes)
  }

  package func chunk(_ id: ChunkID) throws -> [UInt8]? {
    try connection.first(.chunkBytes, zone, id.digest) { $0.bytes(0) }
  }

  package func setChunks(_ ids: [ChunkID], of name: RecordName, at time: Int64) throws {
    // Most zones have no large values: then a record needs no statement of its own.
    if ids.isEmpty, try !hasReferences() { return }
    let former = Set(try connection.all(.chunksOfRecord, zone, name.digest) { ChunkID(try $0.digest(0)) })
    let present = Set(ids)
    for id in present.subtracting(former).sorted() {
      try connection.run(.newChunkReference, zone, name.digest, id.digest)
      try connection.run(.useChunk, zone, id.digest)
    }
    for id in former.subtracting(present).sorted() {
      try connection.run(.removeChunkReference, zone, name.digest, id.digest)
      try connection.run(.releaseChunk, zone, id.digest, time)
    }
    if !ids.isEmpty { mayHaveReferences = true }
  }

  @discardableResult
  package func removeUnusedChunks(before time: Int64, maximumCount: Int) throws -> Int {
    let numbers = try connection.all(.unusedChunks, zone, time, maximumCount) { $0.int64(0) }
    for number in numbers {
      try connection.run(.removeChunkBytes, number)
      try connection.run(.removeChunk, number)
    }
    return numbers.count
  }

  private func hasReferences() throws -> Bool {
    if let known = mayHaveReferences { return known }
    let found = try connection.hasRow(.anyChunkReference, zone)
    mayHaveReferences = found
    return found
  }
}
