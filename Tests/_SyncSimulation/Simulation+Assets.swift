import SyncCore

/// The transfers of large values of a device's process. They end with it; what the store has recorded remains.
struct AssetTransfers {
  struct Upload {
    var upload: SimulatedStore.AssetUpload
    /// The chunks that were made before, and that the hub does not have.
    var missing: Set<ChunkID> = []
    var index = 0
  }

  struct Download {
    let key: SimulatedStore.AssetKey
    let asset: AssetReference
    var index = 0
  }

  /// A commit that is sent again after some chunks, because the hub does not have them.
  struct Repetition {
    let commit: SealedCommit
    let answer: PushAnswer
    var chunks: [(id: ChunkID, bytes: [UInt8])]
    /// Whether the device lacks other chunks, so that the commit is frozen again without their values.
    let lacksChunks: Bool
  }

  var upload: Upload?
  var download: Download?
  var repetition: Repetition?
  /// The numbers of the requests that wait for answers.
  var awaited: [AssetRequest.Purpose: Int] = [:]

  var isIdle: Bool { upload == nil && download == nil && repetition == nil }

  mutating func end(_ purpose: AssetRequest.Purpose) {
    awaited[purpose] = nil
    switch purpose {
    case .upload: upload = nil
    case .download: download = nil
    case .repetition: repetition = nil
    }
  }
}

/// A request to the hub about chunks.
struct AssetRequest {
  enum Purpose { case upload, download, repetition }
  enum Kind {
    case missing([ChunkID])
    case put(ChunkID, [UInt8])
    case get(ChunkID)
  }
  let number: Int
  let purpose: Purpose
  let kind: Kind
}

/// A message about chunks.
enum AssetMessage {
  case request(AssetRequest)
  case missing(AssetRequest, [ChunkID])
  case stored(AssetRequest)
  case chunk(AssetRequest, [UInt8]?)
  case failure(AssetRequest)
}

extension Simulation {
  /// Lets time pass for longer than chunks are kept that no record names.
  func passAssetTime(_ random: inout SimulationRandom) {
    if setup.hasAssets, random.chance(0.03) { time += hub.limits.chunkLifetime }
  }

  static let delayedRounds = 8

  /// Lets large values wait in the first rounds of the final phase, and checks then that nothing else waits.
  func endDelay(after round: Int) throws {
    delaysUploads = round < Self.delayedRounds
    if !delaysUploads { for device in devices { try checks.checkDelayed(device) } }
  }

  /// Begins to transfer large values if the device does nothing of that kind.
  func beginTransfer(on device: SimulatedDevice, _ random: inout SimulationRandom) throws {
    guard setup.hasAssets, !device.isAway, device.transfers.isIdle, device.store.callsUntilKill == nil || random.chance(0.5) else { return }
    if !isQuiet, random.chance(0.4) { return }
    var uploads: [SimulatedStore.AssetUpload] = []
    if !delaysUploads {
      try survivingKill(device) {
        uploads = try device.store.transaction {
          try device.store.uploads { key in
            assetKeyCount += 1
            return hashing.digest(of: [key.id.high, key.id.low, key.property.value, UInt64(assetKeyCount)]).allBytes
          }
        }
      }
    }
    if let upload = random.chance(0.7) ? uploads.first : random.element(of: uploads) {
      device.transfers.upload = AssetTransfers.Upload(upload: upload)
      if upload.sealed.chunks.isEmpty { return try continueUpload(on: device, &random) }
      return send(.missing(upload.sealed.chunks), for: .upload, of: device, &random)
    }
    guard device.loadsAssets || random.chance(0.1), let key = random.element(of: device.store.missingAssets),
      let asset = device.store.known(of: key.id)?[key.property]?.value.asset, asset.sealed != nil
    else { return }
    device.transfers.download = AssetTransfers.Download(key: key, asset: asset)
    try continueDownload(on: device, &random)
  }

