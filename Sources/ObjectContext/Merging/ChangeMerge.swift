import ObjectModel
public import ObjectStore

/// The merge of one change set into a context. It accesses only the objects in the change set and the owners of the links in it.
struct ChangeMerge {
  private let changes: ChangeSet
  private let store: PersistentStore
  private let context: ManagedObjectContext
  private var space: UInt32 { store.space.number }
  /// The to-many relationships whose members were unloaded, by object, for the context's observers.
  private var touched: [ManagedObject: SlotMask] = [:]
  private let isObserved: Bool

  init(_ changes: ChangeSet, of store: PersistentStore, into context: ManagedObjectContext) {
    self.changes = changes
    self.store = store
    self.context = context
    isObserved = !context.eventObservers.isEmpty
  }

  mutating func run() {
    context.recorder?.suspend()
    context.rowSource.forgetRows(changedBy: changes, in: store)
    let objectsToDelete = registered(changes.deleted)
    let kept = Set(objectsToDelete.filter(keepsAfterDeletion))
    let deleted = kept.isEmpty ? objectsToDelete : objectsToDelete.filter { !kept.contains($0) }
    var unsaved = MergeOverrides()
    for object in deleted { unsaved.recordDiscarded(object) }
    var updated: [ManagedObject] = []
    var slots: [SlotMask?] = []
    for (position, objectID) in changes.updated.enumerated() {
      guard let object = context.registeredObject(objectID.reference, space: space) else { continue }
      updated.append(object)
      slots.append(changes.updatedSlots[position])
    }
    let computed = registered(changes.refreshed)
    let filled = filledObjects(besides: updated + computed + deleted)
    removeDeleted(deleted, keeping: kept)
    unsaved.begin(updated)
    context.markRestored(changes.inserted)
    unloadListedMembers()
    unloadUnlistedMembers()
    context.refresh(zip(updated, slots).compactMap { $1?.isEmpty ?? false ? nil : $0 }, in: store, unloadsMembers: false)
    for (object, slots) in zip(updated, slots) where slots?.isEmpty ?? false { object.recordRefreshedMembers() }
    context.refresh(computed, in: store, keepsVersions: true)
    context.refresh(filled.map(\.object), in: store, unloadsMembers: false)
    unsaved.end()
    context.recorder?.resume()
    notifyObservers(deleted, updated, slots, computed, filled, unsaved)
    context.notifications.postMerged(
      inserted: changes.inserted, refreshed: updated + computed + filled.map(\.object), deleted: deleted, unsaved: unsaved, in: context)
  }

  private func registered(_ objectIDs: [ManagedObjectID]) -> [ManagedObject] {
    objectIDs.compactMap { context.registeredObject($0.reference, space: space) }
  }

  /// Returns the registered objects whose slots the change set lists for all objects of their entity.
  private func filledObjects(besides others: @autoclosure () -> [ManagedObject]) -> [(object: ManagedObject, slots: SlotMask)] {
    if changes.filled.isEmpty { return [] }
    let slots = Dictionary(uniqueKeysWithValues: changes.filled.map { ($0.entity, $0.slots) })
    let others = Set(others())
    var found: [(object: ManagedObject, slots: SlotMask)] = []
    context.registry.forEach { object in
      guard let slots = slots[object.compiledEntity.number], object.currentID.space == space, !object.flags.contains(.isInserted),
        !others.contains(object)
      else { return }
      found.append((object, slots))
    }
    return found
  }

  /// Returns whether an object with unsaved changes remains although its row was deleted elsewhere: the merge policy gives its changes
  /// precedence, and the save inserts the row again.
  private func keepsAfterDeletion(_ object: ManagedObject) -> Bool {
    // The values of an object that was never read are lost with the row.
    guard object.flags.contains(.isUpdated), !object.flags.contains(.isDeleted), object.row != nil else { return false }
    if context.changeReceiver.retainsChangedObjects { return true }
    return context.mergePolicy.type(for: object.compiledEntity, in: context.model).rules.keepsRow(deletedBy: .theirs) ?? false
  }

