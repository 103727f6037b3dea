// ManagedObjectContext+Save: a save as a list of steps.
import Foundation
import ObjectModel
import ObjectStore

extension ManagedObjectContext {
  /// Saves all changes: one transaction a store, all of it or nothing. Without changes nothing happens.
  ///
  /// The steps: `willSave` of the changed objects until none changes more, delete rules, validation, permanent IDs, the stores' transactions, `didSave`,
  /// notifications. On an error the context keeps its changes (objects may have got their permanent IDs already).
  /// - Throws: ``ValidationError`` (all errors at once), or ``StoreError`` with ``StoreError/Code/mergeConflict``,
  ///   ``StoreError/Code/constraintConflict`` and others.
  public func save() throws {
    try throwNotedError()
    guard hasChanges || !unitOfWork.locked.isEmpty else { return }
    notifications.postWillSave(in: self)
    try callWillSave()
    propagateDeletes()
    processPendingChanges()
    try throwNotedError()
    guard hasChanges || !unitOfWork.locked.isEmpty else { return }
    let work = SaveWork(context: self)
    try validate(work)
    try obtainPermanentIDs(for: work.inserted.filter(\.currentID.isTemporaryID))
    let requests = try makeRequests(work)
    for (store, request) in requests where !request.isEmpty {
      try coordinator.save(request, to: store, scope: scope(for: store))
    }
    finish(work, requests: requests)
  }

  // MARK: Steps

  /// Calls `willSave` on every changed object, again on those that were changed meanwhile.
  private func callWillSave() throws {
    var called = Set<ManagedObject>()
    var rounds = 0
    while true {
      let waiting = (unitOfWork.inserted + unitOfWork.updated + unitOfWork.deleted).filter { $0.hasChanges && !called.contains($0) }
      if waiting.isEmpty { return }
      rounds += 1
      guard rounds <= 1000 else {
        throw StoreError(
          .invalidRequest, "willSave() of some object changes further objects without end; set values there only if they differ.",
          operation: "save")
      }
      called.formUnion(waiting)
      for object in waiting { object.willSave() }
    }
  }

  /// Gives permanent IDs to new objects, before they are saved.
  ///
  /// - Throws: ``StoreError`` when no open store holds an object's entity.
  public func obtainPermanentIDs(for objects: [ManagedObject]) throws {
    let temporary = objects.filter { $0.currentID.isTemporaryID && $0.managedObjectContext === self }
    if temporary.isEmpty { return }
    for (space, group) in Dictionary(grouping: temporary, by: { space(of: $0) }) {
      guard let store = coordinator.store(numbered: space),
        group.allSatisfy({ store.entityNumbers.contains(Int($0.currentID.entityNumber)) })
      else {
        throw StoreError(
          .entityNotInStore, "No open store holds the entity “\(group[0].compiledEntity.name)”; add a store first.", operation: "obtain IDs"
        )
      }
      let ids = try store.incrementalStore.obtainPermanentIDs(for: group.map(\.currentID), in: scope(for: store))
      guard ids.count == group.count else {
        throw StoreError(.internalInconsistency, "The store gave \(ids.count) IDs for \(group.count) objects.", operation: "obtain IDs")
      }
      for (object, id) in zip(group, ids) { adopt(id, for: object) }
    }
  }

  /// The reference of an object as it is saved: of a new object its permanent one.
  func savedReference(_ reference: ObjectReference) -> ObjectReference {
    reference.key < 0 ? permanentIDs[reference]?.reference ?? reference : reference
  }

