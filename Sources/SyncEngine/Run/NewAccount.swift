import Foundation
package import ObjectStore
package import SyncCrypto
import SyncHub

/// An account that a store is about to create. Its recovery key is to be kept before ``create()``.
///
/// The encrypted store contains the key until it contains the account. So a creation that was interrupted, however that happened, uses the
/// same key when it is repeated, and the hub does not have the account before. While the value exists, no other process synchronizes the
/// store.
package struct NewAccount: Sendable {
  package let recoveryKey: AccountRecoveryKey
  private let store: PersistentStore
  private let coordinator: PersistentStoreCoordinator
  private let hub: any HubConnection
  private let hubPath: String
  private let deviceName: String
  private let lease: SyncLease

  fileprivate init(
    _ store: PersistentStore, of coordinator: PersistentStoreCoordinator, hub: any HubConnection, hubPath: String, deviceName: String,
    recoveryKey: @Sendable (StoreReplica) throws -> AccountRecoveryKey
  ) throws {
    (self.store, self.coordinator, self.hub, self.hubPath, self.deviceName) = (store, coordinator, hub, hubPath, deviceName)
    lease = try SyncService.takeLease(of: store)
    self.recoveryKey = try recoveryKey(StoreReplica(store, of: coordinator))
  }

  /// Makes the store the first replica of the account's zone. The next round creates the account on the hub.
  ///
  /// - Throws: ``SyncError`` if the store was synchronized meanwhile; errors of the store, which is unchanged then.
  package func create() async throws -> SyncService {
    try await SyncService.onQueue {
      let replica = try StoreReplica(store, of: coordinator)
      try AccountSetup.createAccount(recoveryKey, for: replica, hubPath: hubPath, deviceName: deviceName)
      return try SyncService(coordinator, store, hub, replica, lease)
    }
  }
}

extension SyncService {
  /// Prepares to create an account on a hub, whose file is created unless it exists.
  ///
  /// - Throws: ``SyncError`` with a code of ``StoreReplica`` if the store cannot be synchronized or already is, with `busy` if another
  ///   process synchronizes it; errors of the hub.
  package static func newAccount(
    _ store: PersistentStore, of coordinator: PersistentStoreCoordinator, hubPath: String, deviceName: String
  ) async throws -> NewAccount {
    try await newAccount(store, of: coordinator, hubPath: hubPath, deviceName: deviceName) { try $0.newAccountKey() }
  }

  /// Creates an account with a given recovery key.
  package static func start(
    _ store: PersistentStore, of coordinator: PersistentStoreCoordinator, hubPath: String, recoveryKey: AccountRecoveryKey,
    deviceName: String
  ) async throws -> SyncService {
    try await newAccount(store, of: coordinator, hubPath: hubPath, deviceName: deviceName) { _ in recoveryKey }.create()
  }

  private static func newAccount(
    _ store: PersistentStore, of coordinator: PersistentStoreCoordinator, hubPath: String, deviceName: String,
    recoveryKey: @Sendable (StoreReplica) throws -> AccountRecoveryKey
  ) async throws -> NewAccount {
    // Nothing is created for a store that is refused.
    try await onQueue { try StoreReplica(store, of: coordinator).checkCanBegin() }
    let hub = try await EmbeddedHub.create(at: hubPath, hashing: ZoneHashing.shared)
    return try await onQueue {
      try NewAccount(store, of: coordinator, hub: hub, hubPath: hubPath, deviceName: deviceName, recoveryKey: recoveryKey)
    }
  }
}
