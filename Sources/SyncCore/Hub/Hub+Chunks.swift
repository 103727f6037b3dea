// Chunks of large values, which devices upload before the commits that name them.

extension Hub {
  /// Returns those of some chunks that a hub does not have.
  package func missingChunks(_ ids: [ChunkID], in storage: some HubStorage) throws -> [ChunkID] {
    try storage.transaction { try storage.missingChunks(ids) }
  }

  /// Keeps a chunk. No record names it yet: unless a commit does so soon, it is removed (``Limits/chunkLifetime``).
  ///
  /// - Parameter time: The hub's time, in milliseconds since 1970.
  /// - Returns: False if the bytes are not those of the chunk, or too many.
  package func putChunk(_ id: ChunkID, _ bytes: [UInt8], to storage: some HubStorage, at time: Int64) throws -> Bool {
    guard bytes.count <= limits.bytesInChunk, try hashing.digest(of: bytes) == id.digest else { return false }
    try storage.transaction {
      if try storage.missingChunks([id]).isEmpty { return }
      try storage.putChunk(id, bytes, at: time)
    }
    return true
  }

  /// Returns the bytes of a chunk, or nil if the hub does not have it.
  package func chunk(_ id: ChunkID, in storage: some HubStorage) throws -> [UInt8]? {
    try storage.transaction { try storage.chunk(id) }
  }

  /// Removes chunks that no record has named for a time.
  ///
  /// - Returns: The number of removed chunks. If it is the maximum, there can be more.
  @discardableResult
  package func removeUnusedChunks(from storage: some HubStorage, at time: Int64, maximumCount: Int = 100) throws -> Int {
    try storage.transaction { try storage.removeUnusedChunks(before: time - limits.chunkLifetime, maximumCount: maximumCount) }
  }

  /// Returns those of a commit's chunks that the hub does not have.
  func missingChunks(of commit: SealedCommit, in storage: some HubStorage) throws -> [ChunkID] {
    let chunks = commit.records.flatMap(\.chunks)
    return chunks.isEmpty ? [] : try storage.missingChunks(Array(Set(chunks)).sorted())
  }
}
