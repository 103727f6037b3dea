package import ObjectModel

/// Collects the links that rows and requests add and remove.
struct LinkCollector {
  private let model: CompiledModel
  private var byRelationship: [LinkChanges]
  /// The to-one relationships by entity number, computed on first use.
  private var toOnes: [[CompiledRelationship]?]
  private(set) var reordered: [RelationshipOwner] = []
  var unlisted: Set<Int> = []
  /// The relationships that were passed to ``addUnlisted(_:)``.
  private var isUnlisted: [Bool]
  /// The entities that were passed to ``addUnlistedLinks(toObjectsOf:)``.
  private var unlistedEntities: Set<Int> = []

  init(_ model: CompiledModel) {
    self.model = model
    isUnlisted = Array(repeating: false, count: model.relationships.count)
    byRelationship = model.relationships.map { LinkChanges(relationshipID: $0.id) }
    toOnes = Array(repeating: nil, count: model.entities.count)
  }

  var changes: [LinkChanges] { byRelationship.filter { !$0.added.isEmpty || !$0.removed.isEmpty } }

  private mutating func toOnes(of entity: Int) -> [CompiledRelationship] {
    if let known = toOnes[entity] { return known }
    let found = model.entities[entity].slots.compactMap(\.relationship).filter { !$0.isTransient }
    toOnes[entity] = found
    return found
  }

  private mutating func add(_ source: ObjectReference, _ destination: ObjectReference, to relationship: Int) {
    if destination.isNull { return }
    byRelationship[relationship].added.append(LinkChanges.Link(source: source, destination: destination))
  }

  private mutating func remove(_ source: ObjectReference, _ destination: ObjectReference, from relationship: Int) {
    if destination.isNull { return }
    byRelationship[relationship].removed.append(LinkChanges.Link(source: source, destination: destination))
  }

  mutating func add(_ row: RowImage) {
    for relationship in toOnes(of: row.entityNumber) { add(row.reference, row.reference(relationship.index), to: relationship.id) }
  }

  mutating func add(_ update: SaveChangesRequest.Update) {
    add(update.row.reference, update.changedSlots, old: update.previousRow, new: update.row)
  }

  /// Adds the links of an updated row. Without the old or the new row, the members of a changed relationship are unknown.
  mutating func add(_ reference: ObjectReference, _ slots: SlotMask, old: RowImage?, new: RowImage?) {
    for relationship in toOnes(of: reference.entity) where slots.contains(relationship.index) {
      let destination = new?.reference(relationship.index)
      let previous = old?.reference(relationship.index)
      if let destination, previous == destination { continue }
      if let destination { add(reference, destination, to: relationship.id) }
      if let previous { remove(reference, previous, from: relationship.id) }
      if destination == nil || previous == nil { addUnlisted(relationship) }
    }
  }

  mutating func add(deleted reference: ObjectReference, _ row: RowImage?) {
    for relationship in toOnes(of: reference.entity) {
      if let row { remove(reference, row.reference(relationship.index), from: relationship.id) } else { addUnlisted(relationship) }
    }
  }

  mutating func add(_ link: LinkChanges.Link, of relationship: Int, isAdded: Bool) {
    if isAdded { add(link.source, link.destination, to: relationship) } else { remove(link.source, link.destination, from: relationship) }
  }

  mutating func addOrder(of owner: RelationshipOwner) { reordered.append(owner) }

  mutating func add(_ change: SaveChangesRequest.RelationshipChange) {
    for member in change.added { add(change.source, member, to: change.relationshipID) }
    for member in change.removed { remove(change.source, member, from: change.relationshipID) }
    if change.order != nil { reordered.append(RelationshipOwner(object: change.source, relationshipID: change.relationshipID)) }
  }

  /// Replaces the links by the relationships that they belong to.
  mutating func makeUnlisted() {
    for change in changes {
      addUnlisted(model.relationships[change.relationshipID])
      byRelationship[change.relationshipID] = LinkChanges(relationshipID: change.relationshipID)
    }
  }

  /// Records that links of an object's to-one relationships have changed, without listing them.
  ///
  /// - Parameter isSet: Returns whether the object has a destination in a slot.
  mutating func addUnlisted(of entity: Int, where isSet: (_ slot: Int) -> Bool) {
    for relationship in toOnes(of: entity) where !isUnlisted[relationship.id] && isSet(relationship.index) { addUnlisted(relationship) }
  }

  /// Records that links of a relationship have changed for unknown objects.
  mutating func addUnlisted(_ relationship: CompiledRelationship) {
    isUnlisted[relationship.id] = true
    if relationship.isToMany { unlisted.insert(relationship.id) }
    if let inverse = model.inverse(of: relationship), inverse.isToMany { unlisted.insert(inverse.id) }
  }

  /// Records that links to objects of an entity were removed from unknown objects.
  mutating func addUnlistedLinks(toObjectsOf entity: Int) {
    guard unlistedEntities.insert(entity).inserted else { return }
    for relationship in model.relationships
    where relationship.isToMany && model.entities[relationship.destinationEntity].subtree.contains(entity) {
      unlisted.insert(relationship.id)
    }
  }
}

extension ChangeSet {
  /// Creates the change set of a save.
  package init(_ request: SaveChangesRequest, _ outcome: SaveOutcome, of store: PersistentStore, scope: RequestScope) {
    let model = store.model
    var links = LinkCollector(model)
    for row in request.inserted { links.add(row) }
    var updated: [ObjectReference] = []
    updated.reserveCapacity(request.updated.count)
    var slots = ChangedSlots()
    for update in request.updated {
      updated.append(update.row.reference)
      links.add(update)
      var changed = update.changedSlots
      if !outcome.isEmpty { changed.formUnion(model.entities[update.row.entityNumber].derivedSlots) }
      slots.append(changed)
    }
    for deleted in request.deleted { links.add(deleted: deleted.reference, deleted.previousRow) }
    for change in request.relationshipChanges { links.add(change) }
    let inserted = request.inserted.references
    var refreshed: [ObjectReference] = []
    if !request.relationshipChanges.isEmpty || !outcome.isEmpty {
      var known = Set(inserted).union(updated)
      // Objects of which only relationships outside their rows were changed.
      for change in request.relationshipChanges where known.insert(change.source).inserted {
        updated.append(change.source)
        slots.append(outcome.isEmpty ? SlotMask() : model.entities[change.source.entity].derivedSlots)
      }
      refreshed = (outcome.refreshed.references + outcome.outdated).filter { known.insert($0).inserted }
    }
    self.init(
      ofStore: store.identifier, inserted: store.objectIDs(of: inserted), updated: store.objectIDs(of: updated), updatedSlots: slots,
      deleted: store.objectIDs(of: request.deleted.map(\.reference)), refreshed: store.objectIDs(of: refreshed), links: links,
      token: outcome.historyPosition.map { PersistentHistoryToken($0, of: store.identifier) }, source: ObjectIdentifier(store),
      origin: scope.origin, author: scope.transactionAuthor, context: scope.contextName)
  }
}

extension CompiledEntity {
  /// The slots of the derived attributes.
  package var derivedSlots: SlotMask {
    var mask = SlotMask()
    if hasDerivedSlots { for slot in slots where slot.isDerived { mask.insert(slot.index) } }
    return mask
  }
}
