extension ManagedObjectContext {
  /// Creates a context nested in another context. Its saves become unsaved changes of that parent context.
  ///
  /// ```swift
  /// let draft = ManagedObjectContext(parent: container.viewContext)
  /// let book = try draft.existingObject(with: id)
  /// try book.setValue("Ulysses", forKey: "title")  // the parent shows the former title
  /// try draft.save()                               // now it shows this one, unsaved
  /// try container.viewContext.save()               // and now it is stored
  /// ```
  ///
  /// The context belongs to its parent's isolation and retains its parent. Its fetches, counts, faults, and relationships include the
  /// parent's unsaved changes. Dictionary results contain stored values only, as always, and derived attributes have the values computed by
  /// the last save to a store. The parent's unsaved new objects receive permanent IDs as soon as a nested context accesses them, and so do
  /// new objects saved by a nested context; use ``ManagedObject/isInserted`` to find out whether an object is new.
  ///
  /// ``save()`` validates the changes and then applies them to the parent's objects: properties changed here win, and others keep the
  /// parent's values. If the parent has deleted an object that was changed here, the ``mergePolicy`` of this context decides. The parent's
  /// observers receive one event. ``rollback()``, ``refresh(_:mergeChanges:)``, and ``reset()`` affect this context only. Contexts can be
  /// nested to any depth.
  ///
  /// With ``automaticallyMergesChangesFromParent``, the context merges, at its next event, the changes that its parent merges or saves, and
  /// those that other contexts save to its parent.
  ///
  /// - Parameters:
  ///   - parent: The context that receives saves. The new context has the same coordinator and classes.
  ///   - mergePolicy: The policy for objects that the parent has deleted.
  public convenience init(parent: ManagedObjectContext, mergePolicy: MergePolicy = .error) {
    self.init(
      parent.persistentStoreCoordinator, parent: ContextParent(parent), classes: parent.classes, mergePolicy: mergePolicy)
  }

  /// The context that receives this context's saves; nil for a context that saves to the stores.
  public var parent: ManagedObjectContext? { (rowSource.parent as? ContextParent)?.context }
}
