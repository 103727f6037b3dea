public import ObjectModel

extension ChangeSet {
  /// Creates a change set from lists of objects that were changed elsewhere, for `mergeChanges(from:)` of a context. Use it if the
  /// application has its own channel for such changes, such as a message from another process. The history of a store provides more detail.
  ///
  /// Only the objects are known. Each updated row is read again when it is accessed, and so are the members of every to-many relationship.
  /// Core Data's counterpart is `mergeChanges(fromRemoteContextSave:into:)`.
  ///
  /// - Parameters:
  ///   - inserted: The inserted objects.
  ///   - updated: The updated objects.
  ///   - deleted: The deleted objects.
  ///   - store: The store. Objects of other stores are ignored.
  public init(
    inserted: [ManagedObjectID] = [], updated: [ManagedObjectID] = [], deleted: [ManagedObjectID] = [], in store: PersistentStore
  ) {
    func own(_ objectIDs: [ManagedObjectID]) -> [ManagedObjectID] {
      objectIDs.filter { $0.space == store.space.number && !$0.isTemporaryID }
    }
    let updated = own(updated)
    var slots = ChangedSlots()
    slots.append(nil, count: updated.count)
    var links = LinkCollector(store.model)
    links.unlisted = Set(store.model.relationships.lazy.filter(\.isToMany).map(\.id))
    self.init(
      ofStore: store.identifier, inserted: own(inserted), updated: updated, updatedSlots: slots, deleted: own(deleted), refreshed: [],
      links: links, isWhole: false, token: nil, source: nil, author: nil, context: nil)
  }
}
