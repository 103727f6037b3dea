import ObjectModel
import ObjectStore

/// The undo or redo of one group: applies its records from last to first.
///
/// Applying records uses the same mutations as any change, so the reverse records are created on the way. Redo uses the records that undo
/// creates.
struct UndoApplication {
  let context: ManagedObjectContext
  let manager: ContextUndoManager
  let isRedo: Bool
  /// The affected objects, in order. `events` holds how each was affected.
  private(set) var objects: [ManagedObject] = []
  private var events: [SnapshotEvents] = []
  private var positions: [ManagedObject: Int] = [:]
  /// Objects whose rows were read for this operation; retained because nothing else may retain them.
  private var held: [ManagedObject] = []
  /// Objects whose rows do not exist anymore.
  private var missingIDs: Set<ManagedObjectID> = []
  /// The object of the previous record; consecutive records often share it.
  private var last: (reference: ObjectReference, space: UInt32, object: ManagedObject)?
  /// The links that were set. Their other ends are checked at the end.
  private(set) var links: [Link] = []
  /// Objects whose members needed no change once the stored ones were read.
  private var settled: [ManagedObject] = []
  /// Transient values that are unchanged again.
  private var cleanValues: [(object: ManagedObject, slot: Int)] = []

  struct Link {
    let object: ManagedObject
    let relationship: CompiledRelationship
    let destination: ObjectReference
    /// The previous destination of a to-one relationship; null for a to-many relationship.
    let former: ObjectReference
  }

  init(of context: ManagedObjectContext, _ manager: ContextUndoManager, isRedo: Bool) {
    self.context = context
    self.manager = manager
    self.isRedo = isRedo
  }

  /// Runs the custom actions of a group, for an undo manager without a context.
  static func runActions(of group: UndoGroup) {
    for record in group.records.reversed() {
      if record.kind == .group { runActions(of: group.groups[record.position]) }
      if record.kind == .action { run(group.actions[record.position]) }
    }
  }

  private static func run(_ action: UndoGroup.Action?) {
    if let action, let target = action.target { action.run(target) }
  }

  // MARK: Rows

  /// Reads the required rows that are not in memory.
  ///
  /// - Throws: ``StoreError``, in which case nothing is changed.
  mutating func prepare(_ group: UndoGroup) throws {
    var unread: [UInt32: [ManagedObjectID]] = [:]
    collectUnread(group, into: &unread)
    context.membershipTracker.markRemoved(until: Self.objects(of: group).filter { $0.contextReference == nil }.map(\.currentID))
    for ids in unread.values {
      let store = try context.rowSource.openStore(of: ids[0], .undo)
      let rows = try context.rowSource.rows(of: ids, in: store, isInterruptible: false)
      var found: Set<ObjectReference> = []
      for row in rows {
        found.insert(row.reference)
        let known = context.registeredObject(row.reference, space: store.space.number)
        let object = known ?? context.makeFault(row.reference, space: store.space.number)
        if object.row == nil { object.image = row }
        held.append(object)
      }
      for id in ids where !found.contains(id.reference) { missingIDs.insert(id) }
    }
  }

  private func collectUnread(_ group: UndoGroup, into unread: inout [UInt32: [ManagedObjectID]]) {
    // Objects that the group restores are not in the store.
    var seen = Set(Self.objects(of: group).map(\.currentID))
    func visit(_ group: UndoGroup) {
      for record in group.records {
        if record.kind == .group { visit(group.groups[record.position]) }
        guard record.reference.key > 0, record.kind != .deleted else { continue }
        if let object = context.registeredObject(record.reference, space: record.space) {
          // Changes of members do not need the row of their owner.
          let needsRow = record.kind == .value || record.kind == .external
          if !needsRow || !object.flags.contains(.isFault) || object.row != nil { continue }
        }
        let id = ManagedObjectID(space: record.space, entityNumber: UInt32(record.reference.entity), key: record.reference.key)
        if seen.insert(id).inserted { unread[record.space, default: []].append(id) }
      }
    }
    visit(group)
  }

  private static func objects(of group: UndoGroup) -> [ManagedObject] { group.objects + group.groups.flatMap(objects) }

  // MARK: Records

  /// Restores the state before a group.
  mutating func apply(_ group: UndoGroup) {
    let clearCount = manager.clearCount
    for record in group.records.reversed() {
      // A custom action may have cleared the undo manager.
      if manager.clearCount != clearCount { return }
      switch record.kind {
      case .action: Self.run(group.actions[record.position])
      case .group: apply(group.groups[record.position])
      case .inserted: deleteInserted(record)
      case .deleted: restoreObject(group.objects[record.position])
      case .value, .external, .added, .removed, .order:
        if let object = object(of: record) { apply(record, to: object, group) }
      }
    }
    for kept in group.keptOrders {
      if let owner = context.registeredObject(for: kept.owner) { restore(kept.members, of: owner, at: kept.index) }
    }
  }

