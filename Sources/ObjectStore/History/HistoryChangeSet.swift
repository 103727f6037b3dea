package import ObjectModel

/// Passes the changes of history transactions of one store to a ``ChangeSetBuilder``.
package struct HistoryChangeSet {
  private let store: String
  private let space: ObjectIDSpace
  private var changes: ChangeSetBuilder
  private var token: PersistentHistoryToken?
  /// The authors and contexts of the transactions. The change set names them only if all transactions have the same.
  private var authors: Set<String?> = []
  private var contexts: Set<String?> = []

  package init(ofStore identifier: String, in space: ObjectIDSpace) {
    (store, self.space) = (identifier, space)
    changes = ChangeSetBuilder(space.model)
    changes.listsRemovedLinks = true
  }

  /// Adds a transaction, or a part of one.
  package mutating func add(_ transaction: PersistentHistoryTransaction) {
    token = transaction.token
    authors.insert(transaction.author)
    contexts.insert(transaction.contextName)
    if transaction.isWhole { changes.isWhole = true }
    for change in transaction.schemaChanges where change.kind.changesObjects { add(change) }
    for change in transaction.changes ?? [] { add(change) }
  }

  mutating func pass(_ transaction: PersistentHistoryTransaction) { token = transaction.token }

  /// Adds a transaction with too many changes to list.
  mutating func addUnlisted(_ transaction: PersistentHistoryTransaction) {
    token = transaction.token
    changes.isWhole = true
  }

  /// Returns the combined changes.
  ///
  /// - Parameter source: The open store whose row cache already includes them.
  package func changeSet(source: PersistentStore? = nil) -> ChangeSet {
    changes.changeSet(
      ofStore: store, in: space, token: token, source: source.map { ObjectIdentifier($0) },
      author: authors.count == 1 ? authors.first ?? nil : nil, context: contexts.count == 1 ? contexts.first ?? nil : nil)
  }

  // MARK: Changes

  /// Adds a change of all objects of an entity. What the current model no longer has is not visible to contexts.
  private mutating func add(_ change: SchemaChange) {
    guard let entity = space.model.entity(named: change.entityName), let name = change.propertyName else { return }
    switch entity.property(named: name) {
    case .attribute(let slot): changes.filled[entity.number, default: SlotMask()].insert(slot.index)
    case .toOne(let relationship):
      changes.filled[entity.number, default: SlotMask()].insert(relationship.index)
      changes.links.addUnlisted(relationship)
    case .toMany(let relationship): changes.links.addUnlisted(relationship)
    case .composite, .fetched: changes.isWhole = true
    // The members of a relationship can be identified by the ID of a removed one.
    case nil: if change.kind == .rewritten { changes.isWhole = true }
    }
  }

  private mutating func add(_ change: PersistentHistoryChange) {
    let reference = change.changedObjectID.reference
    let entity = space.model.entities[reference.entity]
    var toOnes: [CompiledRelationship] = []
    switch change.changeType {
    case .insert: changes.add(.inserted, reference)
    case .delete:
      changes.add(.deleted, reference)
      if !change.listsRemovedLinks {
        changes.links.addUnlistedLinks(toObjectsOf: entity.number)
        changes.listsRemovedLinks = false
      }
    case .update:
      var slots = SlotMask()
      for name in change.updatedProperties {
        switch entity.property(named: name) {
        case .attribute(let slot): slots.insert(slot.index)
        case .toOne(let relationship):
          slots.insert(relationship.index)
          toOnes.append(relationship)
        case .toMany, .composite, .fetched, nil: break
        }
      }
      let isDerivedOnly = !change.updatedProperties.isEmpty && change.updatedProperties == change.derivedProperties
      changes.add(isDerivedOnly ? .refreshed : .updated, reference, slots)
    }
    addLinks(of: change, entity, change.changeType == .update ? toOnes : entity.slots.compactMap(\.relationship))
  }

  /// Adds the links that a change has added and removed. Links of to-one relationships are listed only if the values were recorded.
  private mutating func addLinks(of change: PersistentHistoryChange, _ entity: CompiledEntity, _ toOnes: [CompiledRelationship]) {
    let source = change.changedObjectID.reference
    for relationship in toOnes where !relationship.isTransient {
      // In inserted and deleted objects, a missing value is null.
      guard change.oldValues != nil || change.newValues != nil else {
        changes.links.addUnlisted(relationship)
        continue
      }
      for (values, isAdded) in [(change.oldValues, false), (change.newValues, true)] {
        guard case .object(let id?)? = values?.values[relationship.name] else { continue }
        changes.links.add(LinkChanges.Link(source: source, destination: id.reference), of: relationship.id, isAdded: isAdded)
      }
    }
    for link in change.links {
      guard case .toMany(let relationship)? = entity.property(named: link.relationship) else { continue }
      changes.links.add(
        LinkChanges.Link(source: source, destination: link.destination.reference), of: relationship.id, isAdded: link.isAdded)
    }
    for name in change.orders.keys {
      guard case .toMany(let relationship)? = entity.property(named: name) else { continue }
      changes.links.addOrder(of: RelationshipOwner(object: source, relationshipID: relationship.id))
    }
  }
}

extension SchemaChange.Kind {
  /// Whether objects that remain have other values.
  fileprivate var changesObjects: Bool { self != .objectsRemoved && self != .propertyRemoved }
}

extension PersistentHistoryTransaction {
  /// The changes of the transaction, for ``ManagedObjectContext/mergeChanges(from:)-(ChangeSet)``. Lists nothing if ``changes`` is nil.
  public var changeSet: ChangeSet {
    // Spaces stay registered, so the changes are always known.
    guard let space = ObjectIDSpace.space(space) else {
      return ChangeSet(ofStore: storeIdentifier, isWhole: true, token: token, source: nil, author: author, context: contextName)
    }
    var set = HistoryChangeSet(ofStore: storeIdentifier, in: space)
    set.add(self)
    return set.changeSet()
  }
}

extension PersistentStoreCoordinator {
  /// Returns the changes after a token, as a change set for each store, and the token after them.
  package func changeSets(
    afterHistory token: PersistentHistoryToken?, cancellation: RequestCancellation? = nil
  ) throws -> (changes: [ChangeSet], token: PersistentHistoryToken?) {
    var (sets, last): ([ChangeSet], PersistentHistoryToken?) = ([], token)
    for history in try histories(affectedStores: nil, token: token, .readHistory) {
      try cancellation?.check(.readHistory)
      var query = HistoryQuery()
      query.after = try history.number(after: token)
      var reader = history.reader(query)
      var set = HistoryChangeSet(ofStore: history.store.identifier, in: history.store.space)
      while let fragment = try reader.next() {
        try cancellation?.check(.readHistory)
        var transaction = fragment.transaction
        transaction.changes = fragment.changes
        set.add(transaction)
        last = last?.merging(transaction.token) ?? transaction.token
      }
      sets.append(set.changeSet())
    }
    return (sets, last)
  }
}
