// ChangeSet: what a save or a batch request changed, for everybody else.
public import ObjectModel

/// What a save or a batch request changed in a store, as a value that may go anywhere.
///
/// ```swift
/// for await changes in container.persistentStoreCoordinator.changes() {
///   print(changes.updated)
/// }
/// ```
///
/// ``ManagedObjectContext/mergeChanges(from:)`` takes one over; a context whose ``ManagedObjectContext/automaticallyMergesChangesFromParent`` is set does so by itself.
public struct ChangeSet: Sendable {
  /// The store's UUID.
  public let storeIdentifier: String
  /// The objects inserted.
  public let inserted: [ManagedObjectID]
  /// The objects updated: their rows, or relationships of theirs that stand beside their rows.
  public let updated: [ManagedObjectID]
  /// The objects deleted.
  public let deleted: [ManagedObjectID]
  /// Other objects of which nothing but derived attributes was changed.
  public let refreshed: [ManagedObjectID]
  /// The name of the context that saved.
  public let contextName: String?
  /// The author that the context named.
  public let transactionAuthor: String?
  /// The number of the context that made the changes.
  package let origin: UInt64
  /// The open store that they went through: its row cache knows of them.
  package let source: ObjectIdentifier

  /// Makes the change set of what was written to a store.
  package init(_ changes: BatchChanges, of store: PersistentStore, scope: RequestScope, origin: UInt64) {
    storeIdentifier = store.identifier
    inserted = store.objectIDs(of: changes.inserted)
    updated = store.objectIDs(of: changes.updated)
    deleted = store.objectIDs(of: changes.deleted)
    refreshed = store.objectIDs(of: changes.refreshed)
    contextName = scope.contextName
    transactionAuthor = scope.transactionAuthor
    self.origin = origin
    source = ObjectIdentifier(store)
  }

  /// Whether nothing was changed.
  public var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty && refreshed.isEmpty }
}
