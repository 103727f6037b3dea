import Foundation
import SQLCipherConnection
import StoreFiles
package import StoreKeys
package import SyncCore
import Synchronization

/// A hub in one encrypted file, which the clients of a machine open directly: several processes at once, without a server.
///
/// The file is opened by the first request, and opened again when it was replaced or could not be used: requests work again by themselves
/// when the cause of an error is gone. To restore a hub from a backup, end all programs that use it, delete its log (`<hub>-wal`), and
/// replace the file. Its zones then have another incarnation, and devices send again what the backup lacks.
///
/// ```swift
/// let hub = try await EmbeddedHub.create(at: path, hashing: hashing)
/// let answer = try await hub.push(commit, zone: zone)
/// ```
package final class EmbeddedHub: HubConnection {
  /// The path of the hub's file.
  package let path: String
  private let hub: Hub
  let hashing: any CommitHashing
  private let clock: @Sendable () -> Int64
  private let sessions: HubSessions
  private let reads = HubQueue("CipherData.HubReads", isSerial: false)
  /// Writes of one process wait for each other here instead of each on a thread of its own.
  private let writes = HubQueue("CipherData.HubWrites", isSerial: true)
  private let watches = Mutex<[ObjectIdentifier: WeakWatch]>([:])

  private struct WeakWatch { weak var watch: HubWatch? }

  /// Creates a connection to a hub's file, which the first request opens.
  ///
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - key: The hub's key; nil for the one in the file `<path>.key`.
  ///   - hashing: Computes the chains of commits, as the devices do.
  ///   - limits: The limits of pages.
  ///   - clock: Returns the time in milliseconds since 1970.
  package init(
    path: String, key: StoreKey? = nil, hashing: any CommitHashing, options: HubOptions = HubOptions(), limits: Hub.Limits = Hub.Limits(),
    clock: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1_000) }
  ) {
    (self.path, self.hashing, self.clock) = (path, hashing, clock)
    hub = Hub(hashing, limits: limits)
    sessions = HubSessions(path: path, key: key, options: options)
  }

  /// Creates a hub's file unless it exists, and returns a connection to it.
  ///
  /// Without a key, a random one is created in the file `<path>.key`, which only its owner can read.
  package static func create(
    at path: String, key: StoreKey? = nil, hashing: any CommitHashing, options: HubOptions = HubOptions()
  ) async throws -> EmbeddedHub {
    do { try await HubSessions.create(path, key, options) } catch { throw HubError.converted(error, path: path) }
    let hub = EmbeddedHub(path: path, key: key, hashing: hashing, options: options)
    _ = try await hub.identity()
    return hub
  }

  /// Closes the connection. Running requests complete before; watches end. Later requests throw `closed`.
  package func close() async {
    await sessions.close()
    for watch in watches.withLock({ Array($0.values) }) { watch.watch?.end() }
  }

  // MARK: Requests

  package func identity() async throws -> HubIdentity {
    try await perform { session in
      // The session has read it.
      session.metadata.identity
    }
  }

  package func pull(_ request: PullRequest, zone: ZoneID) async throws -> PullAnswer {
    let (answer, mustAcknowledge) = try await read { [hub, clock] connection in
      let storage = try SQLCipherHubStorage(connection, zone: zone)
      return (try hub.pull(request, from: storage, at: clock()), try hub.mustAcknowledge(request, in: storage, at: clock()))
    }
    // The pull does not wait for the writers of the hub. If this fails, the next pull repeats it.
    if mustAcknowledge {
      Task.detached(priority: .utility) { [self] in
        try? await write { [hub, clock] in try hub.acknowledge(request, in: SQLCipherHubStorage($0, zone: zone), at: clock()) }
      }
    }
    return answer
  }

  package func push(_ commit: SealedCommit, zone: ZoneID) async throws -> PushAnswer {
    try await write { [hub, clock] in try hub.push(commit, to: SQLCipherHubStorage($0, zone: zone), at: clock()) }
  }

  package func missingChunks(_ ids: [ChunkID], zone: ZoneID) async throws -> [ChunkID] {
    try await read { [hub] in try hub.missingChunks(ids, in: SQLCipherHubStorage($0, zone: zone)) }
  }

  package func putChunk(_ id: ChunkID, _ bytes: [UInt8], zone: ZoneID) async throws {
    let isRight = try await write { [hub, clock] in try hub.putChunk(id, bytes, to: SQLCipherHubStorage($0, zone: zone), at: clock()) }
    if !isRight { throw HubError(.wrongChunk, "A chunk of a large value was changed on its way to the hub.") }
  }

  package func chunk(_ id: ChunkID, zone: ZoneID) async throws -> [UInt8]? {
    try await read { [hub] in try hub.chunk(id, in: SQLCipherHubStorage($0, zone: zone)) }
  }

  /// Removes the chunks of large values that no record has named for a week, as pushes do a few at a time.
  ///
  /// - Returns: The number of removed chunks.
  @discardableResult
  package func removeUnusedChunks(zone: ZoneID) async throws -> Int {
    var count = 0
    while true {
      let removed = try await write { [hub, clock] in
        try hub.removeUnusedChunks(from: SQLCipherHubStorage($0, zone: zone), at: clock(), maximumCount: Self.removedChunks)
      }
      count += removed
      if removed < Self.removedChunks { return count }
    }
  }

  private static let removedChunks = 16

  package func verify(_ request: VerificationRequest, zone: ZoneID) async throws -> VerificationAnswer {
    try await read { [hub] in try hub.verify(request, in: SQLCipherHubStorage($0, zone: zone)) }
  }

  /// Returns the number of commits in a zone and the head of their chain.
  package func head(of zone: ZoneID) async throws -> ChainPoint {
    try await read { try SQLCipherHubStorage($0, zone: zone).head() }
  }

  /// Returns what the hub stores.
  package func usage() async throws -> HubUsage {
    try await perform { [reads] session in
      let zones = try await reads.run { try session.read($0, HubUsage.zones) }
      let size = ["", "-wal"].reduce(0) { $0 + (StoreFile.size(session.databasePath + $1) ?? 0) }
      return HubUsage(fileSize: size, zones: zones)
    }
  }

  /// Checks the pages of the file, the chains of all zones, and the records.
  ///
  /// - Returns: What is wrong; empty if nothing is.
  package func verify() async throws -> [HubFinding] {
    try await perform { [reads, hashing] session in
      let database = try await reads.run { try session.verifyDatabase($0).map(HubFinding.database) }
      // The tables of a damaged database cannot be compared.
      guard database.isEmpty else { return database }
      return try await reads.run { try session.read($0) { try HubVerification($0, hashing).findings() } }
    }
  }

  /// The hub's time, in milliseconds since 1970.
  var time: Int64 { clock() }

  func read<Result: Sendable>(_ body: @escaping @Sendable (Connection) throws -> Result) async throws -> Result {
    try await perform { [reads] session in try await reads.run { try session.read($0, body) } }
  }

  func write<Result: Sendable>(_ body: @escaping @Sendable (Connection) throws -> Result) async throws -> Result {
    try await perform { [writes] session in try await writes.run { try session.write($0, body) } }
  }

  private static let maximumAttempts = 3

  /// Runs a request with the open file. If the file was replaced meanwhile, runs it again with the new one.
  private func perform<Result: Sendable>(_ request: @Sendable (HubSession) async throws -> Result) async throws -> Result {
    for attempt in 1... {
      let session: HubSession
      do { session = try await sessions.current() } catch { throw HubError.converted(error, path: path) }
      do { return try await request(session) } catch {
        let converted = HubError.converted(error, path: path)
        guard let underlying = (converted as? HubError)?.underlying else { throw converted }
        if underlying.isLasting { await sessions.release(session) }
        let mayTryAgain = underlying.kind == .exchanged || underlying.kind == .closed
        guard mayTryAgain, attempt < Self.maximumAttempts else { throw converted }
      }
    }
    throw HubError.canceled
  }

  // MARK: Watching

  package func watch(zone: ZoneID) async throws -> HubWatch {
    let (events, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let files: StoreWatch = try await perform { session in
      do { try NoticeFile.make(for: session.databasePath) } catch let error as StoreAccessError
        where error.kind == .permissionDenied || error.kind == .readOnly
      {
        // Events of the log report commits too, though later.
      }
      return try StoreWatch(databasePath: session.databasePath) { continuation.yield() }
    }
    // Commits from here on cause events. The first hint reports those before.
    var last = try await head(of: zone).sequence
    let following = Mutex<Task<Void, Never>?>(nil)
    let watch = HubWatch {
      files.end()
      continuation.finish()
      following.withLock { $0?.cancel() }
    }
    watch.send(HubHint(sequence: last))
    let id = ObjectIdentifier(watch)
    watches.withLock { watches in
      watches = watches.filter { $0.value.watch != nil }
      watches[id] = WeakWatch(watch: watch)
    }
    let task = Task { [weak self, weak watch] in
      for await _ in events {
        guard let self, let watch else { break }
        do {
          let sequence = try await head(of: zone).sequence
          if sequence == last { continue }
          last = sequence
          watch.send(HubHint(sequence: sequence))
        } catch {
          if (error as? HubError)?.code == .closed { break }
          // The next pull reports the error.
          watch.send(HubHint(sequence: nil))
        }
      }
      watch?.end()
    }
    following.withLock { $0 = task }
    return watch
  }
}

extension StoreAccessError {
  /// Whether an open connection may have become unusable.
  fileprivate var isLasting: Bool {
    switch kind {
    case .busy, .cancelled, .diskFull, .outOfMemory, .notWatchable: false
    default: true
    }
  }
}
