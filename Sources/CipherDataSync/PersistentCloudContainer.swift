public import Foundation
public import ObjectContext
import ObjectModel
public import ObjectStore
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
/// import Foundation
///
/// func open(_ model: ManagedObjectModel, at url: URL, key: StoreKey, hub: URL) async throws -> PersistentCloudContainer {
///   var description = PersistentStoreDescription(url: url, key: key)
///   description.cloudOptions = CloudOptions(hubURL: hub)
///   let container = try PersistentCloudContainer(
///     name: "Library", managedObjectModel: model, persistentStoreDescriptions: [description])
///   try await container.loadPersistentStores()
///   if try await !container.isSynchronized {
///     try await container.createAccount { recoveryKey in print("Write this key down:", recoveryKey) }
///   }
///   return container
/// }
/// ```
///
/// A second device calls ``joinAccount(recoveryKey:)`` instead of ``createAccount(keepingRecoveryKey:)``, once, or
/// ``requestToJoinAccount(_:)``, which the user approves on the first device. From then on, loading the stores starts their
/// synchronization. Several processes can open a store: one of them synchronizes it, and another one takes over when that ends.
///
/// Safe to use from any thread, as its superclass is: its own state is locked.
public final class PersistentCloudContainer: PersistentContainer, @unchecked Sendable {  // locked
  private let cloudStores = Mutex<[CloudStore]>([])
  private let channel = CloudEventChannel()
  private let handler = Mutex<CloudImportHandler?>(nil)

  /// Changes what other devices have sent before it becomes visible: for example, to make one object of two with the same natural key. Set
  /// it before the stores are loaded. See ``CloudImportHandler``.
  public var importHandler: CloudImportHandler? {
    get { handler.withLock { $0 } }
    set {
      handler.withLock { $0 = newValue }
      for store in cloudStores.withLock({ $0 }) { store.updateImportHandler() }
    }
  }

  // MARK: Stores

  /// Opens the stores that are not open yet, and continues the synchronization of those that are synchronized.
  ///
  /// Errors of synchronization do not prevent the use of the stores, so they are reported as events: for example, if the hub was moved and
  /// cannot be reached.
  /// - Throws: ``StoreError`` of the first store that cannot be opened; ``SyncError`` with `unsupportedStore`, before any store is opened,
  ///   if a description with cloud options is not that of a SQLCipher store, with `hubUnreadable` if its hub is not a file.
  public override func loadPersistentStores(isolation: isolated (any Actor)? = #isolation) async throws {
    persistentStoreDescriptions = try persistentStoreDescriptions.map { try $0.preparedForSynchronization() }
    try await super.loadPersistentStores(isolation: isolation)
    let open = persistentStoreCoordinator.persistentStores
    let (added, removed) = cloudStores.withLock { stores in
      let removed = stores.filter { known in !open.contains { $0 === known.store } }
      stores.removeAll { known in removed.contains { $0 === known } }
      let added = open.filter { store in !stores.contains { $0.store === store } }.compactMap { store in
        store.storeDescription.cloudOptions.map { options in
          CloudStore(
            store, of: persistentStoreCoordinator, options, channel, { [weak self] in self?.importHandling(of: store) },
            { [weak self] in self?.send($0) })
        }
      }
      stores += added
      return (added, removed)
    }
    for store in removed { store.end() }
    for store in added { try await store.resume() }
  }

  /// Ends synchronization in this process, and closes all stores. The sequences of events end.
  ///
  /// What was saved and not sent yet is sent when the stores are loaded again.
  /// - Throws: ``StoreError`` of the first store that could not be closed cleanly. Stores after it stay open.
  public override func close() throws {
    endSynchronization()
    try super.close()
  }

  deinit { endSynchronization() }

