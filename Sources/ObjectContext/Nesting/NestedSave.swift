import Foundation
import ObjectModel
import ObjectStore

/// Applies a save of a nested context to its parent: inserted objects, values, links, and deletions, in this order.
///
/// All checks that can fail happen before the first change. Objects that the parent has not loaded start from the rows that the nested
/// context read, so that the parent's save detects conflicting changes made since then.
struct NestedSave {
  private let request: SaveChangesRequest
  private let store: PersistentStore
  private let context: ManagedObjectContext
  private var space: UInt32 { store.space.number }
  /// The rows read for objects that the parent has not loaded.
  private var rows: [ObjectReference: RowImage] = [:]

  init(_ request: SaveChangesRequest, to store: PersistentStore, in context: ManagedObjectContext) {
    self.request = request
    self.store = store
    self.context = context
  }

  /// Applies the save as one event of the parent.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/mergeConflict`` for objects that the parent no longer has, and an error for references
  ///   to deleted objects. Nothing has changed in these cases.
  mutating func run() throws {
    context.settleChanges()
    try checkRows()
    try checkDestinations()
    context.recorder?.openOwnGroup()
    defer { context.recorder?.closeOwnGroup() }
    let inserted = request.inserted.map { ($0, insert($0)) }
    for (row, object) in inserted { try link(object, row, context.model.entities[row.entityNumber].referenceSlots) }
    for update in request.updated { try take(update) }
    for change in request.relationshipChanges { takeMembers(change) }
    // Apply the order last: only one side of a many-to-many change lists the members, but each side has its own order.
    for change in request.relationshipChanges {
      guard let order = change.order else { continue }
      object(change.source).mergeOrder(
        order, from: change.previousOrder, at: context.model.relationships[change.relationshipID].index)
    }
    for deleted in request.deleted { delete(deleted) }
    for locked in request.locked { context.detectConflicts(for: object(locked.reference)) }
    context.endEvent()
  }

  // MARK: Checks

  private func objectID(_ reference: ObjectReference) -> ManagedObjectID {
    ManagedObjectID(space: space, entityNumber: UInt32(reference.entity), key: reference.key)
  }

  private func registered(_ reference: ObjectReference) -> ManagedObject? { context.registeredObject(reference, space: space) }

  /// Returns the parent's object for a reference: the registered object, or a new fault.
  private func object(_ reference: ObjectReference) -> ManagedObject {
    registered(reference) ?? context.makeFault(reference, space: space)
  }

  /// Returns whether the parent, or one of its ancestors, has deleted an object.
  private func isRemoved(_ reference: ObjectReference) -> Bool {
    if let object = registered(reference), object.hasChanges { return object.flags.contains(.isDeleted) }
    if case .deleted? = context.rowSource.unsavedRow(reference, in: store) { return true }
    return false
  }

  /// Throws if the parent no longer has an updated or linked object.
  private mutating func checkRows() throws {
    var deleted: [(reference: ObjectReference, version: Int64)] = []
    var unread: [(reference: ObjectReference, version: Int64)] = []
    let arriving = Set(request.inserted.map(\.reference))
    for update in request.updated {
      let item = (reference: update.row.reference, version: update.oldVersion)
      if let object = registered(item.reference) {
        if !object.flags.isDisjoint(with: [.isDeleted, .isInaccessible]) { deleted.append(item) }
        if !object.flags.contains(.isFault) || object.row != nil { continue }
      }
      if case .deleted? = context.rowSource.unsavedRow(item.reference, in: store) {
        deleted.append(item)
        continue
      }
      if update.previousRow == nil || item.version == UnsavedRow.version { unread.append(item) }
    }
    // A new link needs both ends.
    for change in request.relationshipChanges where !change.added.isEmpty {
      for reference in [change.source] + change.added where !arriving.contains(reference) && isRemoved(reference) {
        if !deleted.contains(where: { $0.reference == reference }) { deleted.append((reference, UnsavedRow.version)) }
      }
    }
    if !unread.isEmpty {
      let found = try context.rowSource.rows(of: unread.map { objectID($0.reference) }, in: store)
      rows = Dictionary(found.map { ($0.reference, $0) }, uniquingKeysWith: { first, _ in first })
      for item in unread where rows[item.reference] == nil && !deleted.contains(where: { $0.reference == item.reference }) {
        deleted.append(item)
      }
    }
    if deleted.isEmpty { return }
    var error = StoreError(.changedElsewhere, operation: .save, path: store.url?.path)
    error.mergeConflicts = deleted.map {
      MergeConflict(objectID: objectID($0.reference), oldVersion: $0.version, newVersion: 0, persistedRow: nil)
    }
    throw error
  }

