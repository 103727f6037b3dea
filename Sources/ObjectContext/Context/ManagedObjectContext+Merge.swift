// ManagedObjectContext+Merge: changes that were made elsewhere come into a context.
import ObjectModel
public import ObjectStore

extension ManagedObjectContext {
  /// Brings the context in step with changes that a save of another context, or a batch request, has made.
  ///
  /// Objects that were updated take their new rows, below their unsaved changes, which win; deleted ones leave the context, with their unsaved changes;
  /// to-many relationships are read anew when they are asked for. One notification ``didChangeObjectsNotification`` tells of it: refreshed and deleted
  /// objects are in it as objects, inserted ones by their IDs, of which `notification.managedObjects(.insertedObjects)` makes objects for who wants them.
  public func mergeChanges(from changes: ChangeSet) {
    guard !changes.isEmpty,
      let store = rowSource.stores.first(where: { $0.identifier == changes.storeIdentifier })
    else { return }
    noticeChangesInPlace()
    let space = store.space.number
    rowSource.forgetRows(changedBy: changes, in: store)
    let deleted = changes.deleted.compactMap { registeredObject($0.reference, space: space) }
    let updated = changes.updated.compactMap { registeredObject($0.reference, space: space) }
    let computed = changes.refreshed.compactMap { registeredObject($0.reference, space: space) }
    removeDeleted(deleted)
    unloadMembers(touchedBy: changes)
    refresh(updated, in: store)
    refresh(computed, in: store, keepsVersions: true)
    notifications.postMerged(inserted: changes.inserted, refreshed: updated + computed, deleted: deleted, in: self)
  }

  /// Merges what waits in the inbox.
  func mergeWaitingChanges() {
    guard let waiting = inbox?.take() else { return }
    switch waiting {
    case .changes(let changes): for change in changes { mergeChanges(from: change) }
    case .everything: refreshAllObjects()
    }
  }

  /// Objects whose rows others have deleted leave.
  private func removeDeleted(_ objects: [ManagedObject]) {
    guard !objects.isEmpty else { return }
    unitOfWork.remove(objects)
    for object in objects {
      memberStates.noteGone(object.currentID)
      object.flags.subtract([.isDeleted, .isUpdated])
      object.flags.insert(.isGone)
      detach(object)
    }
    forgetGoneMembers()
  }

  /// Forgets the stored members of relationships that may lead to changed objects: which owner a row has left is not known here.
  private func unloadMembers(touchedBy changes: ChangeSet) {
    var entities: Set<Int> = []
    for list in [changes.inserted, changes.updated, changes.deleted] {
      var last: UInt32?
      for id in list where id.entityNumber != last {
        last = id.entityNumber
        entities.insert(Int(id.entityNumber))
      }
    }
    unloadMembers(ofEntities: entities)
  }

  /// Forgets the stored members of relationships that lead to objects of some entities.
  func unloadMembers(ofEntities entities: Set<Int>) {
    guard let touched = memberStates.relationships(toEntities: entities) else { return }
    registry.forEach { object in
      for case let state? in object.toManyStates ?? [] where touched[state.relationship.id] { state.unload() }
    }
  }

  /// Objects take their new rows, those that are not at hand all at once.
  ///
  /// - Parameter keepsVersions: Whether only values were changed that the store computes, which leave a row's version as it is.
  func refresh(_ objects: [ManagedObject], in store: PersistentStore, keepsVersions: Bool = false) {
    var read: [ManagedObject] = []
    for object in objects {
      if object.flags.contains(.isFault) {
        // It gets its row when it is asked for.
        object.forgetPartialRow()
        object.image = nil
        object.forgetPartialRow()
      } else if let row = rowSource.knownRow(object.currentID.reference, in: store), let image = object.image,
        row.version > image.version || keepsVersions && row.version == image.version
      {
        if keepsVersions { object.takeComputedRow(row) } else { object.takeFreshRow(row) }
      } else {
        read.append(object)
      }
    }
    guard !read.isEmpty else { return }
    do {
      let fresh = try rowSource.rows(of: read.map(\.currentID), in: store, isInterruptible: false)
      let found = Dictionary(fresh.map { ($0.reference, $0) }, uniquingKeysWith: { first, _ in first })
      for object in read { object.takeFreshRow(found[object.currentID.reference]) }
    } catch {
      note(error)
    }
  }
}