  private func makeRequests(_ work: SaveWork) throws -> [(PersistentStore, SaveChangesRequest)] {
    var builders: [UInt32: SaveRequestBuilder] = [:]
    var order: [UInt32] = []
    func builder(_ object: ManagedObject) -> SaveRequestBuilder {
      let space = object.currentID.space
      if let known = builders[space] { return known }
      let made = SaveRequestBuilder(context: self, insertedCount: work.inserted.count)
      builders[space] = made
      order.append(space)
      return made
    }
    for object in work.inserted { builder(object).insert(object) }
    for object in work.updated { builder(object).update(object) }
    for object in work.deleted { builder(object).delete(object) }
    for object in work.locked { builder(object).lock(object) }
    return try order.map { space in
      guard let store = coordinator.store(numbered: space), let request = try builders[space]?.finish() else {
        throw StoreError(.storeNotFound, "The store of a changed object is not open any more.", operation: "save")
      }
      return (store, request)
    }
  }

  /// The stores have everything: objects take their new rows, deleted ones leave.
  private func finish(_ work: SaveWork, requests: [(PersistentStore, SaveChangesRequest)]) {
    var insertedIndex: [UInt32: Int] = [:]
    let requestsBySpace = Dictionary(requests.map { ($0.0.space.number, $0.1) }, uniquingKeysWith: { first, _ in first })
    for object in work.inserted {
      let space = object.currentID.space
      let index = insertedIndex[space, default: 0]
      insertedIndex[space] = index + 1
      if let request = requestsBySpace[space] { object.takeSavedRow(request.inserted[index]) }
    }
    for (store, request) in requests {
      for update in request.updated {
        registeredObject(update.row.reference, space: store.space.number)?.takeSavedRow(update.row)
      }
    }
    for object in work.updated { object.takeSavedRow(nil) }
    unitOfWork.removeAll()
    // Every reference to an object that was new has been replaced.
    permanentIDs.removeAll()
    for object in work.deleted {
      if mayBeMember(object) { goneReferences.insert(object.currentID.reference) }
      object.flags.subtract([.isDeleted, .isUpdated, .isInserted])
      object.flags.insert(.isGone)
      detach(object)
    }
    for object in work.inserted + work.updated { object.didSave() }
    for object in work.deleted { object.didSave() }
    notifications.postDidSave(work, in: self)
    for (store, request) in requests {
      coordinator.publish {
        func ids(_ references: some Sequence<ObjectReference>) -> [ManagedObjectID] {
          references.map { ManagedObjectID(space: store.space.number, entityNumber: UInt32($0.entity), key: $0.key) }
        }
        return ChangeSet(
          storeIdentifier: store.identifier, inserted: ids(request.inserted.map(\.reference)),
          updated: ids(request.updated.map(\.row.reference)),
          deleted: ids(request.deleted.map(\.reference)), contextName: name, transactionAuthor: transactionAuthor)
      }
    }
  }
}

/// The objects of one save.
struct SaveWork {
  let inserted: [ManagedObject]
  let updated: [ManagedObject]
  let deleted: [ManagedObject]
  let locked: [ManagedObject]

  init(context: ManagedObjectContext) {
    inserted = context.unitOfWork.inserted.filter(\.isInserted)
    updated = context.unitOfWork.updated.filter(\.isUpdated)
    deleted = context.unitOfWork.deleted.filter { $0.isDeleted && !$0.flags.contains(.isInserted) }
    locked = context.unitOfWork.locked.filter { !$0.hasChanges }
  }
}

extension ManagedObject {
  /// The object was saved: its values are those of the row (nil keeps the row it has), and nothing is changed any more.
  final func takeSavedRow(_ row: RowImage?) {
    if let row { image = row }
    if let overlay {
      let entity = compiledEntity
      self.overlay = nil
      if entity.hasTransientSlots {
        // Transient values live on until the object becomes a fault.
        for slot in entity.slots where slot.isTransient && overlay.present.contains(slot.index) {
          let kept = overlayForWriting()
          kept.values[slot.index] = overlay.values[slot.index]
          kept.present.insert(slot.index)
        }
      }
    }
    if let toManyStates, let context = managedObjectContext {
      for state in toManyStates { state?.commit(replacing: context.savedReference) }
    }
    flags.subtract([.isInserted, .isUpdated])
    updatePlainRow()
  }
}
