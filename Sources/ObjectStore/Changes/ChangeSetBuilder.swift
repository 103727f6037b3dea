import ObjectModel

/// Combines changes into a change set, which lists each object once: the changes of a batch request, or of transactions in a history.
///
/// An object that was inserted and then deleted is listed as deleted; one that was inserted and then updated, as inserted. An object that was
/// deleted and inserted again with the same ID is listed as updated, with unknown changes.
struct ChangeSetBuilder {
  enum State {
    case inserted, updated, deleted
    /// Only derived attributes were updated.
    case refreshed
    /// Deleted and inserted again.
    case restored
    case insertedAndDeleted
  }

  private struct Object {
    let reference: ObjectReference
    var state: State
    var slots: SlotMask
  }

  private let model: CompiledModel
  private var objects: [Object] = []
  /// The positions of the objects; nil while they are in ascending order, so that each reported one is another.
  private var positions: [ObjectReference: Int]?
  var links: LinkCollector
  /// The slots that may have changed in all objects of an entity.
  var filled: [Int: SlotMask] = [:]
  var listsRemovedLinks = false
  /// Whether any object may have changed although none is listed.
  var isWhole = false

  init(_ model: CompiledModel) { (self.model, links) = (model, LinkCollector(model)) }

  /// The number of objects.
  var count: Int { objects.count }

  /// The entities of the deleted objects.
  var deletedEntities: Set<Int> { Set(objects.lazy.filter { $0.state == .deleted || $0.state == .restored }.map(\.reference.entity)) }

  /// The objects that existed before.
  var storedReferences: some Sequence<ObjectReference> { objects.lazy.filter { $0.state != .inserted }.map(\.reference) }

  /// Adds a change of an object.
  ///
  /// - Parameters:
  ///   - change: What happened to the object: `inserted`, `updated`, `refreshed`, or `deleted`.
  ///   - slots: The updated slots.
  mutating func add(_ change: State, _ reference: ObjectReference, _ slots: SlotMask = SlotMask()) {
    if positions == nil, let last = objects.last, last.reference.rawValue >= reference.rawValue {
      positions = Dictionary(uniqueKeysWithValues: objects.enumerated().map { ($1.reference, $0) })
    }
    guard let position = positions?[reference] else {
      positions?[reference] = objects.count
      objects.append(Object(reference: reference, state: change, slots: slots))
      return
    }
    switch (objects[position].state, change) {
    case (.deleted, .inserted):
      objects[position].state = .restored
      // Existing objects in contexts have the members from before the deletion.
      for relationship in model.entities[reference.entity].toManyRelationships where !relationship.isTransient {
        links.addOrder(of: RelationshipOwner(object: reference, relationshipID: relationship.id))
      }
    case (.inserted, .deleted), (.insertedAndDeleted, .deleted): objects[position].state = .insertedAndDeleted
    case (_, .inserted), (_, .deleted), (.refreshed, .updated): objects[position].state = change
    default: break
    }
    objects[position].slots.formUnion(slots)
  }

  /// Returns the combined changes; for the parameters see the initializers of ``ChangeSet``.
  func changeSet(
    ofStore storeIdentifier: String, in space: ObjectIDSpace, token: PersistentHistoryToken?, source: ObjectIdentifier?,
    origin: UInt64 = 0, author: String?, context: String?
  ) -> ChangeSet {
    var (inserted, updated): ([ManagedObjectID], [ManagedObjectID]) = ([], [])
    var (deleted, refreshed): ([ManagedObjectID], [ManagedObjectID]) = ([], [])
    var slots = ChangedSlots()
    for object in objects {
      let id = space.objectID(of: object.reference)
      switch object.state {
      case .inserted: inserted.append(id)
      case .deleted, .insertedAndDeleted: deleted.append(id)
      case .refreshed: refreshed.append(id)
      case .updated, .restored:
        updated.append(id)
        slots.append(object.state == .updated ? object.slots : nil)
      }
    }
    return ChangeSet(
      ofStore: storeIdentifier, inserted: inserted, updated: updated, updatedSlots: slots, deleted: deleted, refreshed: refreshed,
      filled: filled.sorted { $0.key < $1.key }.map { FilledSlots(entity: $0.key, slots: $0.value) }, links: links,
      listsRemovedLinks: listsRemovedLinks, isWhole: isWhole, token: token, source: source, origin: origin, author: author,
      context: context)
  }
}