  /// Removes objects whose rows were deleted elsewhere from the context.
  private func removeDeleted(_ objects: [ManagedObject], keeping kept: Set<ManagedObject>) {
    // Recorded before the objects leave. Of the other rows, only members stored in join tables are recorded.
    let removedIDs = kept.isEmpty ? changes.deleted : changes.deleted.filter { id in !kept.contains { $0.currentID == id } }
    context.membershipTracker.markRemovedFromJoins(removedIDs, excluding: changes.unlistedRelationships)
    if !objects.isEmpty { context.unitOfWork.remove(objects) }
    for object in objects {
      context.membershipTracker.markRemoved(object.currentID)
      object.flags.subtract([.isDeleted, .isUpdated])
      object.flags.insert(.isRemoved)
      context.detach(object)
    }
    for object in kept { object.flags.insert(.outlivesRow) }
    context.discardRemovedMembers()
    context.forgetLinks(of: kept)
    context.clearUnsavedLinks(to: removedIDs, in: space)
  }

  // MARK: Members

  /// Unloads the members of relationships whose owners the change set lists, so that they are read again on demand.
  private mutating func unloadListedMembers() {
    var owners: [(object: ManagedObject, state: ToManyState)] = []
    var last: RelationshipOwner?
    changes.forEachOwner(in: context.model, isIncluded: { context.membershipTracker.mayHaveState(of: $0) }) { owner in
      // Members of the same owner are adjacent.
      if owner == last { return }
      last = owner
      let index = context.model.relationships[owner.relationshipID].index
      guard let object = context.registeredObject(owner.object, space: space), let state = object.toManyStates[index]
      else { return }
      owners.append((object, state))
    }
    for (object, state) in owners { unload(state, of: object) }
  }

  /// Unloads all members of relationships for which the change set does not list the owners.
  private mutating func unloadUnlistedMembers() {
    let relationships = changes.unlistedRelationships.filter { context.membershipTracker.mayHaveState(of: context.model.relationships[$0]) }
    if relationships.isEmpty { return }
    var owners: [(object: ManagedObject, state: ToManyState)] = []
    context.registry.forEach { object in
      for state in object.toManyStates where relationships.contains(state.relationship.id) {
        owners.append((object, state))
      }
    }
    for (object, state) in owners { unload(state, of: object) }
  }

  private mutating func unload(_ state: ToManyState, of object: ManagedObject) {
    state.unload()
    if isObserved { touched[object, default: SlotMask()].insert(state.relationship.index) }
  }

  // MARK: Notification

  private func notifyObservers(
    _ deleted: [ManagedObject], _ updated: [ManagedObject], _ slots: [SlotMask?], _ computed: [ManagedObject],
    _ filled: [(object: ManagedObject, slots: SlotMask)], _ unsaved: MergeOverrides
  ) {
    context.notifyObservers {
      var event = ContextEvent(.merged)
      event.overridden = unsaved.overridden
      event.insertedIDs = changes.inserted
      event.merged = changes
      event.deleted = deleted
      var rest = touched
      for (object, slots) in zip(updated, slots) {
        event.refreshed.append(ContextEvent.Change(object, slots: slots, toMany: rest.removeValue(forKey: object) ?? SlotMask()))
      }
      for object in computed {
        let slots = object.compiledEntity.derivedSlots
        event.refreshed.append(ContextEvent.Change(object, slots: slots, toMany: rest.removeValue(forKey: object) ?? SlotMask()))
      }
      for (object, slots) in filled {
        event.refreshed.append(ContextEvent.Change(object, slots: slots, toMany: rest.removeValue(forKey: object) ?? SlotMask()))
      }
      for (object, toMany) in rest { event.refreshed.append(ContextEvent.Change(object, slots: SlotMask(), toMany: toMany)) }
      return event
    }
  }
}

// MARK: - Merging changes

