// ManagedObjectContext+Merge: changes that were made elsewhere come into a context.
import ObjectModel
public import ObjectStore

extension ManagedObjectContext {
  /// Whether what other contexts of the coordinator save, and what batch requests change, is merged into this one by itself; false unless set.
  ///
  /// Of a context that is nested in another one it is what that one merges and saves, and what other contexts save to it.
  ///
  /// It is merged when the context next fetches, saves, performs work or processes its changes; into the container's view context, into the
  /// context of a ``ContextActor``, and what these merge so into those nested in them, as soon as the main actor or the actor is free.
  public var automaticallyMergesChangesFromParent: Bool {
    get { intake.isOpen }
    set { if newValue { intake.open(rowSource) } else { intake.close() } }
  }

  /// Brings the context in step with changes that a save of another context, or a batch request, has made.
  ///
  /// Objects that were updated take their new rows, below their unsaved changes, which win; deleted ones leave the context, with their unsaved changes;
  /// to-many relationships that members have left or reached are read anew when they are asked for. One notification, ``didChangeObjectsNotification``, tells
  /// of the merge. It has refreshed and deleted objects as objects and inserted ones by their IDs; `notification.managedObjects(.insertedObjects)` makes
  /// objects of these. A context that is pinned to a query generation goes on to the newest one.
  public func mergeChanges(from changes: ChangeSet) {
    guard !changes.isEmpty, let store = rowSource.stores.first(where: { $0.identifier == changes.storeIdentifier }) else { return }
    // Nobody knows what it was.
    if changes.isWhole {
      // Others have written past the rows that are at hand.
      if changes.source == nil { rowSource.forgetAllRows() }
      // What had left a parent may be there again.
      if rowSource.parent != nil { memberStates.forgetGone() }
      refreshAllObjects()
    } else {
      noticeChangesInPlace()
      rowSource.advance()
      var merge = ChangeMerge(changes, of: store, into: self)
      merge.run()
    }
    tellNested(changes)
    endTelling()
  }

  /// Merges what waits.
  func mergeWaitingChanges() {
    rowSource.parent?.mergeWaitingChanges()
    guard let waiting = intake.take() else { return }
    switch waiting {
    case .changes(let changes): for change in changes { mergeChanges(from: change) }
    case .everything: refreshAllObjects()
    }
  }

  /// Forgets the stored members of relationships that lead to objects of some entities.
  func unloadMembers(ofEntities entities: Set<Int>) {
    guard let touched = memberStates.relationships(toEntities: entities) else { return }
    registry.forEach { object in
      for state in object.toManyStates where touched[state.relationship.id] { state.unload() }
    }
  }

  /// Objects take their new rows, those that are not at hand all at once.
  ///
  /// - Parameters:
  ///   - keepsVersions: Whether only values were changed that the store computes, which leave a row's version as it is.
  ///   - unloadsMembers: Whether the members of to-many relationships are read anew too: where nobody knows which were changed.
  func refresh(_ objects: [ManagedObject], in store: PersistentStore, keepsVersions: Bool = false, unloadsMembers: Bool = true) {
    var read: [ManagedObject] = []
    for object in objects {
      if object.flags.contains(.isFault) {
        // It gets its row when it is asked for.
        object.forgetPartialRow()
        object.image = nil
        object.forgetPartialRow()
      } else if let row = rowSource.knownRow(object.currentID.reference, in: store), let image = object.image,
        row.version > image.version || row.version == UnsavedRow.version || keepsVersions && row.version == image.version
      {
        if keepsVersions { object.takeComputedRow(row) } else { object.takeFreshRow(row, unloadsMembers: unloadsMembers) }
      } else {
        read.append(object)
      }
    }
    guard !read.isEmpty else { return }
    do {
      let fresh = try rowSource.rows(of: read.map(\.currentID), in: store, isInterruptible: false)
      let found = Dictionary(fresh.map { ($0.reference, $0) }, uniquingKeysWith: { first, _ in first })
      for object in read { object.takeFreshRow(found[object.currentID.reference], unloadsMembers: unloadsMembers) }
    } catch {
      note(error)
    }
  }
}