  private func send(
    _ kind: AssetRequest.Kind, for purpose: AssetRequest.Purpose, of device: SimulatedDevice, _ random: inout SimulationRandom
  ) {
    assetRequestCount += 1
    let request = AssetRequest(number: assetRequestCount, purpose: purpose, kind: kind)
    device.transfers.awaited[purpose] = request.number
    send(.asset(device: device.number, .request(request)), failure: .asset(device: device.number, .failure(request)), &random)
  }

  func deliver(_ message: AssetMessage, _ device: SimulatedDevice, _ random: inout SimulationRandom) throws {
    switch message {
    case .request(let request):
      let answer: AssetMessage
      switch request.kind {
      case .missing(let ids): answer = .missing(request, try hub.missingChunks(ids, in: storage))
      case .get(let id): answer = .chunk(request, try hub.chunk(id, in: storage))
      case .put(let id, let bytes):
        let time = hubTime(for: device.number)
        guard try hub.putChunk(id, bytes, to: storage, at: time) else {
          throw SimulationFailure(invariant: "chunks have the right bytes", detail: "device \(device.number)")
        }
        storage.noteChunks(at: time)
        answer = .stored(request)
      }
      send(.asset(device: device.number, answer), failure: .asset(device: device.number, .failure(request)), &random)
    case .missing(let request, let ids):
      guard begins(request, on: device) else { return }
      device.transfers.upload?.missing = Set(ids)
      try continueUpload(on: device, &random)
    case .stored(let request):
      guard begins(request, on: device) else { return }
      if request.purpose == .repetition {
        device.transfers.repetition?.chunks.removeFirst()
        return try continueRepetition(on: device, &random)
      }
      device.transfers.upload?.index += 1
      try continueUpload(on: device, &random)
    case .chunk(let request, let bytes):
      guard begins(request, on: device), let download = device.transfers.download, let sealed = download.asset.sealed else { return }
      guard let bytes else { return device.transfers.end(.download) }
      if bytes != SimulatedChunks.chunk(download.index, of: download.asset, sealed.key).bytes {
        throw SimulationFailure(invariant: "chunks have the right bytes", detail: "device \(device.number)")
      }
      device.transfers.download?.index += 1
      try continueDownload(on: device, &random)
    case .failure(let request):
      guard begins(request, on: device) else { return }
      device.transfers.end(request.purpose)
      if request.purpose == .repetition { try handle(.pushFailed, on: device, &random) }
    }
  }

  /// Returns whether a device waits for the answer to a request, and notes that it has come.
  private func begins(_ request: AssetRequest, on device: SimulatedDevice) -> Bool {
    guard device.transfers.awaited[request.purpose] == request.number else { return false }
    device.transfers.awaited[request.purpose] = nil
    if !device.isAway { return true }
    device.transfers.end(request.purpose)
    return false
  }

  // MARK: Uploads

  private func continueUpload(on device: SimulatedDevice, _ random: inout SimulationRandom) throws {
    guard var running = device.transfers.upload else { return }
    var (isEnded, isComplete): (Bool, Bool) = (false, false)
    var next: (id: ChunkID, bytes: [UInt8])?
    try survivingKill(device) {
      try device.store.transaction {
        let (key, asset) = (running.upload.key, running.upload.asset)
        if !device.store.hasBytes(of: asset, key) {
          // The value was replaced. That is noticed, unless all of it was read before.
          isEnded = true
          if device.store.state.assets[key]?.isMissing ?? false { return }
          if running.upload.sealed.chunks.isEmpty || random.chance(0.5) {
            device.store.state.assets[key] = nil
            return
          }
        }
        let count = Int(AssetReference.chunkCount(size: asset.size, chunkSize: running.upload.sealed.chunkSize))
        while running.index < count {
          let chunk = SimulatedChunks.chunk(running.index, of: asset, running.upload.sealed.key)
          if running.index >= running.upload.sealed.chunks.count {
            running.upload.sealed.chunks.append(chunk.id)
            device.store.setProgress(of: running.upload)
          } else if !running.missing.contains(chunk.id) {
            running.index += 1
            continue
          }
          next = chunk
          return
        }
        device.store.setProgress(of: running.upload, isComplete: true)
        (isEnded, isComplete) = (true, true)
      }
    }
    // The process may have ended.
    if device.transfers.upload == nil { return }
    device.transfers.upload = running
    if let next, !isEnded { return send(.put(next.id, next.bytes), for: .upload, of: device, &random) }
    device.transfers.end(.upload)
    if isComplete { try handle(.save, on: device, &random) }
  }

