import Foundation
import ObjectModel
import ObjectStore
import StoreKeys
import SyncCore
import SyncCrypto
import SyncHub
import Synchronization

// Large values are transferred in chunks, one after the other: uploads before the commits that name them, downloads after the import. After an
// interruption, both continue with the chunk that was not transferred.

extension SyncRunner {
  typealias Progress = @Sendable (Round) -> Void

  /// The maximum number of times that a round uploads and sends, while the application saves more large values.
  private static let maximumUploadPasses = 3

  /// Uploads what waits to be sent, sends it, and downloads what the policy says.
  ///
  /// If the uploads fail, the downloads continue, and conversely.
  /// - Parameter send: Sends the saves whose large values are uploaded.
  func transferAssets(_ round: inout Round, _ progress: Progress?, send: (inout Round) async throws -> Void) async throws {
    guard replica.hasAssets else { return }
    var failure: (any Error)?
    do {
      for _ in 0..<Self.maximumUploadPasses {
        guard try await upload(&round, progress) else { break }
        try await send(&round)
      }
    } catch { failure = error }
    try Task.checkCancellation()
    do { try await download(&round, progress) } catch { failure = failure ?? error }
    if let failure { throw failure }
  }

  /// The maximum number of answers of the hub in a round that it does not have chunks.
  private static let maximumMissingChunkAnswers = 1_000

  // MARK: Uploads

  /// Uploads the large values that are needed to send what waits.
  ///
  /// - Returns: Whether there were any.
  private func upload(_ round: inout Round, _ progress: Progress?) async throws -> Bool {
    let uploads = try replica.transaction { try replica.uploads() }
    if !uploads.isEmpty { begin(.export) }
    for upload in uploads { try await send(upload, &round, progress) }
    return !uploads.isEmpty
  }

  /// Uploads a large value, unless it is replaced meanwhile.
  private func send(_ upload: AssetUpload, _ round: inout Round, _ progress: Progress?) async throws {
    var sealed = upload.sealed
    let missing = sealed.chunks.isEmpty ? [] : Set(try await hub.missingChunks(sealed.chunks, zone: zone))
    let cipher = try AssetCipher.sealing(sealed, zone: zone)
    let count = AssetReference.chunkCount(size: upload.asset.size, chunkSize: sealed.chunkSize)
    do {
      let first = sealed.chunks.firstIndex(where: missing.contains) ?? sealed.chunks.count
      let reader = try ChunkReader(upload.value, of: upload.asset, chunkSize: sealed.chunkSize, from: first, in: replica)
      for index in reader.index..<Int(count) {
        try Task.checkCancellation()
        let chunk = try reader.next()
        if index < sealed.chunks.count, !missing.contains(sealed.chunks[index]) { continue }
        let bytes = try cipher.seal(chunk, index: index)
        let id = try AssetCipher.id(of: bytes)
        if index < sealed.chunks.count {
          if sealed.chunks[index] != id { throw ChunkReader.Replaced() }
        } else {
          sealed.chunks.append(id)
          try replica.transaction { try replica.setProgress(of: upload, sealed) }
        }
        try await hub.putChunk(id, bytes, zone: zone)
        round.sentBytes += bytes.count
        report(round, progress)
      }
      try reader.finish()
    } catch  where error.isReplacement {
      if try replica.transaction({ try replica.abandon(upload) }) { return }
      throw error
    }
    try replica.transaction { try replica.setProgress(of: upload, sealed, isComplete: true) }
  }

  /// Uploads the chunks that the hub has requested with its answer to a commit, because it was restored from a backup, or has removed them.
  ///
  /// - Returns: Whether the commit can be sent again. If not, because the device does not have a value, the commit is frozen again without it.
  func uploadMissingChunks(_ event: SyncClient.Event, of action: SyncClient.Action, _ round: inout Round) async throws -> Bool {
    guard case .pushed(_, .missingChunks(let ids, _)) = event, case .push(let commit) = action else { return false }
    missingChunkAnswers += 1
    if missingChunkAnswers > Self.maximumMissingChunkAnswers {
      throw HubError(.unavailable, "The hub does not keep the chunks of large values that it receives.")
    }
    var wanted = Set(ids)
    for record in commit.records where !wanted.isDisjoint(with: record.chunks) {
      let stored = StoredRecord(name: record.name, sequence: 0, version: record.version, isDeleted: record.isDeleted, body: record.body)
      let (id, opened) = try sealing.open(stored)
      for (property, asset) in opened.assets where !wanted.isDisjoint(with: asset.sealed?.chunks ?? []) {
        guard let value = try replica.transaction({ try replica.localValue(of: id, property, asset) }),
          try await send(wanted, of: asset, value, &round)
        else {
          try replica.transaction { try replica.setLost(id, property, asset) }
          continue
        }
        wanted.subtract(asset.sealed?.chunks ?? [])
      }
    }
    return wanted.isEmpty
  }

