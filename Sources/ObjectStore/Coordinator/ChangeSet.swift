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
/// ``ManagedObjectContext/mergeChanges(from:)-(ChangeSet)`` brings a context in step with it. A context whose ``ManagedObjectContext/automaticallyMergesChangesFromParent``
/// is set does so by itself.
public struct ChangeSet: Sendable {
  /// The store's UUID.
  public let storeIdentifier: String
  /// The objects inserted.
  public let inserted: [ManagedObjectID]
  /// The objects updated: their rows, or relationships of theirs that stand beside their rows.
  public let updated: [ManagedObjectID]
  /// The objects deleted.
  public let deleted: [ManagedObjectID]
  /// Other objects, of which only derived attributes were changed.
  public let refreshed: [ManagedObjectID]
  /// The name of the context that saved.
  public let contextName: String?
  /// The author that the context named.
  public let transactionAuthor: String?
  /// The place in the store's history behind the transaction that they were written in; nil where the store keeps none.
  public let historyToken: PersistentHistoryToken?
  /// The slots that were changed of each of the objects updated.
  package let updatedSlots: ChangedSlots
  /// The links that were added and removed, by relationship. Those in join tables that went with a deleted object are not among them, nor are those by which
  /// other objects referred to one that a batch request deleted: the object is told.
  package let links: [LinkChanges]
  /// The ordered relationships whose members were given an order.
  package let reordered: [RelationshipOwner]
  /// The numbers of further to-many relationships whose members were changed: nobody knows of which objects.
  package let unlistedRelationships: Set<Int>
  /// Whether nothing is listed although anything may have been changed.
  package let isWhole: Bool
  /// The number of the context that made the changes; 0 for none.
  package let origin: UInt64
  /// The open store that they went through: its row cache knows of them. Nil for what a history tells.
  package let source: ObjectIdentifier?

  /// Makes the change set of what was written to a store.
  ///
  /// - Parameters:
  ///   - changes: The objects.
  ///   - store: The store.
  ///   - scope: Who has written.
  ///   - updatedSlots: What was changed of the objects updated.
  ///   - links: What was changed of relationships.
  init(
    _ changes: BatchChanges, of store: PersistentStore, scope: RequestScope, updatedSlots: ChangedSlots, links: LinkCollector
  ) {
    storeIdentifier = store.identifier
    inserted = store.objectIDs(of: changes.inserted)
    updated = store.objectIDs(of: changes.updated)
    deleted = store.objectIDs(of: changes.deleted)
    refreshed = store.objectIDs(of: changes.refreshed)
    contextName = scope.contextName
    transactionAuthor = scope.transactionAuthor
    historyToken = changes.historyPosition.map { PersistentHistoryToken($0, of: store.identifier) }
    self.updatedSlots = updatedSlots
    self.links = links.changes
    reordered = links.reordered
    unlistedRelationships = links.unlisted
    isWhole = false
    origin = scope.origin
    source = ObjectIdentifier(store)
  }

  /// Makes the change set of what a history tells.
  init(
    ofStore storeIdentifier: String, inserted: [ManagedObjectID], updated: [ManagedObjectID], updatedSlots: ChangedSlots,
    deleted: [ManagedObjectID], refreshed: [ManagedObjectID], links: LinkCollector?, isWhole: Bool, token: PersistentHistoryToken?,
    source: ObjectIdentifier?, author: String?, context: String?
  ) {
    self.storeIdentifier = storeIdentifier
    (self.inserted, self.updated, self.deleted, self.refreshed) = (inserted, updated, deleted, refreshed)
    (contextName, transactionAuthor, historyToken) = (context, author, token)
    self.updatedSlots = updatedSlots
    self.links = links?.changes ?? []
    reordered = links?.reordered ?? []
    unlistedRelationships = links?.unlisted ?? []
    self.isWhole = isWhole
    origin = 0
    self.source = source
  }

  /// Makes the change set of changes that nobody has listed.
  package init(wholeOf store: PersistentStore) {
    storeIdentifier = store.identifier
    (inserted, updated, deleted, refreshed) = ([], [], [], [])
    (contextName, transactionAuthor, historyToken) = (nil, nil, nil)
    (updatedSlots, links, reordered, unlistedRelationships) = (ChangedSlots(), [], [], [])
    isWhole = true
    origin = 0
    source = ObjectIdentifier(store)
  }

  /// Whether nothing was changed. False, although no object is listed, for a transaction that had begun before anybody listened.
  public var isEmpty: Bool {
    inserted.isEmpty && updated.isEmpty && deleted.isEmpty && refreshed.isEmpty && unlistedRelationships.isEmpty && !isWhole
  }

  /// The objects that it tells of.
  package var references: some Sequence<ObjectReference> { [inserted, updated, deleted, refreshed].joined().lazy.map(\.reference) }

  /// Visits the to-many relationships, with the objects that they belong to, that members have left or reached, or whose members have another order.
  ///
  /// One may come several times. What is in ``unlistedRelationships`` does not come.
  /// - Parameters:
  ///   - model: The model of the store.
  ///   - isWanted: Whether a relationship is of interest; asked once for each.
  package func forEachOwner(
    in model: CompiledModel, isWanted: (CompiledRelationship) -> Bool, _ body: (RelationshipOwner) -> Void
  ) {
    for change in links {
      let relationship = model.relationships[change.relationshipID]
      let inverse = model.inverse(of: relationship)
      if relationship.isToMany, isWanted(relationship) {
        for link in change.added { body(RelationshipOwner(object: link.source, relationshipID: relationship.id)) }
        for link in change.removed { body(RelationshipOwner(object: link.source, relationshipID: relationship.id)) }
      }
      if let inverse, inverse.isToMany, isWanted(inverse) {
        for link in change.added { body(RelationshipOwner(object: link.destination, relationshipID: inverse.id)) }
        for link in change.removed { body(RelationshipOwner(object: link.destination, relationshipID: inverse.id)) }
      }
    }
    for owner in reordered where isWanted(model.relationships[owner.relationshipID]) { body(owner) }
  }
}

/// A to-many relationship of an object.
package struct RelationshipOwner: Sendable, Hashable {
  /// The object.
  package let object: ObjectReference
  /// The relationship's number.
  package let relationshipID: Int
}

/// Which slots of objects were changed, object by object in an order that is known: one mask for all that follow each other with the same.
package struct ChangedSlots: Sendable {
  private struct Run: Sendable {
    var end: Int
    let mask: SlotMask?
  }
  private var runs: [Run] = []

  init() {}

  /// The number of objects.
  package var count: Int { runs.last?.end ?? 0 }
  /// How many masks stand for them.
  package var runCount: Int { runs.count }

  /// Adds objects; nil where any slot may have changed.
  mutating func append(_ mask: SlotMask?, count: Int = 1) {
    guard count > 0 else { return }
    if let last = runs.indices.last, runs[last].mask == mask {
      runs[last].end += count
    } else {
      runs.append(Run(end: self.count + count, mask: mask))
    }
  }

  /// The slots changed of the object at a position; nil where any may have been.
  package subscript(position: Int) -> SlotMask? {
    var (low, high) = (0, runs.count)
    while low < high {
      let middle = (low + high) / 2
      if runs[middle].end <= position { low = middle + 1 } else { high = middle }
    }
    return low < runs.count ? runs[low].mask : nil
  }
}
