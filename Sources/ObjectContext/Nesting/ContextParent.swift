import ObjectModel
import ObjectQuery
import ObjectStore

/// The parent of nested contexts: its unsaved changes over the stores' rows, and the target of their saves. It retains the parent context.
///
/// Temporary IDs are valid only in the context that assigned them. Every object returned from here has a permanent ID, taken from the keys
/// that the store has reserved.
final class ContextParent: ParentSource {
  let context: ManagedObjectContext
  /// The number of objects inserted into the context when permanent IDs were last assigned to all of them.
  private var numberedCount = 0

  init(_ context: ManagedObjectContext) { self.context = context }

  var source: RowSource { context.rowSource }

  var hasChanges: Bool { !context.unitOfWork.isEmpty || context.rowSource.readsUnsavedRows }

  func registerNested(_ number: UInt64, isOpen: Bool) {
    context.changeReceiver.registerNested(number, isOpen: isOpen)
  }

  func mergeWaitingChanges() { context.mergeWaitingChanges() }

  var scheduleMerge: (@Sendable () -> Void)? { context.scheduleMerge }

  // MARK: IDs

  private func assignPermanentIDs() throws {
    let count = context.unitOfWork.insertionCount
    if count == numberedCount { return }
    try context.obtainPermanentIDs(for: context.unitOfWork.inserted.filter { $0.currentID.isTemporaryID && $0.isInserted })
    numberedCount = count
  }

  func permanentID(of objectID: ManagedObjectID) throws -> ManagedObjectID? {
    guard let object = context.registeredObject(for: objectID) else { return try context.rowSource.parent?.permanentID(of: objectID) }
    try context.obtainPermanentIDs(for: [object])
    return object.currentID.isTemporaryID ? nil : object.currentID
  }

  /// Returns the reference of an object outside of this context; null if the object has no permanent ID.
  private func known(_ reference: ObjectReference) -> ObjectReference {
    let saved = context.registry.savedReference(reference)
    return saved.key < 0 ? ObjectReference(rawValue: 0) : saved
  }

  // MARK: Rows

  /// Returns the context's object for a reference if it has unsaved changes.
  private func changedObject(_ reference: ObjectReference, in store: PersistentStore) -> ManagedObject? {
    if context.unitOfWork.isEmpty { return nil }
    // If no IDs are available, the save reports the error.
    try? assignPermanentIDs()
    guard let object = context.registeredObject(reference, space: store.space.number), object.hasChanges else { return nil }
    return object
  }

  func unsavedRow(_ reference: ObjectReference, in store: PersistentStore) -> UnsavedRow? {
    guard let object = changedObject(reference, in: store) else {
      return context.rowSource.unsavedRow(reference, in: store)
    }
    if object.flags.contains(.isDeleted) { return .deleted }
    if object.overlay == nil, !object.flags.contains(.isInserted) {
      // Only to-many members have changed, so the object's row is current.
      return object.flags.contains(.isFault) ? context.rowSource.unsavedRow(reference, in: store) : object.image.map { .row($0) }
    }
    return .row(object.presentRow(key: object.currentID.key, version: UnsavedRow.version, known: known))
  }

  func isRemoved(_ reference: ObjectReference, in store: PersistentStore) -> Bool {
    if !context.unitOfWork.deleted.isEmpty,
      context.registeredObject(reference, space: store.space.number)?.flags.contains(.isDeleted) ?? false
    {
      return true
    }
    return context.rowSource.parent?.isRemoved(reference, in: store) ?? false
  }

  // MARK: Members

  func unsavedMembers(
    of relationship: CompiledRelationship, for reference: ObjectReference, in store: PersistentStore
  ) throws -> [ObjectReference]? {
    guard let object = changedObject(reference, in: store),
      object.flags.contains(.isInserted) || object.toManyStates[relationship.index]?.isChanged ?? false,
      let state = object.loadedState(relationship.index)
    else { return try context.rowSource.parent?.unsavedMembers(of: relationship, for: reference, in: store) }
    return state.members.filter { context.exists($0, near: object) }.map(known).filter { !$0.isNull }
  }

  // MARK: Fetches

  func unsavedResult(to specification: FetchSpecification, from store: PersistentStore) throws -> PersistentStoreResult? {
    context.settleChanges()
    try assignPermanentIDs()
    var specificationOfStore = specification
    specificationOfStore.affectedStores = [store.identifier]
    if specificationOfStore.resultType != .count { specificationOfStore.resultType = .objectIDs }
    let plan = try FetchMergePlan(specificationOfStore, context: context)
    guard plan.hasRelevantChanges else { return try context.rowSource.unsavedResult(to: specification, from: store) }
    return specificationOfStore.resultType == .count ? .count(try context.count(of: plan)) : .objectIDs(try context.objectIDs(of: plan))
  }

  // MARK: Saves

  func save(_ request: SaveChangesRequest, to store: PersistentStore, scope: RequestScope) throws -> SaveOutcome {
    var push = NestedSave(request, to: store, in: context)
    try push.run()
    context.notifyNested(ChangeSet(request, SaveOutcome(), of: store, scope: scope), except: scope.origin)
    return SaveOutcome()
  }
}

// MARK: - Nested contexts

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
