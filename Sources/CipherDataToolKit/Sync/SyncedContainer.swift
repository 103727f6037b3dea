import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import SyncCrypto
import SyncEngine

/// An open store that is, or will be, synchronized.
struct SyncedContainer: Sendable {
  let container: PersistentContainer
  let store: PersistentStore

  var coordinator: PersistentStoreCoordinator { container.persistentStoreCoordinator }

  /// Opens an unlocked store.
  ///
  /// - Parameters:
  ///   - isReadOnly: Whether only the state is read.
  ///   - observesSaves: Whether saves of other processes are observed.
  init(_ file: SQLCipherStoreFile, isReadOnly: Bool = false, observesSaves: Bool = false) async throws {
    container = try await PersistentContainer.open(file, isReadOnly: isReadOnly) { description in
      description.postsRemoteChangeNotifications = observesSaves
    }
    guard let store = container.persistentStoreCoordinator.persistentStores.first else {
      throw ToolError(.software, "The store \(file.url.path) is not open.")
    }
    self.store = store
  }

  /// Runs an operation that Ctrl-C cancels, and closes the store afterwards.
  func run<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) async throws -> Result {
    try await container.closing { try await Interruption().cancelling(Task { try await body() }) }
  }

  /// Opens a store, continues to synchronize it, and runs an operation with a progress bar.
  ///
  /// - Parameter body: Receives the service, and what is to be called with the progress.
  static func withService<Result: Sendable>(
    _ options: StoreOptions,
    _ body: @escaping @Sendable (SyncService, @escaping @Sendable (SyncRunner.Round) -> Void) async throws -> Result
  ) async throws -> Result {
    let synced = try await SyncedContainer(try await options.unlock())
    let progress = RoundProgress("Synchronizing")
    defer { progress.finish() }
    return try await synced.run { try await body(synced.resume(), progress.handler) }
  }

  /// The state of the store's synchronization, which is read from the store alone.
  ///
  /// - Throws: ``SyncError`` with `notSynchronized` if the store is not synchronized.
  func status() throws -> SyncStatus { try replica().status() }

  private func replica() throws -> StoreReplica { try StoreReplica(store, of: coordinator) }

  /// Throws ``SyncError`` unless synchronization of the store can begin.
  func checkCanBegin() throws { try replica().checkCanBegin() }

  /// Returns the last events, the oldest first.
  func events(maximumCount: Int) throws -> [SyncEvent] { Array(try replica().events().suffix(maximumCount)) }

  /// Returns the values that have lost, the oldest first.
  func journal(includesRestored: Bool) throws -> [JournalItem] { try replica().journal(includesRestored: includesRestored) }

  /// Returns what the hub has not accepted yet.
  func pendingReport(maximumCount: Int) throws -> PendingReport { try replica().pendingReport(maximumCount: maximumCount) }

  /// Returns what devices disagree about.
  func openConflicts() throws -> OpenConflicts { try replica().openConflicts() }

  /// Requires a version of the model of all devices.
  func requireModelVersion(_ version: ModelVersion?) throws -> ModelVersion { try replica().requireModelVersion(version) }

  /// Restores values that have lost, in this order.
  ///
  /// - Returns: The objects that have them now.
  func restore(_ numbers: [Int64]) async throws -> [(number: Int64, object: ManagedObjectID)] {
    let (store, coordinator) = (store, coordinator)
    return try await container.performBackgroundTask { context in
      let replica = try StoreReplica(store, of: coordinator)
      return try numbers.map { ($0, try context.restore($0, from: replica).objectID) }
    }
  }

  /// Removes the entries of the journal that were noticed before a date.
  ///
  /// - Returns: How many there were.
  func removeJournalEntries(before date: Date) throws -> Int { try replica().removeJournalEntries(before: date) }

  /// Returns whether the store is synchronized.
  func isSynchronized() throws -> Bool { try replica().isSynchronized() }

  /// Returns whether the store is synchronized through a hub.
  func isSynchronized(through hub: String) throws -> Bool {
    let replica = try replica()
    return try replica.isSynchronized() && replica.status().hubPath == URL.path(hub).path
  }

  /// Returns whether the store, which is synchronized, belongs to the account of a recovery key.
  func isSynchronized(byAccountWith key: AccountRecoveryKey) throws -> Bool { try replica().isReplica(ofAccountWith: key) }

  /// Returns whether the store has joined an account, and was not synchronized since.
  func hasJustJoined() throws -> Bool { try replica().hasJustJoined() }

  /// Returns whether the creation of an account with a recovery key has begun and was interrupted.
  func isCreatingAccount(with key: AccountRecoveryKey) throws -> Bool { try replica().isCreatingAccount(with: key) }

  /// Continues to synchronize the store.
  ///
  /// - Parameters:
  ///   - hub: The new path of the hub, if it was moved.
  ///   - createsHub: Whether to create the hub if it does not exist.
  func resume(hub: String? = nil, createsHub: Bool = false) async throws -> SyncService {
    try await SyncService.resume(store, of: coordinator, hubPath: hub.map { URL.path($0).path }, createsHub: createsHub)
  }

  /// The number of objects in the store.
  func objectCount() async throws -> Int {
    try await container.performBackgroundTask { context in
      try context.persistentStoreCoordinator.compiledModel.entities.filter { $0.parent == nil }
        .reduce(0) { $0 + (try context.count(for: FetchRequest<ManagedObject>(entityName: $1.name))) }
    }
  }
}