  /// Throws for references to objects that the parent has deleted, unless the inverse's delete rule leaves them.
  private func checkDestinations() throws {
    if context.unitOfWork.deleted.isEmpty, !context.rowSource.readsUnsavedRows { return }
    let arriving = Set(request.inserted.map(\.reference))
    func check(_ row: RowImage, _ slots: [Int]) throws {
      let entity = context.model.entities[row.entityNumber]
      for slot in slots {
        let reference = row.reference(slot)
        guard !reference.isNull, !arriving.contains(reference), isRemoved(reference) else { continue }
        guard let relationship = entity.slots[slot].relationship, let inverse = context.model.inverse(of: relationship),
          inverse.deleteEffect.leavesNoReferences
        else { continue }
        throw StoreError(.deletedDestination(entity: entity.name, property: relationship.name), operation: .save)
      }
    }
    for row in request.inserted { try check(row, context.model.entities[row.entityNumber].referenceSlots) }
    for update in request.updated {
      try check(update.row, context.model.entities[update.row.entityNumber].referenceSlots.filter(update.changedSlots.contains))
    }
  }

  // MARK: Values

  /// Inserts an object without its relationships. Restores an object that the parent has deleted.
  private func insert(_ row: RowImage) -> ManagedObject {
    let entity = context.model.entities[row.entityNumber]
    let object: ManagedObject
    if let known = registered(row.reference) {
      object = known
      if object.flags.contains(.isDeleted) {
        context.recorder?.recordInsertion(of: object)
        context.unitOfWork.revertDeletions(of: [object])
      }
      if object.flags.contains(.isFault) && object.row == nil || object.flags.contains(.isInaccessible) {
        // The parent had a fault for the object before it existed.
        object.flags.subtract([.isFault, .isInaccessible])
        object.flags.formUnion(.newObject)
        context.unitOfWork.recordInsertion(object)
        context.recorder?.recordInsertion(of: object)
      }
    } else {
      object = context.entityClasses.type(ofEntity: entity.number).init(ManagedObjectSeed(newObject: objectID(row.reference), in: context))
      context.register(object)
      context.unitOfWork.recordInsertion(object)
      context.recorder?.recordInsertion(of: object)
    }
    object.setTransientDefaults()
    for slot in entity.slots where slot.kind != .none && slot.kind != .reference && !slot.isDerived { set(slot, of: object, from: row) }
    return object
  }

  private func take(_ update: SaveChangesRequest.Update) throws {
    let reference = update.row.reference
    let object = object(reference)
    if object.flags.contains(.isFault), object.row == nil { object.image = rows[reference] ?? update.previousRow }
    object.fireFault(trigger: nil)
    let entity = object.compiledEntity
    for slot in entity.slots where slot.kind != .reference && update.changedSlots.contains(slot.index) {
      set(slot, of: object, from: update.row)
    }
    try link(object, update.row, entity.referenceSlots.filter(update.changedSlots.contains))
    if update.changedSlots.isEmpty {
      // The nested context has recorded that the row was deleted, and the save inserts it again.
      object.flags.insert(.outlivesRow)
      object.recordChange()
    }
  }

  private func set(_ slot: CompiledSlot, of object: ManagedObject, from row: RowImage) {
    if slot.kind == .bytes, let external = row.external(slot.index) { return object.setExternalData(external, at: slot.index) }
    if row.isNull(slot.index), !object.hasValue(slot.index) { return }
    do { object.setSlotValue(try row.slot(slot.index, kind: slot.kind), at: slot.index) } catch { context.record(error) }
  }

  // MARK: Links

  private func link(_ object: ManagedObject, _ row: RowImage, _ slots: [Int]) throws {
    for slot in slots {
      let reference = row.reference(slot)
      object.setToOne(reference.isNull ? nil : self.object(reference), at: slot)
    }
  }

  private func takeMembers(_ change: SaveChangesRequest.RelationshipChange) {
    let relationship = context.model.relationships[change.relationshipID]
    let owner = object(change.source)
    for reference in change.added { owner.addToToMany(object(reference), at: relationship.index) }
    for reference in change.removed { owner.removeFromToMany(object(reference), at: relationship.index) }
  }

  // MARK: Deletions

  private func delete(_ deleted: SaveChangesRequest.VersionedReference) {
    if isRemoved(deleted.reference) { return }
    let object = object(deleted.reference)
    if object.flags.contains(.isFault), object.row == nil, let former = deleted.previousRow, former.version != UnsavedRow.version {
      object.image = former
    }
    // The nested context has already called `prepareForDeletion()`.
    context.recorder?.recordDeletion(of: object)
    context.unitOfWork.recordDeletion(object)
  }
}
