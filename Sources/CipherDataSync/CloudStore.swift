import Foundation
import ObjectModel
import ObjectStore
import SyncCore
import SyncCrypto
import SyncEngine
import SyncHub
import Synchronization

/// One synchronized store of a container: its service, as soon as this process has the right to synchronize it.
final class CloudStore: Sendable {
  let store: PersistentStore
  let coordinator: PersistentStoreCoordinator
  let options: CloudOptions
  private let events: CloudEventChannel
  /// Reports an event to the container.
  private let report: @Sendable (CloudEvent) -> Void
  /// Returns what the application does with imports.
  private let importHandler: @Sendable () -> ImportHandling.Handler?

  private struct State {
    var service: SyncService?
    /// The task that synchronizes, or waits for the right to do so.
    var supervision: Task<Void, Never>?
    var isEnded = false
  }
  private let state = Mutex(State())

  /// The times between attempts, in seconds.
  private enum Interval {
    /// To take over from another process.
    static let takeover = 1.0
    /// After an error: the first time, which doubles with each further one, and the last.
    static let first = 1.0
    static let last = 60.0
  }

  init(
    _ store: PersistentStore, of coordinator: PersistentStoreCoordinator, _ options: CloudOptions, _ events: CloudEventChannel,
    _ importHandler: @escaping @Sendable () -> ImportHandling.Handler?, _ report: @escaping @Sendable (CloudEvent) -> Void
  ) {
    (self.store, self.coordinator, self.options, self.events, self.report) = (store, coordinator, options, events, report)
    self.importHandler = importHandler
  }

  private func send(_ event: SyncEvent) { report(CloudEvent(event, storeIdentifier: store.identifier, path: path)) }

  private var path: String? { store.url?.path }

  // MARK: Setup

  func createAccount(_ keep: @Sendable (String) async throws -> Void) async throws {
    let account: NewAccount
    do {
      account = try await SyncService.newAccount(
        store, of: coordinator, hubPath: options.hubURL.path, deviceName: options.deviceName)
    } catch { throw converted(error) }
    try await keep(try account.recoveryKey.text())
    try await begin { try await account.create() }
  }

  func joinAccount(_ key: AccountRecoveryKey) async throws {
    // A call that was interrupted can have joined. Then loading the store has continued the synchronization.
    if try await reading({ try $0.isSynchronized() && $0.isReplica(ofAccountWith: key) }) { return }
    try await begin {
      try await SyncService.join(store, of: coordinator, hubPath: options.hubURL.path, recoveryKey: key, deviceName: options.deviceName)
    }
  }

  func begin(_ setup: () async throws -> SyncService) async throws {
    let event = SyncEvent(.setup)
    send(event)
    do {
      let service = try await setup()
      keep(service)
      // The account exists now, whether or not the hub can be reached: if not, the first round registers it.
      try? await service.register()
      try await service.record(event.ended())
    } catch {
      let error = SyncError.converting(error, path: path)
      send(event.ended(with: error))
      throw error
    }
    supervise()
  }

  /// Synchronizes from now on, if the store was set up.
  ///
  /// - Throws: ``SyncError`` with `unsupportedStore` if the store can never be synchronized. Other errors are reported as events: the
  ///   objects can be used, and synchronization begins when the cause is gone.
  func resume() async throws {
    // Its state and its records can be read.
    if store.isReadOnly { return }
    do { _ = try await currentService() } catch let error as SyncError where error.code == .notSynchronized { return } catch let error
      as SyncError where error.code == .unsupportedStore
    { throw error } catch {
      let event = SyncEvent(.setup)
      send(event)
      send(event.ended(with: error))
    }
    supervise()
  }

  private func supervise() {
    state.withLock { state in
      if state.supervision != nil || state.isEnded { return }
      state.supervision = Task { await self.run() }
    }
  }

  /// Synchronizes until the task is canceled. It waits while another process synchronizes the store.
  private func run() async {
    var delay = Interval.first
    while !Task.isCancelled {
      do {
        if let service = try await currentService() {
          for await _ in service.watch() {}
          delay = Interval.first
        } else {
          try await Task.sleep(for: .seconds(Interval.takeover))
        }
      } catch {
        if (error as? SyncError)?.code == .notSynchronized { return }
        try? await Task.sleep(for: .seconds(delay))
        delay = min(delay * 2, Interval.last)
      }
    }
  }

  /// Returns the service, or nil if another process synchronizes the store.
  private func currentService(hubPath: String? = nil) async throws -> SyncService? {
    if let service = state.withLock({ $0.service }) { return service }
    do {
      return keep(
        try await SyncService.resume(
          store, of: coordinator, hubPath: hubPath ?? options.hubURL.path, createsHub: hubPath == nil && options.createsMissingHub))
    } catch {
      let error = SyncError.converting(error, path: path)
      if (error as? SyncError)?.code == .busy { return nil }
      throw error
    }
  }

  @discardableResult
  private func keep(_ service: SyncService) -> SyncService {
    service.setAssetPolicy(options.assetPolicy)
    service.setImportHandler(importHandler())
    service.setEventReceiver { [weak self] event in self?.send(event) }
    let isEnded = state.withLock { state in
      if !state.isEnded { state.service = service }
      return state.isEnded
    }
    if isEnded { service.end() }
    return service
  }

  /// Ends synchronization by this process.
  func end() { stop(isEnded: true) }

  private func stop(isEnded: Bool) {
    let former = state.withLock { state in
      defer { state = State(isEnded: isEnded || state.isEnded) }
      return state
    }
    former.supervision?.cancel()
    former.service?.end()
  }

