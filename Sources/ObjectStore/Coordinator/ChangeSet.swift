// ChangeSet: what a save changed, for everybody else.
public import ObjectModel

/// What a save changed in a store.
public struct ChangeSet: Sendable {
  /// The store's UUID.
  public let storeIdentifier: String
  /// The objects inserted.
  public let inserted: [ManagedObjectID]
  /// The objects updated.
  public let updated: [ManagedObjectID]
  /// The objects deleted.
  public let deleted: [ManagedObjectID]
  /// The name of the context that saved.
  public let contextName: String?
  /// The author that the context named.
  public let transactionAuthor: String?

  /// Makes a change set.
  package init(
    storeIdentifier: String, inserted: [ManagedObjectID], updated: [ManagedObjectID], deleted: [ManagedObjectID], contextName: String?,
    transactionAuthor: String?
  ) {
    self.storeIdentifier = storeIdentifier
    self.inserted = inserted
    self.updated = updated
    self.deleted = deleted
    self.contextName = contextName
    self.transactionAuthor = transactionAuthor
  }
}
