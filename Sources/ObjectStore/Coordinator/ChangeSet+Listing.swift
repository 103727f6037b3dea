// ChangeSet+Listing: change sets made of lists of objects, such as another process has sent.
public import ObjectModel

extension ChangeSet {
  /// Makes the change set of what somebody else has written to a store, for `mergeChanges(from:)` of a context: where an application is told by ways of
  /// its own, such as a message of another process. A store that keeps a history tells more exactly.
  ///
  /// Nothing more is known than the objects: each row of those updated is read anew when it is asked for, and so are the members of every to-many relationship.
  /// Core Data's counterpart is `mergeChanges(fromRemoteContextSave:into:)`.
  ///
  /// - Parameters:
  ///   - inserted: The objects inserted.
  ///   - updated: The objects updated.
  ///   - deleted: The objects deleted.
  ///   - store: The store. Objects of others are left out.
  public init(
    inserted: [ManagedObjectID] = [], updated: [ManagedObjectID] = [], deleted: [ManagedObjectID] = [], in store: PersistentStore
  ) {
    func own(_ objectIDs: [ManagedObjectID]) -> [ManagedObjectID] {
      objectIDs.filter { $0.space == store.space.number && !$0.isTemporaryID }
    }
    let updated = own(updated)
    var slots = ChangedSlots()
    slots.append(nil, count: updated.count)
    var links = LinkCollector(store.space.model)
    links.unlisted = Set(store.space.model.relationships.lazy.filter(\.isToMany).map(\.id))
    self.init(
      ofStore: store.identifier, inserted: own(inserted), updated: updated, updatedSlots: slots, deleted: own(deleted), refreshed: [],
      links: links, isWhole: false, token: nil, source: nil, author: nil, context: nil)
  }
}