  /// Uploads some chunks of a value again.
  ///
  /// - Returns: False if the value was replaced meanwhile.
  private func send(
    _ wanted: Set<ChunkID>, of asset: AssetReference, _ value: ExternalData, _ round: inout Round
  ) async throws -> Bool {
    guard let sealed = asset.sealed else { return false }
    let cipher = try AssetCipher.sealing(sealed, zone: zone)
    do {
      let first = sealed.chunks.firstIndex(where: wanted.contains) ?? 0
      let reader = try ChunkReader(value, of: asset, chunkSize: sealed.chunkSize, from: first, in: replica)
      for (index, id) in sealed.chunks.enumerated().dropFirst(reader.index) {
        try Task.checkCancellation()
        let chunk = try reader.next()
        guard wanted.contains(id) else { continue }
        let bytes = try cipher.seal(chunk, index: index)
        if try AssetCipher.id(of: bytes) != id { return false }
        try await hub.putChunk(id, bytes, zone: zone)
        round.sentBytes += bytes.count
      }
      return true
    } catch  where error.isReplacement { return false }
  }

  // MARK: Downloads

  /// Downloads the values that the policy says, and removes those beyond its budget.
  private func download(_ round: inout Round, _ progress: Progress?) async throws {
    let policy = assetPolicy.withLock { $0 }
    let entries = try replica.transaction { try replica.assetEntries(at: [.both, .hub, .lost]) }
    let (wanted, unwanted) = policy.choose(among: entries)
    for entry in unwanted { try await evict(entry) }
    var failure: (any Error)?
    for entry in wanted where entry.isMissing {
      try Task.checkCancellation()
      guard let download = try replica.transaction({ try replica.download(of: entry) }) else { continue }
      // A damaged value does not delay others.
      do { try await receive(download, &round, progress) } catch let error as SyncCryptoError { failure = failure ?? error }
    }
    try removeUnneededChunks()
    if let failure { throw failure }
  }

  /// Downloads a large value.
  ///
  /// - Returns: False if the hub does not have it.
  @discardableResult
  private func receive(_ download: AssetDownload, _ round: inout Round, _ progress: Progress?) async throws -> Bool {
    guard let incoming = replica.incomingChunks else { return false }
    let (asset, sealed) = (download.asset, download.sealed)
    for id in sealed.chunks where !incoming.contains(id) {
      try Task.checkCancellation()
      guard let bytes = try await hub.chunk(id, zone: zone) else { return false }
      begin(.import)
      guard try AssetCipher.id(of: bytes) == id else { throw SyncCryptoError.damaged(.chunk) }
      try incoming.store(bytes, as: id)
      round.receivedBytes += bytes.count
      report(round, progress)
    }
    begin(.import)
    let cipher = try AssetCipher.opening(sealed, zone: zone)
    let writer = try replica.store.incrementalStore.makeExternalDataWriter()
    let digest = try IncrementalDigest()
    for (index, id) in sealed.chunks.enumerated() {
      guard let bytes = try incoming.chunk(id) else {
        // The next attempt downloads it again.
        incoming.remove([id])
        throw SyncCryptoError.damaged(.chunk)
      }
      let size = AssetReference.size(ofChunk: index, size: asset.size, chunkSize: sealed.chunkSize)
      let chunk = try cipher.open(bytes, index: index, size: size)
      try chunk.withUnsafeBytes { try digest.append($0) }
      try writer.write(Data(chunk))
    }
    guard Digest(bytes: try digest.finish()) == asset.digest else { throw SyncCryptoError.damaged(.chunk) }
    let value = try writer.finish()
    try replica.transaction { try replica.finish(download, value) }
    incoming.remove(sealed.chunks)
    round.downloaded += 1
    report(round, progress)
    return true
  }

  /// Removes the bytes of a value from the device, if the hub has all of its chunks.
  private func evict(_ entry: AssetEntry) async throws {
    guard let chunks = try replica.transaction({ try replica.evictableChunks(of: entry) }),
      try await hub.missingChunks(chunks, zone: zone).isEmpty
    else { return }
    try replica.transaction { try replica.evict(entry) }
  }

  /// Removes the chunks of downloads that are not needed anymore.
  private func removeUnneededChunks() throws {
    guard let incoming = replica.incomingChunks, incoming.exists else { return }
    let needed = try replica.transaction {
      try replica.assetEntries(at: [.hub, .lost]).reduce(into: Set<ChunkID>()) { chunks, entry in
        if let sealed = try replica.download(of: entry)?.sealed { chunks.formUnion(sealed.chunks) }
      }
    }
    incoming.removeAll(except: needed)
  }

