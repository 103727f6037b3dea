public import Foundation
public import ObjectContext
import ObjectModel
import ObjectStore
import SyncCrypto
import SyncEngine
import Synchronization

/// A container whose stores are synchronized between the devices of a user, end-to-end encrypted.
///
/// Stores whose descriptions have ``PersistentStoreDescription/cloudOptions`` are synchronized with a hub: every save reaches the other
/// devices, offline or online, and what they save arrives like any other save. The hub stores sealed records only.
///
/// ```swift
/// import CipherData
/// import CipherDataSync
///
/// func open(_ model: ManagedObjectModel, at url: URL, key: StoreKey, hub: URL) async throws -> PersistentCloudContainer {
///   var description = PersistentStoreDescription(url: url, key: key)
///   description.cloudOptions = CloudOptions(hubURL: hub)
///   let container = try PersistentCloudContainer(
///     name: "Library", managedObjectModel: model, persistentStoreDescriptions: [description])
///   try await container.loadPersistentStores()
///   if try await !container.isSynchronized {
///     let recoveryKey = try await container.createAccount()
///     print("Keep this key in a safe place:", recoveryKey)
///   }
///   return container
/// }
/// ```
///
/// A second device calls ``joinAccount(recoveryKey:)`` instead of ``createAccount()``, once, or ``requestToJoinAccount(_:)``, which the user
/// approves on the first device. From then on, loading the stores starts their
/// synchronization. Several processes can open a store: one of them synchronizes it, and another one takes over when that ends.
///
/// Safe to use from any thread, as its superclass is: its own state is locked.
public final class PersistentCloudContainer: PersistentContainer, @unchecked Sendable {  // locked
  private let cloudStores = Mutex<[CloudStore]>([])
  private let receivers = Mutex<[UUID: AsyncStream<CloudEvent>.Continuation]>([:])

  // MARK: Stores

  /// Opens the stores, and continues the synchronization of those that are synchronized.
  ///
  /// - Throws: ``StoreError`` of the first store that cannot be opened; ``SyncError``.
  public override func loadPersistentStores(isolation: isolated (any Actor)? = #isolation) async throws {
    persistentStoreDescriptions = persistentStoreDescriptions.map { $0.preparedForSynchronization() }
    try await super.loadPersistentStores(isolation: isolation)
    for store in persistentStoreCoordinator.persistentStores {
      guard let options = store.storeDescription.cloudOptions, !cloudStores.withLock({ $0.contains { $0.store === store } }) else {
        continue
      }
      let cloudStore = CloudStore(store, of: persistentStoreCoordinator, options) { [weak self] in self?.send($0) }
      cloudStores.withLock { $0.append(cloudStore) }
      try await cloudStore.resume()
    }
  }

  /// Ends synchronization in this process, and closes all stores.
  public override func close() throws {
    let stores = cloudStores.withLock { stores in
      defer { stores = [] }
      return stores
    }
    for store in stores { store.end() }
    try super.close()
  }

  /// Returns the stores that are to be synchronized.
  private func stores() throws -> [CloudStore] {
    let stores = cloudStores.withLock { $0 }
    if stores.isEmpty { throw SyncError(.noCloudStore) }
    return stores
  }

  /// Returns the only store that is to be synchronized.
  func store() throws -> CloudStore {
    let stores = try stores()
    guard stores.count == 1 else { throw SyncError(.severalCloudStores) }
    return stores[0]
  }

  // MARK: Accounts

  /// Whether the store belongs to an account, so that it is synchronized.
  ///
  /// - Throws: ``SyncError`` with `noCloudStore` if no store has cloud options; ``StoreError`` if a store cannot be read.
  public var isSynchronized: Bool {
    get async throws {
      for store in try stores() {
        do { _ = try await store.status() } catch let error as SyncError where error.code == .notSynchronized { return false }
      }
      return true
    }
  }

