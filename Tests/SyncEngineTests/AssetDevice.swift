import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import SyncCore
import SyncCrypto
import SyncHub
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport
import _ForwardingHub

@testable import SyncEngine

/// Photos with large values, scans that require one, and pictures that require an album.
enum AssetModel {
  static let model: CompiledModel = {
    let model = ManagedObjectModel {
      Entity("Photo") {
        Attribute("name", .string)
        Attribute("image", .binary).externalStorage()
        Attribute("preview", .binary)
      }
      Entity("Scan") {
        Attribute("name", .string)
        Attribute("page", .binary).externalStorage().required()
      }
      Entity("Album") { Relationship("pictures", toMany: "Picture", inverse: "album").onDelete(.cascade) }
      Entity("Picture") {
        Attribute("image", .binary).externalStorage()
        Relationship("album", to: "Album", inverse: "pictures").required()
      }
    }
    do { return try CompiledModel(model) } catch { preconditionFailure("\(error)") }
  }()

  /// Returns bytes that depend on a number.
  static func bytes(_ count: Int, _ seed: UInt64) -> Data {
    var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    var data = Data(capacity: count + 8)
    while data.count < count {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      withUnsafeBytes(of: state) { data.append(contentsOf: $0) }
    }
    return data.prefix(count)
  }
}

/// A connection to a hub that counts the chunks of large values, checks that they are there before a commit names them, and can be interrupted.
final class ChunkHub: ForwardingHub {
  struct Counts: Hashable {
    /// How often each chunk was sent and received.
    var sent: [ChunkID: Int] = [:]
    var received: [ChunkID: Int] = [:]
    var bytes = 0
    /// The commits that named a missing chunk.
    var refusedCommits = 0
  }

  /// When a call of the connection fails.
  enum Interruption { case before, after }

  struct State {
    var counts = Counts()
    var callsUntilInterruption: Int?
    var interruption = Interruption.before
    /// Called before a chunk is sent.
    var willSend: (@Sendable () async throws -> Void)?
    var isAway = false
  }
  let embedded: EmbeddedHub
  var hub: any HubConnection { embedded }
  let state = Mutex(State())

  init(_ path: String, clock: (@Sendable () -> Int64)? = nil) {
    embedded =
      clock.map { EmbeddedHub(path: path, hashing: ZoneHashing.shared, clock: $0) } ?? EmbeddedHub(path: path, hashing: ZoneHashing.shared)
  }

  var counts: Counts { state.withLock { $0.counts } }
  func resetCounts() { state.withLock { $0.counts = Counts() } }

  private static let failure = HubError(.unavailable, "The line is broken.")

  /// Runs a call for a chunk, and fails before or after it if it is time.
  private func call<Result>(_ body: () async throws -> Result) async throws -> Result {
    let interruption: Interruption? = state.withLock { state in
      if state.isAway { return .before }
      guard let calls = state.callsUntilInterruption else { return nil }
      state.callsUntilInterruption = calls - 1
      return calls <= 0 ? state.interruption : nil
    }
    if interruption == .before { throw Self.failure }
    let result = try await body()
    if interruption == .after { throw Self.failure }
    return result
  }

  func missingChunks(_ ids: [ChunkID], zone: ZoneID) async throws -> [ChunkID] {
    if state.withLock({ $0.isAway }) { throw Self.failure }
    return try await hub.missingChunks(ids, zone: zone)
  }
  func putChunk(_ id: ChunkID, _ bytes: [UInt8], zone: ZoneID) async throws {
    let willSend = state.withLock { state in
      defer { state.willSend = nil }
      return state.willSend
    }
    try await willSend?()
    try await call {
      try await hub.putChunk(id, bytes, zone: zone)
      state.withLock { state in
        state.counts.sent[id, default: 0] += 1
        state.counts.bytes += bytes.count
      }
    }
  }
  func chunk(_ id: ChunkID, zone: ZoneID) async throws -> [UInt8]? {
    try await call {
      state.withLock { $0.counts.received[id, default: 0] += 1 }
      return try await hub.chunk(id, zone: zone)
    }
  }
  func push(_ commit: SealedCommit, zone: ZoneID) async throws -> PushAnswer {
    if state.withLock({ $0.isAway }) { throw Self.failure }
    let answer = try await hub.push(commit, zone: zone)
    if case .missingChunks = answer { state.withLock { $0.counts.refusedCommits += 1 } }
    return answer
  }
  func pull(_ request: PullRequest, zone: ZoneID) async throws -> PullAnswer {
    if state.withLock({ $0.isAway }) { throw Self.failure }
    return try await hub.pull(request, zone: zone)
  }
}

/// A device whose store is synchronized through a hub's file.
final class AssetDevice {
  let open: OpenStore
  let hub: ChunkHub
  private(set) var service: SyncService

