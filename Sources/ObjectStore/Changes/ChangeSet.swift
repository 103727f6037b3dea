public import ObjectModel

/// The changes of a save or a batch request in a store, as a `Sendable` value.
///
/// Of a batch request, or a transaction over several requests, that changes more than 100,000 objects, nothing is listed, so that its memory
/// does not depend on their number. A context that merges the change set then reads all its objects again on demand.
///
/// ```swift
/// for await changes in container.persistentStoreCoordinator.changes() {
///   print(changes.updated)
/// }
/// ```
///
/// ``ManagedObjectContext/mergeChanges(from:)-(ChangeSet)`` merges the changes into a context. A context whose
/// ``ManagedObjectContext/automaticallyMergesChangesFromParent`` is set merges them automatically.
public struct ChangeSet: Sendable {
  /// The UUID of the store.
  public let storeIdentifier: String
  /// The inserted objects.
  public let inserted: [ManagedObjectID]
  /// The objects of which the rows, or relationships outside their rows, were updated.
  public let updated: [ManagedObjectID]
  /// The deleted objects.
  public let deleted: [ManagedObjectID]
  /// Other objects, of which only derived attributes were updated.
  public let refreshed: [ManagedObjectID]
  /// The name of the context that made the changes.
  public let contextName: String?
  /// The transaction author of the context.
  public let transactionAuthor: String?
  /// The position after the transaction in the store's history, or nil if the store keeps no history.
  public let historyToken: PersistentHistoryToken?
  /// The changed slots of each updated object.
  package let updatedSlots: ChangedSlots
  /// The slots that may have changed in all objects of entities.
  package let filled: [FilledSlots]
  /// The added and removed links, by relationship.
  package let links: [LinkChanges]
  /// Whether ``links`` and ``unlistedRelationships`` contain all links that were removed with deleted objects. If false, links are omitted
  /// that are in join tables, or that refer to an object that a batch request deleted.
  package let listsRemovedLinks: Bool
  /// The ordered relationships whose members were reordered.
  package let reordered: [RelationshipOwner]
  /// The numbers of further to-many relationships whose members have changed for unknown objects.
  package let unlistedRelationships: Set<Int>
  /// Whether any object of the store may have changed although none is listed.
  package let isWhole: Bool
  /// The number of the context that made the changes, or 0 if there is none.
  package let origin: UInt64
  /// The open store through which the changes were made, and whose row cache includes them. Nil for changes read from a history.
  package let source: ObjectIdentifier?

  /// - Parameters:
  ///   - updatedSlots: The changed slots of each updated object.
  ///   - filled: The slots that may have changed in all objects of entities.
  ///   - links: The links that were added and removed.
  ///   - token: The position after the changes in the history.
  ///   - source: The open store whose row cache includes the changes.
  ///   - origin: The number of the context that made the changes, or 0.
  init(
    ofStore storeIdentifier: String, inserted: [ManagedObjectID] = [], updated: [ManagedObjectID] = [],
    updatedSlots: ChangedSlots = ChangedSlots(), deleted: [ManagedObjectID] = [], refreshed: [ManagedObjectID] = [],
    filled: [FilledSlots] = [], links: LinkCollector? = nil, listsRemovedLinks: Bool = false, isWhole: Bool = false,
    token: PersistentHistoryToken?, source: ObjectIdentifier?, origin: UInt64 = 0, author: String?, context: String?
  ) {
    self.storeIdentifier = storeIdentifier
    (self.inserted, self.updated, self.deleted, self.refreshed) = (inserted, updated, deleted, refreshed)
    (contextName, transactionAuthor, historyToken) = (context, author, token)
    self.updatedSlots = updatedSlots
    self.filled = filled
    self.links = links?.changes ?? []
    self.listsRemovedLinks = listsRemovedLinks
    reordered = links?.reordered ?? []
    unlistedRelationships = links?.unlisted ?? []
    self.isWhole = isWhole
    self.origin = origin
    self.source = source
  }

  /// Creates a change set for changes that are not listed.
  ///
  /// - Parameter scope: The scope of the request that made the changes, if there is one.
  package init(wholeOf store: PersistentStore, scope: RequestScope? = nil, historyPosition: HistoryPosition? = nil) {
    self.init(
      ofStore: store.identifier, isWhole: true, token: historyPosition.map { PersistentHistoryToken($0, of: store.identifier) },
      source: ObjectIdentifier(store), origin: scope?.origin ?? 0, author: scope?.transactionAuthor, context: scope?.contextName)
  }

