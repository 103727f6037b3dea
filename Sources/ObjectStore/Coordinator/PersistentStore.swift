public import Foundation
package import ObjectModel
import Synchronization

/// An open store of a ``PersistentStoreCoordinator``, with its identifier, metadata, and description.
///
/// If several stores contain an entity, ``ManagedObjectContext/assign(_:to:)`` selects the store of a new object. The reference can be kept
/// and is safe to use from any thread. After the store is removed, requests throw ``StoreError`` with ``StoreError/Code/noOpenStore``.
public final class PersistentStore: Sendable {
  /// The description that the store was opened with.
  public let storeDescription: PersistentStoreDescription
  /// The UUID of the store.
  public let identifier: String
  /// The underlying store, an instance of the class that is registered for the type.
  public let incrementalStore: any IncrementalStore
  package let entityNumbers: Set<Int>
  /// The location of the backup that was made before a migration, or nil if opening the store ran no migration or no backup was requested.
  public let migrationBackupURL: URL?
  package let space: ObjectIDSpace
  /// The model that the store was opened with.
  let model: CompiledModel
  package let cache: RowCache
  /// Serializes saves and transactions. Held until the row cache and the observers have been updated, so that they see saves in the order
  /// of their commits.
  let saving = NSRecursiveLock()
  let observers: ChangeObservers
  /// The changes of running transactions. Accessed with ``saving`` held.
  let uncommitted = Mutex(UncommittedChanges())
  let pinned = Mutex(PinnedGenerations())
  private let storedMetadata: Mutex<StoreMetadata>
  /// The last history transaction by others of which observers were notified, or nil if the store keeps no history.
  let lastReportedPosition = Mutex<HistoryPosition?>(nil)

  init(
    configuration: StoreConfiguration, store: any IncrementalStore, metadata: StoreMetadata, cacheLimit: Int, observers: ChangeObservers,
    migrationBackupURL: URL? = nil
  ) {
    self.migrationBackupURL = migrationBackupURL
    self.observers = observers
    storeDescription = configuration.description
    identifier = metadata.storeIdentifier
    incrementalStore = store
    entityNumbers = Set(configuration.entityNumbers)
    model = configuration.model
    space = ObjectIDSpace.register(storeIdentifier: metadata.storeIdentifier, model: model)
    cache = RowCache(model: configuration.model, byteLimit: cacheLimit)
    storedMetadata = Mutex(metadata)
  }

  /// The type of the store.
  public var type: StoreType { storeDescription.type }
  /// The location of the store, or nil for stores without a file.
  public var url: URL? { storeDescription.url }
  /// Whether the store is read-only.
  public var isReadOnly: Bool { storeDescription.isReadOnly }
  /// The model configuration of the store, or nil for all entities.
  public var configurationName: String? { storeDescription.configuration }
  /// The metadata of the store.
  public var metadata: StoreMetadata { storedMetadata.withLock { $0 } }

  /// Updates the cached metadata after the store has changed it.
  func update(_ metadata: StoreMetadata) { storedMetadata.withLock { $0 = metadata } }

  /// Replaces the application's entries in the metadata immediately.
  ///
  /// - Throws: ``StoreError`` if the metadata cannot be written.
  public func setUserMetadata(_ metadata: [String: String]) throws {
    try incrementalStore.setUserMetadata(metadata)
    storedMetadata.withLock { $0.userMetadata = metadata }
  }
}
