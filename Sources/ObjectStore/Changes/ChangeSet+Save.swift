package import ObjectModel

/// Collects the links that rows and requests add and remove.
struct LinkCollector {
  private let model: CompiledModel
  private var byRelationship: [LinkChanges]
  /// The to-one relationships by entity number, computed on first use.
  private var toOnes: [[CompiledRelationship]?]
  private(set) var reordered: [RelationshipOwner] = []
  var unlisted: Set<Int> = []

  init(_ model: CompiledModel) {
    self.model = model
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
    let reference = update.row.reference
    for relationship in toOnes(of: reference.entity) where update.changedSlots.contains(relationship.index) {
      let destination = update.row.reference(relationship.index)
      let previous = update.previousRow?.reference(relationship.index)
      if previous == destination { continue }
      add(reference, destination, to: relationship.id)
      if let previous { remove(reference, previous, from: relationship.id) } else { addUnlisted(relationship) }
    }
  }

  mutating func add(deleted: SaveChangesRequest.VersionedReference) {
    for relationship in toOnes(of: deleted.reference.entity) {
      if let previous = deleted.previousRow {
        remove(deleted.reference, previous.reference(relationship.index), from: relationship.id)
      } else {
        addUnlisted(relationship)
      }
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

  /// Adds the links that a batch request has changed.
  ///
  /// - Returns: False if the store does not report them or there are too many.
  mutating func add(_ links: BatchLinks) -> Bool {
    switch links {
    case .unknown: return false
    case .listed(let changes):
      for change in changes {
        byRelationship[change.relationshipID].added += change.added
        byRelationship[change.relationshipID].removed += change.removed
      }
    case .ofSave(let request):
      guard request.inserted.count + request.updated.count + request.deleted.count <= BatchLinks.maximumRowCount else { return false }
      for row in request.inserted { add(row) }
      for update in request.updated { add(update) }
      for deleted in request.deleted { add(deleted: deleted) }
      for change in request.relationshipChanges { add(change) }
    }
    return true
  }

  /// Records that links of a relationship have changed for unknown objects.
  mutating func addUnlisted(_ relationship: CompiledRelationship) {
    if relationship.isToMany { unlisted.insert(relationship.id) }
    if let inverse = model.inverse(of: relationship), inverse.isToMany { unlisted.insert(inverse.id) }
  }

  /// Records that links to objects of an entity were removed from unknown objects.
  mutating func addUnlistedLinks(toObjectsOf entity: Int) {
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
    let changes = BatchChanges(allOf: request, outcome)
    var links = LinkCollector(model)
    for row in request.inserted { links.add(row) }
    var slots = ChangedSlots()
    for update in request.updated {
      links.add(update)
      var changed = update.changedSlots
      if !outcome.isEmpty { changed.formUnion(model.entities[update.row.entityNumber].derivedSlots) }
      slots.append(changed)
    }
    for deleted in request.deleted { links.add(deleted: deleted) }
    for change in request.relationshipChanges { links.add(change) }
    // Objects of which only relationships outside their rows were changed.
    for reference in changes.updated.dropFirst(request.updated.count) {
      slots.append(outcome.isEmpty ? SlotMask() : model.entities[reference.entity].derivedSlots)
    }
    self.init(changes, of: store, scope: scope, updatedSlots: slots, links: links)
  }

  /// Creates the change set of a batch request.
  ///
  /// - Parameters:
  ///   - updatedSlots: The changed slots of all updated objects, or nil if any slot may have changed.
  ///   - relationships: The relationships that were set. If the store does not report links, they may have changed for any object.
  package init(
    _ changes: BatchChanges, updatedSlots: SlotMask?, setting relationships: [CompiledRelationship] = [], of store: PersistentStore,
    scope: RequestScope
  ) {
    var links = LinkCollector(store.model)
    if !links.add(changes.links) {
      for relationship in relationships { links.addUnlisted(relationship) }
      var last = -1
      for reference in changes.deleted where reference.entity != last {
        last = reference.entity
        links.addUnlistedLinks(toObjectsOf: last)
      }
    }
    var slots = ChangedSlots()
    slots.append(updatedSlots, count: changes.updated.count)
    self.init(changes, of: store, scope: scope, updatedSlots: slots, links: links)
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