  /// Whether nothing was changed.
  ///
  /// A change set may list no objects and not be empty: if a batch request changed too many objects to list, or if a transaction began
  /// before the first observer was added, any object may have changed; and if another process computed a derived attribute again, all
  /// objects of the entity.
  public var isEmpty: Bool {
    inserted.isEmpty && updated.isEmpty && deleted.isEmpty && refreshed.isEmpty && filled.isEmpty && unlistedRelationships.isEmpty
      && !isWhole
  }

  /// The number of listed objects.
  var listedCount: Int { inserted.count + updated.count + deleted.count + refreshed.count }

  /// All listed objects.
  package var references: some Sequence<ObjectReference> { [inserted, updated, deleted, refreshed].joined().lazy.map(\.reference) }

  /// Calls a closure with each to-many relationship of an object whose members were added, removed, or reordered. It may be called several
  /// times for one of them, but not for those in ``unlistedRelationships``.
  ///
  /// - Parameter isIncluded: Returns whether to visit a relationship. Called once for each relationship and not once for each object.
  package func forEachOwner(
    in model: CompiledModel, isIncluded: (CompiledRelationship) -> Bool, _ body: (RelationshipOwner) -> Void
  ) {
    for change in links {
      let relationship = model.relationships[change.relationshipID]
      let inverse = model.inverse(of: relationship)
      if relationship.isToMany, isIncluded(relationship) {
        for link in change.added { body(RelationshipOwner(object: link.source, relationshipID: relationship.id)) }
        for link in change.removed { body(RelationshipOwner(object: link.source, relationshipID: relationship.id)) }
      }
      if let inverse, inverse.isToMany, isIncluded(inverse) {
        for link in change.added { body(RelationshipOwner(object: link.destination, relationshipID: inverse.id)) }
        for link in change.removed { body(RelationshipOwner(object: link.destination, relationshipID: inverse.id)) }
      }
    }
    for owner in reordered where isIncluded(model.relationships[owner.relationshipID]) { body(owner) }
  }
}

/// Slots of all objects of an entity, without those of its subentities.
package struct FilledSlots: Sendable, Hashable {
  package let entity: Int
  package let slots: SlotMask

  package init(entity: Int, slots: SlotMask) { (self.entity, self.slots) = (entity, slots) }
}

extension RowCache {
  /// Removes the rows that a change set has changed without entering its own.
  package func remove(_ changes: ChangeSet) {
    remove(changes.references)
    removeRows(ofEntities: Set(changes.filled.map(\.entity)))
  }
}

/// A to-many relationship of a particular object.
package struct RelationshipOwner: Sendable, Hashable {
  package let object: ObjectReference
  package let relationshipID: Int
}

/// The changed slots of a sequence of objects, run-length encoded: consecutive objects with the same changed slots share one mask.
package struct ChangedSlots: Sendable {
  private struct Run: Sendable {
    var end: Int
    let mask: SlotMask?
  }
  private var runs: [Run] = []

  init() {}

  package var count: Int { runs.last?.end ?? 0 }
  package var runCount: Int { runs.count }

  /// Appends the changed slots of objects. Nil means that any slot may have changed.
  mutating func append(_ mask: SlotMask?, count: Int = 1) {
    guard count > 0 else { return }
    if let last = runs.indices.last, runs[last].mask == mask {
      runs[last].end += count
    } else {
      runs.append(Run(end: self.count + count, mask: mask))
    }
  }

  /// The changed slots of the object at a position, or nil if any may have changed.
  package subscript(position: Int) -> SlotMask? {
    var (low, high) = (0, runs.count)
    while low < high {
      let middle = (low + high) / 2
      if runs[middle].end <= position { low = middle + 1 } else { high = middle }
    }
    return low < runs.count ? runs[low].mask : nil
  }
}

// MARK: - Creation from object IDs

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
      ofStore: store.identifier, inserted: own(inserted), updated: updated, updatedSlots: slots, deleted: own(deleted), links: links,
      token: nil, source: nil, author: nil, context: nil)
  }
}
