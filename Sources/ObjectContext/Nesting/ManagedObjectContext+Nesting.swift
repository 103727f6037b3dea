// ManagedObjectContext+Nesting: contexts over other contexts.

extension ManagedObjectContext {
  /// Makes a context over another one: what it saves are unsaved changes of that one.
  ///
  /// ```swift
  /// let draft = ManagedObjectContext(parent: container.viewContext)
  /// let book = try draft.existingObject(with: id)
  /// try book.setValue("Ulysses", forKey: "title")  // the parent shows the former title
  /// try draft.save()                               // now it shows this one, unsaved
  /// try container.viewContext.save()               // and now it is stored
  /// ```
  ///
  /// The context lives in its parent's isolation, and holds its parent. Its fetches, counts, faults and relationships show the parent's unsaved changes;
  /// dictionaries show what is stored, as ever, and derived attributes what was computed by the last save to a store. An object of the parent that was never
  /// saved has a permanent ID as soon as a nested context comes upon it, as has a new object that a nested context saves; ``ManagedObject/isInserted`` tells
  /// whether an object is new.
  ///
  /// ``save()`` validates, and then changes the parent's objects: properties that were changed here win, the others stay as the parent has them. Where the
  /// parent has deleted an object that was changed here, the ``mergePolicy`` of this context decides. The parent's observers hear of one event. ``rollback()``,
  /// ``refresh(_:mergeChanges:)`` and ``reset()`` concern this context alone. Contexts may be nested to any depth.
  ///
  /// With ``automaticallyMergesChangesFromParent`` the context merges what its parent merges and saves, and what others save to its parent, at its next event.
  ///
  /// - Parameters:
  ///   - parent: The context that saves go to. Its coordinator and classes are those of the new one.
  ///   - mergePolicy: How saves deal with objects that the parent has deleted.
  public convenience init(parent: ManagedObjectContext, mergePolicy: MergePolicy = .error) {
    self.init(
      parent.persistentStoreCoordinator, parent: ContextParent(parent), classes: parent.classes, mergePolicy: mergePolicy)
  }

  /// The context that saves go to; nil for a context that saves to the stores.
  public var parent: ManagedObjectContext? { (rowSource.parent as? ContextParent)?.context }
}