  static func openStore(
    _ url: URL, model: CompiledModel = AssetModel.model, _ prepare: (inout PersistentStoreDescription) -> Void = { _ in }
  ) throws -> OpenStore {
    var description = PersistentStoreDescription(url: url, key: .databaseKey(SecretBytes([UInt8](repeating: 7, count: 32))))
    description.durability = .fast
    description.sideTableOwners = [SyncTables.shared]
    prepare(&description)
    return try OpenStore(description, model: model)
  }

  /// Starts the account of a hub with a store, or joins it.
  init(_ open: OpenStore, hub path: String, key: AccountRecoveryKey, joins: Bool, clock: (@Sendable () -> Int64)? = nil) async throws {
    self.open = open
    hub = ChunkHub(path, clock: clock)
    let (store, coordinator) = (open.persistentStore, open.coordinator)
    let name = open.persistentStore.url?.lastPathComponent ?? ""
    let first =
      joins
      ? try await SyncService.join(store, of: coordinator, hubPath: path, recoveryKey: key, deviceName: name)
      : try await SyncService.start(store, of: coordinator, hubPath: path, recoveryKey: key, deviceName: name)
    first.end()
    service = try Self.service(open, hub)
  }

  /// Continues with a store that is synchronized.
  init(continuing open: OpenStore, hub path: String) throws {
    (self.open, hub) = (open, ChunkHub(path))
    service = try Self.service(open, hub)
  }

  private static func service(_ open: OpenStore, _ hub: ChunkHub) throws -> SyncService {
    let (store, coordinator) = (open.persistentStore, open.coordinator)
    return try SyncService(coordinator, store, hub, StoreReplica(store, of: coordinator), SyncService.takeLease(of: store))
  }

  /// Continues as a new process does.
  func restart(_ policy: AssetPolicy = .eager) throws {
    service.end()
    service = try Self.service(open, hub)
    service.setAssetPolicy(policy)
  }

  func end() async {
    service.end()
    await hub.embedded.close()
  }

  @discardableResult func synchronize() async throws -> SyncRunner.Round { try await service.synchronize() }

  /// Asserts that the store has what its records say, and these what the hub has.
  func verify(file: StaticString = #filePath, line: UInt = #line) async throws {
    let result = try await service.verify()
    XCTAssertTrue(result.isEqual, "\(result)", file: file, line: line)
    let findings = try await hub.embedded.verify()
    XCTAssertEqual(findings, [], file: file, line: line)
    XCTAssertEqual(hub.counts.refusedCommits, 0, file: file, line: line)
  }

  // MARK: Objects

  @discardableResult
  func insert(_ name: String, _ image: Data?, entity: String = "Photo", attribute: String = "image") throws -> ManagedObjectID {
    let context = open.newContext()
    let object = try context.insert(entity, ["name": name])
    try object.setExternalData(image.map { ExternalData($0) }, forKey: attribute)
    try context.save()
    return object.objectID
  }

  func update(_ name: String, entity: String = "Photo", _ body: (ManagedObject) throws -> Void) throws {
    let context = open.newContext()
    try body(try object(name, entity, context))
    try context.save()
  }

  private func object(_ name: String, _ entity: String, _ context: ManagedObjectContext) throws -> ManagedObject {
    try XCTUnwrap(try context.fetch(FetchRequest<ManagedObject>(entityName: entity, predicate: .compare("name", .equal, name))).first, name)
  }

  func setImage(_ image: Data?, of name: String) throws {
    try update(name) { try $0.setExternalData(image.map { ExternalData($0) }, forKey: "image") }
  }

  /// Returns the large value of an object.
  func image(_ name: String, entity: String = "Photo", attribute: String = "image") throws -> Data? {
    let context = open.newContext()
    return try object(name, entity, context).externalData(forKey: attribute)?.data()
  }

  func names(_ entity: String = "Photo") throws -> [String] {
    let context = open.newContext()
    return try context.all(entity).compactMap { $0.text("name") }.sorted()
  }

  private func place(_ name: String, _ entity: String, _ attribute: String) throws -> (slot: Int, object: ObjectReference) {
    let context = open.newContext()
    let object = try object(name, entity, context)
    guard case .attribute(let slot)? = try open.entity(entity).property(named: attribute) else {
      throw CocoaError(.keyValueValidation)
    }
    return (slot.index, object.objectID.reference)
  }

  func state(_ name: String, entity: String = "Photo", attribute: String = "image") throws -> AssetState {
    let (slot, object) = try place(name, entity, attribute)
    return try StoreReplica(open.persistentStore, of: open.coordinator).assetState(slot, of: object)
  }

  func load(_ name: String, entity: String = "Photo", attribute: String = "image") async throws {
    let (slot, object) = try place(name, entity, attribute)
    try await service.loadAsset(slot, of: object)
  }
}
