import ObjectModel
public import ObjectStore

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