  private mutating func apply(_ record: UndoRecord, to object: ManagedObject, _ group: UndoGroup) {
    let property = Int(record.property)
    switch record.kind {
    case .value:
      guard object.fireFault(trigger: property) else { return }
      object.setSlotValue(known(record.former, of: object, at: property), at: property)
      if record.marks.contains(.wasClean) { cleanValues.append((object, property)) }
    case .external:
      guard object.fireFault(trigger: property) else { return }
      object.setExternalData(group.externals[record.position], at: property)
    case .added:
      guard object.undoAddition(of: context.registry.savedReference(record.member), at: property, record.marks) else {
        return settled.append(object)
      }
    case .removed:
      let member = context.registry.savedReference(record.member)
      guard object.undoRemoval(of: member, at: property, record.marks) else { return settled.append(object) }
      links.append(
        Link(
          object: object, relationship: object.compiledEntity.toManyRelationships[property], destination: member,
          former: ObjectReference(rawValue: 0)))
    case .order: restore(group.orders[record.position], of: object, at: property)
    case .inserted, .deleted, .action, .group: return
    }
    recordEvent(object, .undoUpdate)
  }

  /// Returns a value with a reference replaced by the object's current one.
  private mutating func known(_ value: Slot, of object: ManagedObject, at slot: Int) -> Slot {
    guard object.compiledEntity.kinds[slot] == .reference, let relationship = object.compiledEntity.slots[slot].relationship else {
      return value
    }
    var destination = ObjectReference(rawValue: 0)
    if case .int(let word) = value { destination = context.registry.savedReference(ObjectReference(rawValue: word)) }
    links.append(Link(object: object, relationship: relationship, destination: destination, former: object.referenceValue(slot)))
    return destination.isNull ? .null : .int(destination.rawValue)
  }

  private func restore(_ order: [ObjectReference], of object: ManagedObject, at index: Int) {
    object.mergeOrder(order.map { context.registry.savedReference($0) }, from: nil, at: index)
  }

  // MARK: Objects

  /// Returns the object of a record; nil if it does not exist anymore.
  private mutating func object(of record: UndoRecord) -> ManagedObject? {
    if let last, last.reference == record.reference, last.space == record.space { return last.object }
    guard let object = findObject(record), object.flags.isDisjoint(with: [.isRemoved, .isInaccessible]) else { return nil }
    last = (record.reference, record.space, object)
    return object
  }

  private func findObject(_ record: UndoRecord) -> ManagedObject? {
    if record.reference.key < 0 { return context.temporaryObject(record.reference) }
    if let object = context.registeredObject(record.reference, space: record.space) { return object }
    let id = ManagedObjectID(space: record.space, entityNumber: UInt32(record.reference.entity), key: record.reference.key)
    // `prepare` has read the rows; without a row in memory, a deleted object does not exist.
    return missingIDs.contains(id) || context.membershipTracker.isRemoved(record.reference)
      ? nil : context.makeFault(record.reference, space: record.space)
  }

  mutating func recordEvent(_ object: ManagedObject, _ event: SnapshotEvents) {
    if let lastObject = objects.last, lastObject === object {
      events[events.count - 1].insert(event)
    } else if let position = positions[object] {
      events[position].insert(event)
    } else {
      positions[object] = objects.count
      objects.append(object)
      events.append(event)
    }
  }

  /// Reverts an insertion: a new object leaves the context, a stored one is deleted by the next save.
  private mutating func deleteInserted(_ record: UndoRecord) {
    guard let object = object(of: record), !object.flags.contains(.isDeleted) else { return }
    manager.recordDeletion(of: object)
    context.unitOfWork.recordDeletionByUndo(object)
    unlink(object)
    last = nil
    recordEvent(object, isRedo ? .undoDeletion : .undoInsertion)
  }

  private mutating func restoreObject(_ object: ManagedObject) {
    guard context.restoreObject(object) else { return }
    last = nil
    recordEvent(object, isRedo ? .undoInsertion : .undoDeletion)
  }

  // MARK: Finishing

  /// Repairs links, notifies the objects and the observers, and discards changes that equal the saved values.
  mutating func finish() {
    context.unitOfWork.removeRevertedDeletions()
    for link in links where link.object.contextReference != nil { repairLink(link) }
    for (position, object) in objects.enumerated() { object.awake(fromSnapshotEvents: events[position]) }
    // Includes the other ends of links.
    let changed = context.unitOfWork.pendingObjects
    context.endEvent()
    for (object, slot) in cleanValues { object.overlay?.becomeClean(slot) }
    for object in objects { object.discardUnchangedValues() }
    for object in changed + settled where positions[object] == nil { object.discardUnchangedValues() }
  }
}