  private func endSynchronization() {
    let stores = cloudStores.withLock { stores in
      defer { stores = [] }
      return stores
    }
    for store in stores { store.end() }
    channel.finish()
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

  /// Returns a store that is to be synchronized, or the only one.
  func cloudStore(of store: PersistentStore?) throws -> CloudStore {
    guard let store else { return try self.store() }
    guard let found = cloudStore(withIdentifier: store.identifier) else { throw SyncError(.noCloudStore, path: store.url?.path) }
    return found
  }

  /// Returns a store that is to be synchronized, or nil.
  func cloudStore(withIdentifier identifier: String?) -> CloudStore? {
    cloudStores.withLock { stores in stores.first { $0.store.identifier == identifier } }
  }

  // MARK: Accounts

  /// Whether all stores with cloud options belong to an account, so that they are synchronized.
  ///
  /// - Throws: ``SyncError`` with `noCloudStore` if no open store has cloud options; ``StoreError`` if a store cannot be read.
  public var isSynchronized: Bool {
    get async throws {
      for store in try stores() where try await !store.isSynchronized() { return false }
      return true
    }
  }

  /// Creates an account with this device as its first one, on the hub of the store's options, whose file is created unless it exists.
  ///
  /// The closure receives the recovery key, with which other devices join. It cannot be restored: show it, and return when the user has
  /// written it down or printed it. The account is created after that. If the process ends before, however it ends, nothing was created:
  /// call the method again, and the closure receives the same key. If the closure throws, its error is thrown.
  ///
  /// ```swift
  /// import CipherDataSync
  ///
  /// func setUp(_ container: PersistentCloudContainer, userHasWrittenDown: @Sendable (String) async -> Bool) async throws {
  ///   try await container.createAccount { recoveryKey in
  ///     guard await userHasWrittenDown(recoveryKey) else { throw CancellationError() }
  ///   }
  /// }
  /// ```
  ///
  /// Other devices can join as soon as the method returns. The objects of the store are sent from now on, in the background.
  /// - Parameter keep: Keeps the recovery key in a safe place. May be called again with the same key, after an interruption.
  /// - Throws: ``SyncError`` with `unsupportedModel` if the model has parts that cannot be synchronized, with `alreadySynchronized` if the
  ///   store belongs to an account, with `busy` if another process creates one, or with a code of the hub; the error of the closure.
  public func createAccount(keepingRecoveryKey keep: @Sendable (_ recoveryKey: String) async throws -> Void) async throws {
    try await store().createAccount(keep)
  }

  /// Adds this device to an existing account. The objects of the store and those of the account are merged.
  ///
  /// If the call is interrupted, repeat it. It has no effect if the device belongs to the account.
  /// - Parameter recoveryKey: The account's recovery key, as the user types it.
  /// - Throws: ``SyncError`` with `wrongRecoveryKey` if the text is not a recovery key, with `accountNotFound` if the hub does
  ///   not have the account, or with a code of ``createAccount(keepingRecoveryKey:)``.
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
  /// With `printSchema`, prints the output of `cipherdata model lint --sync` for the model: of each property how concurrent changes are merged,
  /// then what stands in the way, and what may surprise, such as a count that is not declared as a counter.
  ///
  /// ```swift
  /// try container.initializeSchema(options: [.dryRun, .printSchema])
  /// ```
  ///
  /// - Throws: ``SyncError`` with `unsupportedModel` and the list of what is in the way, after printing.
  public func initializeSchema(options: CloudSchemaOptions = []) throws {
    let schema = SyncSchema(persistentStoreCoordinator.compiledModel)
    if options.contains(.printSchema) { print(SyncSchemaReport(schema).lines.joined(separator: "\n")) }
    try schema.check()
  }

  /// Pulls everything and sends what was saved before the call now, instead of as soon as possible.
  ///
  /// If another process synchronizes a store, waits until it has sent that.
  /// - Throws: The error of the hub or the store that prevents it. Synchronization tries again by itself. ``SyncError`` with
  ///   `notSynchronized` if a store does not belong to an account.
  public func synchronize() async throws { for store in try stores() { try await store.synchronize() } }

  /// The number of saves that the hub has not accepted yet, and of objects from before the synchronization; 0 if everything was sent.
  ///
  /// - Throws: ``SyncError`` with `notSynchronized` if a store does not belong to an account; ``StoreError`` if it cannot be read.
  public var pendingCount: Int {
    get async throws {
      var count = 0
      for store in try stores() { count += try await store.status().pendingCount }
      return count
    }
  }

  /// Returns the state of the synchronization of a store. Needs neither the hub nor the process that synchronizes the store.
  ///
  /// - Parameter store: The store; nil for the container's only one with cloud options.
  /// - Throws: ``SyncError`` with `notSynchronized` if the store does not belong to an account, with `noCloudStore` if it has no cloud
  ///   options; ``StoreError`` if it cannot be read.
  public func status(of store: PersistentStore? = nil) async throws -> CloudStatus { try await cloudStore(of: store).status() }

  /// Waits until the hub has accepted everything that was saved before the call, and the objects from before the synchronization.
  ///
  /// Later saves are not waited for. While the hub cannot be used, it tries again. Changes of records that cannot be read are not waited
  /// for, because they are sent only after the records can be read.
  /// - Throws: `CancellationError` if the task is canceled; ``SyncError`` with `notSynchronized` if a store does not belong to an account,
  ///   with `accountNotFound` if another hub is at the path; errors of the store.
  public func waitUntilSynced() async throws {
    var last: [(store: CloudStore, number: Int64)] = []
    for store in try stores() { last.append((store, try await store.lastTransaction())) }
    for (store, number) in last { try await store.waitUntilSent(through: number) }
  }

  /// Compares the objects of the store with the records that they follow from, and these with those of the hub, exactly. Sends and pulls
  /// everything first.
  ///
  /// - Returns: Whether nothing differs. If not, the store has been changed by other means than this library, or the hub does not return
  ///   what it was sent. `cipherdata sync verify` names the objects.
  /// - Throws: The error of the hub or the store that prevents the comparison.
  public func verifyState() async throws -> Bool {
    for store in try stores() where try await !store.verify() { return false }
    return true
  }

  /// Compares the records of the store with those of the hub, and its objects with its records, and repairs what differs. Sends and pulls
  /// everything first.
  ///
  /// Synchronization does this by itself if it finds a difference, or if the device was away for so long that the hub has removed deletions
  /// that it has not received. Only the records that differ are transferred. They get the state of the hub; unsent changes remain and are
  /// sent. Objects that were changed by other means than this library get the values of their records.
  /// - Returns: What differed.
  /// - Throws: The error of the hub or the store that prevents the comparison; ``SyncError`` with `busy` while another process synchronizes
  ///   the store.
  @discardableResult
  public func reconcile() async throws -> CloudReconciliation {
    var result = CloudReconciliation()
    for store in try stores() { result.add(try await store.reconcile()) }
    return result
  }

  // MARK: Events

  /// The notification that a container posts when work begins, and when it has ended. Its user info contains the ``CloudEvent`` under
  /// ``eventNotificationUserInfoKey``; its object is the container.
  public static let eventChangedNotification = Notification.Name("CipherData.PersistentCloudContainer.eventChanged")
  /// The key of the event in the notification's user info.
  public static let eventNotificationUserInfoKey = "event"

  /// Returns the running events, and all from now on: each when it begins, about twice a second while its ``CloudEvent/count`` grows, and
  /// when it has ended.
  ///
  /// The sequence ends when the container is closed. To read past events, execute a ``CloudEventRequest``.
  public func events() -> AsyncStream<CloudEvent> { channel.events() }

  private func send(_ event: CloudEvent) {
    guard channel.send(event) else { return }
    NotificationCenter.default.post(
      name: Self.eventChangedNotification, object: self, userInfo: [Self.eventNotificationUserInfoKey: event])
  }
}