  /// Uses another handler of imports from the next import on.
  func updateImportHandler() { state.withLock { $0.service }?.setImportHandler(importHandler()) }

  // MARK: Rounds

  /// Runs a round now. If another process synchronizes the store, waits until it has sent everything.
  func synchronize() async throws {
    if try await runRound(pulls: true) { return }
    try await waitUntilSent(through: try await lastTransaction())
  }

  /// Runs a round.
  ///
  /// - Parameter pulls: Whether to pull; false only sends what was saved.
  /// - Returns: False if another process synchronizes the store.
  private func runRound(pulls: Bool) async throws -> Bool {
    guard let service = try await currentService() else { return false }
    supervise()
    do { try await service.synchronize(pulls: pulls) } catch { throw SyncError.converting(error, path: path) }
    return true
  }

  func lastTransaction() async throws -> Int64 { try await reading { try $0.lastTransaction() } }

  /// Waits until the hub has accepted the saves up to a transaction.
  func waitUntilSent(through number: Int64) async throws {
    var delay = Interval.first
    while try await !isSent(through: number) {
      do {
        if try await !runRound(pulls: false) { delay = Interval.takeover }
      } catch let error as SyncError where [.hubUnavailable, .hubUnreadable, .leaseUnavailable].contains(error.code) {}
      if try await isSent(through: number) { return }
      try await waitForEvent(seconds: delay)
      delay = min(delay * 2, Interval.last)
    }
  }

  private func isSent(through number: Int64) async throws -> Bool { try await reading { try $0.isSent(through: number) } }

  /// Waits for the end of successful work, or some time.
  private func waitForEvent(seconds: Double) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { [events, identifier = store.identifier] in
        for await event in events.events() where event.succeeded && event.storeIdentifier == identifier { return }
      }
      group.addTask { try await Task.sleep(for: .seconds(seconds)) }
      try await group.next()
      group.cancelAll()
    }
  }

  func verify() async throws -> Bool {
    guard let service = try await currentService() else { throw SyncError(.busy, path: path) }
    do { return try await service.verify().isEqual } catch { throw SyncError.converting(error, path: path) }
  }

  func reconcile() async throws -> SyncReconciliation {
    guard let service = try await currentService() else { throw SyncError(.busy, path: path) }
    do { return try await service.reconcile() } catch { throw SyncError.converting(error, path: path) }
  }

  func leave() async throws {
    // The hub is not needed, so it may have been moved.
    let hubPath = try await reading { try $0.status() }.hubPath
    guard let service = try await currentService(hubPath: hubPath) else { throw SyncError(.busy, path: path) }
    let supervision = state.withLock { state in
      defer { state.supervision = nil }
      return state.supervision
    }
    supervision?.cancel()
    do { try await service.leave() } catch {
      supervise()
      throw error
    }
    stop(isEnded: false)
  }

  // MARK: State

  func isSynchronized() async throws -> Bool { try await reading { try $0.isSynchronized() } }

  func status() async throws -> CloudStatus { CloudStatus(try await reading { try $0.status() }, storeIdentifier: store.identifier) }

  func journal() async throws -> [CloudJournalEntry] {
    try await reading { replica in
      try replica.journal().map { CloudJournalEntry($0, storeIdentifier: self.store.identifier) }
    }
  }

  /// Requires a version of the model, and sends that if the hub can be used.
  func requireModelVersion(_ text: String?) async throws -> String {
    let version = try text.map { text in
      guard let version = ModelVersion(text) else { throw SyncError(.invalidModelVersion(text), path: path) }
      return version
    }
    let required = try await reading { try $0.requireModelVersion(version) }
    _ = try? await runRound(pulls: false)
    return required.description
  }

  func pendingChanges(_ maximumCount: Int) async throws -> CloudPendingChanges {
    CloudPendingChanges(try await reading { try $0.pendingReport(maximumCount: maximumCount) }, storeIdentifier: store.identifier)
  }

  func conflicts() async throws -> CloudConflicts {
    CloudConflicts(try await reading { try $0.openConflicts() }, storeIdentifier: store.identifier)
  }

  func removeJournalEntries(before date: Date) async throws -> Int { try await reading { try $0.removeJournalEntries(before: date) } }

  /// Reads the state of the store, which waits for no other process, nor for a round.
  private func reading<Result: Sendable>(_ body: @Sendable (StoreReplica) throws -> Result) async throws -> Result {
    try await SyncService.onQueue { try body(StoreReplica(store, of: coordinator)) }
  }

  /// Returns where the value of a binary attribute is.
  func assetState(_ slot: Int, of object: ManagedObjectID) async throws -> AssetState {
    try await reading { try $0.assetState(slot, of: object.reference) }
  }

  /// Downloads the value of a binary attribute, unless it is on the device.
  func loadAsset(_ slot: Int, of object: ManagedObjectID) async throws {
    guard case .missing = try await assetState(slot, of: object) else { return }
    guard let service = try await currentService() else { throw SyncError(.busy, path: path) }
    do { try await service.loadAsset(slot, of: object.reference) } catch { throw SyncError.converting(error, path: path) }
  }

  /// Returns the records of objects of the store.
  func records(of objectIDs: [ManagedObjectID]) throws -> [ManagedObjectID: ObjectRecord] {
    let records = try StoreReplica(store, of: coordinator).objectRecords(of: objectIDs.map(\.reference))
    return Dictionary(uniqueKeysWithValues: records.map { (store.space.objectID(of: $0), $1) })
  }
}