// MARK: - Repairing links

extension UndoApplication {
  /// Removes a link whose destination does not exist, and updates the inverse of a link whose destination exists.
  ///
  /// Usually there is nothing to do, since both ends were recorded. Changes that other contexts made below unsaved changes can move ends
  /// without a record.
  func repairLink(_ link: Link) {
    let (object, relationship, destination) = (link.object, link.relationship, link.destination)
    if !destination.isNull, !context.exists(destination, near: object) {
      if relationship.isToMany {
        // The member returns when its earlier deletion is undone, too.
        if destination.key > 0,
          context.registeredObject(destination, near: object)?.flags.isDisjoint(with: [.isRemoved, .isInaccessible]) ?? false
        {
          return
        }
        object.undoAddition(of: destination, at: relationship.index, .isSaved)
      } else if object.referenceValue(relationship.index) == destination {
        object.setReference(ObjectReference(rawValue: 0), at: relationship.index)
      }
      return
    }
    guard !relationship.isToMany, object.flags.isDisjoint(with: [.isDeleted, .isRemoved]),
      let inverse = context.model.inverse(of: relationship),
      object.referenceValue(relationship.index) == destination
    else { return }
    let stored = object.image?.reference(relationship.index) ?? ObjectReference(rawValue: 0)
    if !link.former.isNull, link.former != destination, let former = registered(link.former, near: object) {
      leave(former, inverse, object, isStored: stored == link.former)
    }
    if !destination.isNull { reach(destination, inverse, object, isStored: stored == destination) }
  }

  /// Removes an object from the loaded member lists of other objects, as its deletion did originally. The removal records the member's
  /// position for a later redo.
  func unlink(_ object: ManagedObject) {
    let entity = object.compiledEntity
    for slot in entity.referenceSlots {
      guard let relationship = entity.slots[slot].relationship, relationship.deleteEffect.removesLinks,
        let inverse = context.model.inverse(of: relationship), inverse.isToMany,
        let owner = object.loadedReference(slot), !owner.isNull, let known = registered(owner, near: object)
      else { continue }
      if let state = known.toManyStates[inverse.index], state.isLoaded, state.contains(object.ownReference) {
        known.removeMember(object, from: inverse)
      }
    }
    for state in object.toManyStates where state.isLoaded && state.relationship.deleteEffect == .removesReferences {
      guard let inverse = context.model.inverse(of: state.relationship), inverse.isToMany else { continue }
      for member in state.members {
        guard let known = registered(member, near: object), let other = known.toManyStates[inverse.index], other.isLoaded,
          other.contains(object.ownReference)
        else { continue }
        known.removeMember(object, from: inverse)
      }
    }
  }

  private func registered(_ reference: ObjectReference, near object: ManagedObject) -> ManagedObject? {
    guard let found = context.registeredObject(reference, near: object),
      found.flags.isDisjoint(with: [.isDeleted, .isRemoved, .isInaccessible])
    else { return nil }
    return found
  }

  /// Removes the object from the inverse of its former destination.
  private func leave(_ former: ManagedObject, _ inverse: CompiledRelationship, _ object: ManagedObject, isStored: Bool) {
    let reference = object.ownReference
    if !inverse.isToMany {
      if former.referenceValue(inverse.index) == reference { former.setReference(ObjectReference(rawValue: 0), at: inverse.index) }
    } else if let state = former.toManyStates[inverse.index], state.isLoaded ? state.contains(reference) : state.added.contains(reference) {
      former.removeMember(object, from: inverse)
    } else if isStored, !(former.toManyStates[inverse.index]?.isLoaded ?? false) {
      former.removeMember(object, from: inverse)
    }
  }

  /// Adds the object to the inverse of its destination.
  private func reach(_ destination: ObjectReference, _ inverse: CompiledRelationship, _ object: ManagedObject, isStored: Bool) {
    let reference = object.ownReference
    if let known = registered(destination, near: object) {
      if !inverse.isToMany {
        if known.referenceValue(inverse.index).isNull { known.setReference(reference, at: inverse.index) }
      } else if let state = known.toManyStates[inverse.index] {
        if state.isLoaded ? !state.contains(reference) : state.removed.contains(reference) {
          known.undoRemoval(of: reference, at: inverse.index, [])
        } else if !state.isLoaded, !isStored {
          known.addMember(reference, at: inverse.index)
        }
      } else if !isStored {
        known.addMember(reference, at: inverse.index)
      }
    } else if !isStored, let made = context.object(destination, near: object) {
      if inverse.isToMany {
        made.addMember(reference, at: inverse.index)
      } else if made.referenceValue(inverse.index).isNull {
        made.setReference(reference, at: inverse.index)
      }
    }
  }
}
