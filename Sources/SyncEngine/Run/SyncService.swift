import Foundation
import ObjectContext
package import ObjectModel
package import ObjectStore
import SyncCore
package import SyncCrypto
package import SyncHub
import Synchronization

/// Synchronization of one open store, by one process at a time.
package final class SyncService: Sendable {
  package let coordinator: PersistentStoreCoordinator
  package let store: PersistentStore
  let runner: SyncRunner
  package let hub: any HubConnection
  private let lease: SyncLease

  init(
    _ coordinator: PersistentStoreCoordinator, _ store: PersistentStore, _ hub: any HubConnection, _ replica: sending StoreReplica,
    _ lease: SyncLease
  ) throws {
    (self.coordinator, self.store, self.hub, self.lease) = (coordinator, store, hub, lease)
    runner = try SyncRunner(replica, with: hub)
  }

  // MARK: Setup

  /// Makes a store a replica of the zone of an existing account.
  package static func join(
    _ store: PersistentStore, of coordinator: PersistentStoreCoordinator, hubPath: String, recoveryKey: AccountRecoveryKey,
    deviceName: String
  ) async throws -> SyncService {
    let hub = EmbeddedHub(path: hubPath, hashing: ZoneHashing.shared)
    return try await onQueue {
      let replica = try StoreReplica(store, of: coordinator)
      try replica.checkCanBegin()
      let lease = try takeLease(of: store)
      try await AccountSetup.join(recoveryKey, for: replica, hub: hub, hubPath: hubPath, deviceName: deviceName)
      return try SyncService(coordinator, store, hub, replica, lease)
    }
  }

  /// Continues to synchronize a store.
  ///
  /// - Parameters:
  ///   - hubPath: The new path of the hub's file, if it was moved.
  ///   - createsHub: Whether to create the hub's file if it does not exist, because the hub was lost. The next round creates the account.
  /// - Throws: ``SyncError`` with `notSynchronized` if the store was never set up, `busy` if another process synchronizes it, or
  ///   `hubExists` if the hub would be a second one. An error of the hub if the new path is not that of a hub with the account: the store
  ///   then keeps the former path.
  package static func resume(
    _ store: PersistentStore, of coordinator: PersistentStoreCoordinator, hubPath: String? = nil, createsHub: Bool = false
  ) async throws -> SyncService {
    try await onQueue {
      let replica = try StoreReplica(store, of: coordinator)
      // Waits for no other process: this is tried again and again while another one synchronizes the store.
      var account = try replica.snapshot { try replica.accountState() }
      let lease = try takeLease(of: store)
      let path = hubPath ?? account.hubPath
      let isNewHub = createsHub && !FileManager.default.fileExists(atPath: path)
      if isNewHub, FileManager.default.fileExists(atPath: account.hubPath) {
        throw SyncError(.hubExists(account.hubPath), path: store.url?.path)
      }
      if isNewHub { await (try await EmbeddedHub.create(at: path, hashing: ZoneHashing.shared)).close() }
      if let hubPath, hubPath != account.hubPath {
        let moved = EmbeddedHub(path: hubPath, hashing: ZoneHashing.shared)
        _ = try await moved.identity()
        // A first device that has not reached the hub yet creates the account there.
        if account.isNewAccount != true, !isNewHub { _ = try await moved.account(account.accountKeys.id) }
        account.hubPath = hubPath
        try replica.transaction { try replica.setAccountState(account) }
      }
      let hub = EmbeddedHub(path: account.hubPath, hashing: ZoneHashing.shared)
      return try SyncService(coordinator, store, hub, replica, lease)
    }
  }

  /// Continues to synchronize a store through another connection to its hub.
  package static func resume(
    _ store: PersistentStore, of coordinator: PersistentStoreCoordinator, through hub: any HubConnection
  ) async throws -> SyncService {
    try await onQueue {
      let replica = try StoreReplica(store, of: coordinator)
      return try SyncService(coordinator, store, hub, replica, takeLease(of: store))
    }
  }

  static func takeLease(of store: PersistentStore) throws -> SyncLease {
    let path = store.url?.path ?? ""
    if store.isReadOnly { throw SyncError(.readOnlyStore, path: path) }
    guard let lease = try SyncLease.take(for: path) else { throw SyncError(.busy, path: path) }
    return lease
  }

  /// Runs blocking work outside of Swift's cooperative thread pool.
  package static func onQueue<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
    try await withTaskExecutorPreference(QueueExecutor(label: "CipherData.SynchronizationSetup"), operation: body)
  }

  // MARK: Rounds

  /// Runs one round: pulls everything, and sends what was saved before. Later saves may be sent too.
  ///
  /// - Parameters:
  ///   - pulls: Whether to pull; false only sends what was saved.
  ///   - progress: Called after each step.
  @discardableResult
  package func synchronize(
    pulls: Bool = true, progress: (@Sendable (SyncRunner.Round) -> Void)? = nil
  ) async throws -> SyncRunner.Round {
    if lease.isReleased { throw SyncError(.busy, path: store.url?.path) }
    return try await runner.synchronizeAndReport(pulls: pulls, progress)
  }

  /// Sets which large values of other devices are downloaded, from the next round on.
  package func setAssetPolicy(_ policy: AssetPolicy) { runner.assetPolicy.withLock { $0 = policy } }

  /// Sets what the application does with imports before they are visible.
  package func setImportHandler(_ handler: ImportHandling.Handler?) { runner.importHandling.handler = handler }

  /// Downloads a large value, unless it is on the device.
  ///
  /// - Parameter slot: The slot of a binary attribute.
  /// - Throws: ``SyncError`` with `assetMissing` if the hub cannot be used or does not have the value.
  package func loadAsset(_ slot: Int, of object: ObjectReference) async throws {
    if lease.isReleased { throw SyncError(.busy, path: store.url?.path) }
    try await runner.loadAsset(slot, of: object)
  }

  /// Makes the account and the device known to the hub, so that other devices can join. Otherwise, the first round does this.
  package func register() async throws { try await runner.register() }

  package func status() async throws -> SyncStatus { try await runner.withReplica { try $0.status() } }

  /// Ends the synchronization of the store. Its objects remain; the zone and the other devices do not change.
  ///
  /// What the hub has not accepted yet remains in this store only. Do not use the service afterwards.
  package func leave() async throws {
    try await runner.leave()
    end()
  }

  /// Gives the right to synchronize the store to others. A round that is running completes or fails; later ones throw.
  package func end() { lease.release() }

  /// Sets the function that receives the events of all rounds, on a thread of the service.
  package func setEventReceiver(_ receiver: @escaping @Sendable (SyncEvent) -> Void) { runner.setEventReceiver(receiver) }

  /// Stores and reports the event of work that was done apart from rounds, such as the setup.
  package func record(_ event: SyncEvent) async throws { try await runner.record(event) }

  /// Whether everything is sent and pulled, as far as the device knows.
  package func isIdle() async throws -> Bool { try await runner.isIdle() }
}

