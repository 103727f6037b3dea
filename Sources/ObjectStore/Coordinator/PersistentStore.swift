// PersistentStore: an open store, as its coordinator knows it.
public import Foundation
package import ObjectModel
import Synchronization

/// An open store of a ``PersistentStoreCoordinator``: its identifier, its metadata, and how it was opened.
///
/// ``ManagedObjectContext/assign(_:to:)`` takes one where several stores could hold a new object. It may be kept and sent anywhere; once it is removed, its requests throw
/// ``StoreError`` with ``StoreError/Code/noOpenStore``.
public final class PersistentStore: Sendable {
  /// What the store was opened with.
  public let storeDescription: PersistentStoreDescription
  /// The store's UUID.
  public let identifier: String
  /// The object that keeps the rows, of the class registered for the type.
  public let incrementalStore: any IncrementalStore
  /// The numbers of the entities it holds.
  package let entityNumbers: Set<Int>
  /// Where the copy lies that a migration made before it began; nil where opening the store ran no migration, or no copy was asked for.
  public let migrationBackupURL: URL?
  package let space: ObjectIDSpace
  package let cache: RowCache
  /// Held from a save's beginning until the row cache and the listeners have it, and throughout a transaction: they see saves in the store's order.
  let saving = NSRecursiveLock()
  /// Who hears of what is committed: the coordinator's listeners.
  let listeners: ChangeListeners
  /// What transactions under way have written; touched by who holds ``saving``.
  let uncommitted = Mutex(UncommittedChanges())
  /// The states of the store that contexts and tokens hold.
  let pinned = Mutex(PinnedGenerations())
  private let storedMetadata: Mutex<StoreMetadata>
  /// The transaction of the history up to which others' commits were told; nil where the store keeps none.
  let toldPosition = Mutex<HistoryPosition?>(nil)

  init(
    configuration: StoreConfiguration, store: any IncrementalStore, metadata: StoreMetadata, cacheLimit: Int, listeners: ChangeListeners,
    migrationBackupURL: URL? = nil
  ) {
    self.migrationBackupURL = migrationBackupURL
    self.listeners = listeners
    storeDescription = configuration.description
    identifier = metadata.storeIdentifier
    incrementalStore = store
    entityNumbers = Set(configuration.entityNumbers)
    space = ObjectIDSpace.register(storeIdentifier: metadata.storeIdentifier, model: configuration.model)
    cache = RowCache(model: configuration.model, byteLimit: cacheLimit)
    storedMetadata = Mutex(metadata)
  }

  /// The kind of the store.
  public var type: StoreType { storeDescription.type }
  /// Where the store is; nil for stores without a file.
  public var url: URL? { storeDescription.url }
  /// Whether the store is only read.
  public var isReadOnly: Bool { storeDescription.isReadOnly }
  /// The configuration it holds; nil for all entities.
  public var configurationName: String? { storeDescription.configuration }
  /// What the store knows of itself.
  public var metadata: StoreMetadata { storedMetadata.withLock { $0 } }

  /// Takes over what the store says of itself after a change that came from elsewhere than the application.
  func update(_ metadata: StoreMetadata) { storedMetadata.withLock { $0 = metadata } }

  /// Changes what the application keeps in the metadata, at once.
  ///
  /// - Throws: ``StoreError`` where the metadata cannot be written.
  public func setUserMetadata(_ metadata: [String: String]) throws {
    try incrementalStore.setUserMetadata(metadata)
    storedMetadata.withLock { $0.userMetadata = metadata }
  }
}
