// ContextParent: a context as those that are nested in it see it: the stores' rows below its unsaved changes.
import ObjectModel
import ObjectQuery
import ObjectStore

/// What nested contexts read of a context, and where they save to. It holds the context.
///
/// Nobody but the context itself knows its objects by temporary IDs: whatever is read here has a permanent one, from the keys that the store has reserved.
final class ContextParent: ParentSource {
  let context: ManagedObjectContext
  /// How many objects had been inserted into the context when all of them had permanent IDs.
  private var numberedCount = 0

  init(_ context: ManagedObjectContext) { self.context = context }

  var source: RowSource { context.rowSource }

  var hasChanges: Bool { !context.unitOfWork.isEmpty || context.rowSource.readsUnsavedRows }

  func noteNested(_ number: UInt64, isThere: Bool) {
    context.intake.noteNested(number, isThere: isThere)
  }

  func mergeWaitingChanges() { context.mergeWaitingChanges() }

  var wake: (@Sendable () -> Void)? { context.wake }

  // MARK: IDs

  /// Gives permanent IDs to all new objects.
  private func numberNewObjects() throws {
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

  /// The reference that others know an object by; null for one that has got no ID.
  private func known(_ reference: ObjectReference) -> ObjectReference {
    let saved = context.registry.savedReference(reference)
    return saved.key < 0 ? ObjectReference(rawValue: 0) : saved
  }

  // MARK: Rows

  /// The context's object with unsaved changes.
  private func changedObject(_ reference: ObjectReference, in store: PersistentStore) -> ManagedObject? {
    if context.unitOfWork.isEmpty { return nil }
    // Where there are no IDs to be had, the save says why.
    try? numberNewObjects()
    guard let object = context.registeredObject(reference, space: store.space.number), object.hasChanges else { return nil }
    return object
  }

  func unsavedRow(_ reference: ObjectReference, in store: PersistentStore) -> UnsavedRow? {
    guard let object = changedObject(reference, in: store) else {
      return context.rowSource.unsavedRow(reference, in: store)
    }
    if object.flags.contains(.isDeleted) { return .gone }
    if object.overlay == nil, !object.flags.contains(.isInserted) {
      // Nothing but members was changed. What it has is what it shows.
      return object.flags.contains(.isFault) ? context.rowSource.unsavedRow(reference, in: store) : object.image.map { .row($0) }
    }
    return .row(object.presentRow(key: object.currentID.key, version: UnsavedRow.version, known: known))
  }

  func isGone(_ reference: ObjectReference, in store: PersistentStore) -> Bool {
    if !context.unitOfWork.deleted.isEmpty,
      context.registeredObject(reference, space: store.space.number)?.flags.contains(.isDeleted) ?? false
    {
      return true
    }
    return context.rowSource.parent?.isGone(reference, in: store) ?? false
  }

  // MARK: Members

  func unsavedMembers(
    of relationship: CompiledRelationship, for reference: ObjectReference, in store: PersistentStore
  ) throws -> [ObjectReference]? {
    guard let object = changedObject(reference, in: store),
      object.flags.contains(.isInserted) || object.toManyStates[relationship.index]?.isChanged ?? false,
      let state = object.loadedState(relationship.index)
    else { return try context.rowSource.parent?.unsavedMembers(of: relationship, for: reference, in: store) }
    return state.members.filter { context.isLiving($0, near: object) }.map(known).filter { !$0.isNull }
  }

  // MARK: Fetches

  func unsavedAnswer(to specification: FetchSpecification, from store: PersistentStore) throws -> PersistentStoreResult? {
    context.settleChanges()
    try numberNewObjects()
    var asked = specification
    asked.affectedStores = [store.identifier]
    if asked.resultType != .count { asked.resultType = .objectIDs }
    let plan = try FetchMergePlan(asked, context: context)
    guard plan.hasRelevantChanges else { return try context.rowSource.unsavedAnswer(to: specification, from: store) }
    return asked.resultType == .count ? .count(try context.count(of: plan)) : .objectIDs(try context.objectIDs(of: plan))
  }

  // MARK: Saves

  func save(_ request: SaveChangesRequest, to store: PersistentStore, scope: RequestScope) throws -> SaveOutcome {
    var push = NestedSave(request, to: store, in: context)
    try push.run()
    context.tellNested(ChangeSet(request, SaveOutcome(), of: store, scope: scope), except: scope.origin)
    return SaveOutcome()
  }
}