extension SyncRunner {
  /// Runs a round, and records its result in the store.
  fileprivate func synchronizeAndReport(pulls: Bool, _ progress: (@Sendable (Round) -> Void)?) async throws -> Round {
    try await reporting { try await $0.synchronize(pulls: pulls, progress) }
  }

  /// Compares all records with those of the hub, and fetches those that differ.
  func reconcileAndReport(_ progress: (@Sendable (Round) -> Void)?) async throws -> Round {
    try await reporting { try await $0.reconcile(progress) }
  }

  /// Runs a round, and stores its events and its result.
  private func reporting(_ run: (isolated SyncRunner) async throws -> Round) async throws -> Round {
    do {
      let round = try await run(self)
      try reportEnded { try recordSuccess(didSomething: round != Round(), $0) }
      return round
    } catch {
      reportEnded { try? recordFailure(error, $0) }
      throw error
    }
  }

  /// The time for which the report of a round that did nothing is not written again, in seconds.
  private static let reportInterval: TimeInterval = 60

  private func recordSuccess(didSomething: Bool, _ events: [SyncEvent]) throws {
    try withReplica { replica in
      try replica.transaction {
        try replica.add(events)
        var report = try replica.report()
        let isRecent = report.lastSuccess.map { -$0.timeIntervalSinceNow < Self.reportInterval } ?? false
        if !didSomething, isRecent, report.lastError == nil { return }
        report.lastSuccess = Date()
        (report.lastError, report.lastErrorDate, report.lastFailure) = (nil, nil, nil)
        try replica.setReport(report)
      }
    }
  }

  private func recordFailure(_ error: any Error, _ events: [SyncEvent]) throws {
    try withReplica { replica in
      try replica.transaction {
        // The store may have left the zone meanwhile.
        guard try replica.replicaState() != nil else { return }
        try replica.add(events)
        // An interrupted round is not an error.
        if error is CancellationError || (error as? HubError)?.code == .canceled { return }
        var report = try replica.report()
        let error = error is WireError ? SyncError.converting(error, path: nil) : error
        (report.lastError, report.lastErrorDate, report.lastFailure) = ("\(error)", Date(), SyncError.shortMessage(error))
        try replica.setReport(report)
      }
    }
  }
}

extension SyncError.Reason {
  package static var busy: Self { Self(.busy, "Another process synchronizes the store. Try again when that process has ended.") }
}