  // MARK: Downloads

  private func continueDownload(on device: SimulatedDevice, _ random: inout SimulationRandom) throws {
    guard let download = device.transfers.download, let sealed = download.asset.sealed else { return }
    if download.index < sealed.chunks.count { return send(.get(sealed.chunks[download.index]), for: .download, of: device, &random) }
    try survivingKill(device) {
      try device.store.transaction {
        guard let entry = device.store.state.assets[download.key], entry.isMissing, entry.asset.content == download.asset.content,
          device.store.missingAssets.contains(download.key)
        else { return }
        device.store.state.assets[download.key] = SimulatedStore.AssetEntry(asset: download.asset, location: .both)
      }
    }
    device.transfers.end(.download)
    try beginTransfer(on: device, &random)
  }

  // MARK: Repetitions

  /// Begins to upload the chunks that the hub has requested with its answer to a commit.
  ///
  /// - Returns: False if the answer is another one.
  func repeatCommit(
    after answer: PushAnswer, _ digest: Digest, on device: SimulatedDevice, _ random: inout SimulationRandom
  ) throws -> Bool {
    guard case .missingChunks(let ids, _) = answer, let commit = device.store.state.outbox?.commit, commit.digest == digest,
      !device.isAway
    else { return false }
    if device.transfers.repetition != nil { return true }
    var (chunks, wanted): ([(ChunkID, [UInt8])], Set<ChunkID>) = ([], Set(ids))
    try survivingKill(device) {
      try device.store.transaction {
        for record in commit.records where !wanted.isDisjoint(with: record.chunks) {
          let stored = StoredRecord(
            name: record.name, sequence: 0, version: record.version, isDeleted: record.isDeleted, body: record.body)
          let (id, opened) = try hashing.open(stored)
          for (property, asset) in opened.assets {
            guard let sealed = asset.sealed, !wanted.isDisjoint(with: sealed.chunks) else { continue }
            let key = SimulatedStore.AssetKey(id: id, property: property)
            guard device.store.hasBytes(of: asset, key) else {
              checks.noteLost(asset, key, of: device, in: self)
              device.store.state.assets[key] = SimulatedStore.AssetEntry(asset: asset.content, location: .lost)
              continue
            }
            for (index, id) in sealed.chunks.enumerated() where wanted.contains(id) {
              chunks.append(SimulatedChunks.chunk(index, of: asset, sealed.key))
            }
            wanted.subtract(sealed.chunks)
          }
        }
      }
      device.transfers.repetition = AssetTransfers.Repetition(
        commit: commit, answer: answer, chunks: chunks, lacksChunks: !wanted.isEmpty)
    }
    try continueRepetition(on: device, &random)
    return true
  }

  private func continueRepetition(on device: SimulatedDevice, _ random: inout SimulationRandom) throws {
    guard let repetition = device.transfers.repetition else { return }
    if device.store.state.outbox?.commit.digest != repetition.commit.digest { return device.transfers.end(.repetition) }
    if let next = repetition.chunks.first { return send(.put(next.id, next.bytes), for: .repetition, of: device, &random) }
    device.transfers.end(.repetition)
    if repetition.lacksChunks { return try handle(.pushed(repetition.commit.digest, repetition.answer), on: device, &random) }
    send(
      .pushRequest(device: device.number, repetition.commit), failure: .pushFailure(device: device.number), &random)
  }
}