  /// Downloads a large value that the application needs now, whatever the policy is.
  ///
  /// - Throws: ``SyncError`` with `assetMissing` if the hub cannot be used or does not have it.
  func loadAsset(_ slot: Int, of object: ObjectReference) async throws {
    await beginRound()
    defer { endRound() }
    guard let (entry, download) = try replica.transaction({ try replica.requestAsset(slot, of: object) }) else { return }
    func missing(isReachable: Bool) -> SyncError.Reason {
      let entity = replica.schema.model.entities[object.entity]
      return .assetMissing(
        entity: entity.name, property: entity.slots[slot].name, id: entry.id.uuid.uuidString, isReachable: isReachable)
    }
    var round = Round()
    do {
      if try await !receive(download, &round, nil) { throw SyncError(missing(isReachable: true), path: replica.path) }
    } catch let error as HubError where error.code != .canceled {
      throw SyncError(missing(isReachable: false), path: replica.path, underlying: error)
    }
    // What was needed before makes space.
    let entries = try replica.transaction { try replica.assetEntries(at: [.both, .hub, .lost]) }
    for entry in assetPolicy.withLock({ $0 }).choose(among: entries).unwanted { try? await evict(entry) }
  }
}

extension AssetPolicy {
  /// Returns the values that belong on the device, and those that are on it and do not.
  ///
  /// - Parameter entries: The values that the hub has, those that were needed last first.
  fileprivate func choose(among entries: [AssetEntry]) -> (wanted: [AssetEntry], unwanted: [AssetEntry]) {
    switch self {
    case .eager: return (entries, [])
    case .onDemand: return ([], [])
    case .budget(let bytes):
      var (wanted, unwanted, size): ([AssetEntry], [AssetEntry], Int64) = ([], [], 0)
      for entry in entries {
        // The value that was needed last stays, even if it alone is larger.
        let fits = size + entry.asset.size <= bytes || size == 0 && !entry.isMissing
        if fits {
          size += entry.asset.size
          wanted.append(entry)
        } else if !entry.isMissing {
          unwanted.append(entry)
        }
      }
      return (wanted, unwanted)
    }
  }
}

/// Reads a large value in chunks, and checks that it is the expected one.
private final class ChunkReader {
  /// The value is another one: it was replaced meanwhile.
  struct Replaced: Error {}

  private let reader: ExternalDataReader
  private let asset: AssetReference
  private let chunkSize: Int64
  /// The digest of what was read; nil if the beginning was skipped. The store has compared the digest of the file then.
  private let digest: IncrementalDigest?
  private var rest = Data()
  /// The number of the next chunk.
  private(set) var index = 0

  /// - Parameter first: The chunk to begin with. A value that is not in a file of the store is read from its beginning.
  init(_ value: ExternalData, of asset: AssetReference, chunkSize: Int64, from first: Int, in replica: StoreReplica) throws {
    (self.asset, self.chunkSize) = (asset, chunkSize)
    let offset = Int64(first) * chunkSize
    if first > 0, offset < asset.size, offset % Int64(ExternalData.chunkSize) == 0,
      let reader = try replica.reader(of: value, skipping: Int(offset))
    {
      (self.reader, digest, index) = (reader, nil, first)
    } else {
      (reader, digest) = (try value.makeReader(), try IncrementalDigest())
    }
  }

  /// Returns the next chunk.
  func next() throws -> [UInt8] {
    let size = AssetReference.size(ofChunk: index, size: asset.size, chunkSize: chunkSize)
    index += 1
    var chunk: [UInt8] = []
    chunk.reserveCapacity(size)
    while chunk.count < size {
      if rest.isEmpty {
        guard let data = try reader.next() else { throw Replaced() }
        rest = data
      }
      let part = rest.prefix(size - chunk.count)
      part.withUnsafeBytes { chunk += $0 }
      rest = rest.dropFirst(part.count)
    }
    try chunk.withUnsafeBytes { try digest?.append($0) }
    return chunk
  }

  /// Checks that nothing follows, and that the bytes are those of the value.
  func finish() throws {
    guard rest.isEmpty, try reader.next() == nil else { throw Replaced() }
    if let digest, Digest(bytes: try digest.finish()) != asset.digest { throw Replaced() }
  }
}

extension Error {
  /// Whether the error can have the cause that a large value was replaced or deleted while it was read.
  fileprivate var isReplacement: Bool { self is ChunkReader.Replaced || (self as? StoreError)?.code == .externalDataMissing }
}