  /// Creates an account with this device as its first one, on the hub of the store's options, whose file is created unless it exists.
  ///
  /// The objects of the store are sent from now on, in the background.
  /// - Returns: The recovery key, with which other devices join. It cannot be restored: show it once, and let the user keep it in a safe
  ///   place.
  /// - Throws: ``SyncError`` with `unsupportedModel` if the model has parts that cannot be synchronized, with `alreadySynchronized` if the
  ///   store belongs to an account.
  public func createAccount() async throws -> String {
    let key = try AccountRecoveryKey.random()
    let text = try key.text()
    try await store().createAccount(key)
    return text
  }

  /// Adds this device to an existing account. The objects of the store and those of the account are merged.
  ///
  /// - Parameter recoveryKey: The account's recovery key, as the user types it.
  /// - Throws: ``SyncError`` with `wrongRecoveryKey` if the text is not a recovery key, with `accountNotFound` if the hub does
  ///   not have the account, or with a code of ``createAccount()``.
  public func joinAccount(recoveryKey: String) async throws {
    let key: AccountRecoveryKey
    do { key = try AccountRecoveryKey(parsing: recoveryKey) } catch { throw SyncError.converting(error, path: nil) }
    try await store().joinAccount(key)
  }

  /// Ends the synchronization of the store, whose objects remain on this device. What was not sent yet stays here only.
  ///
  /// - Throws: ``SyncError`` with `busy` if another process synchronizes the store; ``StoreError`` if it cannot be written.
  public func leaveAccount() async throws { try await store().leave() }

  // MARK: State

  /// Checks whether the model can be synchronized, without changing anything.
  ///
  /// - Throws: ``SyncError`` with `unsupportedModel` and the list of what is in the way.
  public func initializeSchema() throws { try SyncSchema(persistentStoreCoordinator.compiledModel).check() }

  /// Sends and pulls everything now, instead of as soon as possible.
  ///
  /// - Throws: The error of the hub or the store that prevents it. Synchronization tries again by itself.
  public func synchronize() async throws { for store in try stores() { try await store.synchronize() } }

  /// The number of saves that the hub has not accepted yet.
  ///
  /// - Throws: ``SyncError`` with `notSynchronized` if a store does not belong to an account; ``StoreError`` if it cannot be read.
  public var pendingCount: Int {
    get async throws {
      var count = 0
      for store in try stores() { count += try await store.status().pendingSaves }
      return count
    }
  }

  /// Waits until all saves that were made before the call have been accepted by the hub.
  ///
  /// Errors of the hub are waited out.
  /// - Throws: `CancellationError` if the task is canceled; errors of the store.
  public func waitUntilSynced() async throws {
    var events = events().makeAsyncIterator()
    while try await pendingCount > 0 {
      try Task.checkCancellation()
      do { try await synchronize() } catch is CancellationError { throw CancellationError() } catch {
        if try await pendingCount == 0 { return }
        guard await events.next() != nil else { throw CancellationError() }
      }
    }
  }

  /// Compares the records of the store with those of the hub, exactly. Sends and pulls everything first.
  ///
  /// - Returns: Whether both have the same. If not, the store has been changed by other means than this library, or the hub does not return
  ///   what it was sent.
  /// - Throws: The error of the hub or the store that prevents the comparison.
  public func verifyState() async throws -> Bool {
    for store in try stores() where try await !store.verify() { return false }
    return true
  }

  // MARK: Events

  /// The notification that a container posts for each event. Its user info contains the ``CloudEvent`` under ``eventNotificationUserInfoKey``.
  public static let eventChangedNotification = Notification.Name("CipherData.PersistentCloudContainer.eventChanged")
  /// The key of the event in the notification's user info.
  public static let eventNotificationUserInfoKey = "event"

  /// Returns the events from now on.
  public func events() -> AsyncStream<CloudEvent> {
    let id = UUID()
    return AsyncStream { continuation in
      receivers.withLock { $0[id] = continuation }
      continuation.onTermination = { [weak self] _ in self?.receivers.withLock { _ = $0.removeValue(forKey: id) } }
    }
  }

  private func send(_ event: CloudEvent) {
    for receiver in receivers.withLock({ Array($0.values) }) { receiver.yield(event) }
    NotificationCenter.default.post(
      name: Self.eventChangedNotification, object: self, userInfo: [Self.eventNotificationUserInfoKey: event])
  }
}