extension ManagedObjectContext {
  /// Whether the context automatically merges changes that other contexts of the coordinator save, and changes of batch requests. The
  /// default is `false`.
  ///
  /// A nested context merges the changes that its parent merges or saves, and those that other contexts save to the parent.
  ///
  /// Changes are merged when the context next fetches, saves, performs a closure or processes its changes. The container's view context and
  /// the context of a ``ContextActor``, including contexts nested in them, merge as soon as the main actor or the context's actor is free.
  public var automaticallyMergesChangesFromParent: Bool {
    get { changeReceiver.isOpen }
    set { if newValue { changeReceiver.open(rowSource) } else { changeReceiver.close() } }
  }

  /// Merges changes that another context or a batch request has made.
  ///
  /// Updated objects receive their new rows, and their unsaved changes take precedence over them. Deleted objects leave the context, and
  /// their unsaved changes are discarded unless the merge policy gives unsaved changes precedence over the store. To-many relationships
  /// that gained or lost members are read again on demand.
  ///
  /// One notification, ``didChangeObjectsNotification``, reports the merge. It contains refreshed and deleted objects, and the IDs of
  /// inserted objects; `notification.managedObjects(.insertedObjects)` creates objects for these. A context that is pinned to a query
  /// generation moves to the newest one.
  public func mergeChanges(from changes: ChangeSet) {
    guard !changes.isEmpty, let store = rowSource.stores.first(where: { $0.identifier == changes.storeIdentifier }) else { return }
    // The change set does not say what has changed.
    if changes.isWhole {
      // Another process has written to the store, so cached rows may be stale.
      if changes.source == nil { rowSource.forgetAllRows() }
      // Objects that had left the parent may exist again.
      if rowSource.parent != nil { membershipTracker.discardRemoved() }
      refreshAllObjects()
    } else {
      recordInPlaceMutations()
      rowSource.advance()
      var merge = ChangeMerge(changes, of: store, into: self)
      merge.run()
    }
    notifyNested(changes)
    finishNotifying()
  }

  /// Merges the changes that wait.
  package func mergeWaitingChanges() {
    rowSource.parent?.mergeWaitingChanges()
    guard let waiting = changeReceiver.take() else { return }
    switch waiting {
    case .changes(let changes): for change in changes { mergeChanges(from: change) }
    case .everything: refreshAllObjects()
    }
  }

  /// Unloads the stored members of relationships that lead to some entities.
  func unloadMembers(ofEntities entities: Set<Int>) {
    guard let touched = membershipTracker.relationships(toEntities: entities) else { return }
    registry.forEach { object in
      for state in object.toManyStates where touched[state.relationship.id] { state.unload() }
    }
  }

  /// Replaces the rows of objects by new ones. Rows that are not cached are read with one request.
  ///
  /// - Parameters:
  ///   - keepsVersions: Whether only values computed by the store have changed, which does not change a row's version.
  ///   - unloadsMembers: Whether the members of to-many relationships are unloaded too, because it is unknown which have changed.
  func refresh(_ objects: [ManagedObject], in store: PersistentStore, keepsVersions: Bool = false, unloadsMembers: Bool = true) {
    var read: [ManagedObject] = []
    for object in objects {
      if object.flags.contains(.isFault) {
        // A fault reads its row when it fires.
        object.discardPartialRow()
        object.image = nil
        object.discardPartialRow()
      } else if let row = rowSource.loadedRow(object.currentID.reference, in: store), let image = object.image,
        row.version > image.version || row.version == UnsavedRow.version || keepsVersions && row.version == image.version
      {
        if keepsVersions { object.takeComputedRow(row) } else { object.setRefreshedRow(row, unloadsMembers: unloadsMembers) }
      } else {
        read.append(object)
      }
    }
    guard !read.isEmpty else { return }
    do {
      let fresh = try rowSource.rows(of: read.map(\.currentID), in: store, isInterruptible: false)
      let found = Dictionary(fresh.map { ($0.reference, $0) }, uniquingKeysWith: { first, _ in first })
      for object in read { object.setRefreshedRow(found[object.currentID.reference], unloadsMembers: unloadsMembers) }
    } catch {
      record(error)
    }
  }
}
