// NestedContexts: the contexts that are nested in one, and what they are told of it.
import ObjectModel
import ObjectStore

/// The contexts that are nested in one, by their numbers. They hold their parent, and it does not hold them.
struct NestedContexts {
  private var numbers: [UInt64] = []

  var isEmpty: Bool { numbers.isEmpty }

  mutating func insert(_ number: UInt64) { numbers.append(number) }
  mutating func remove(_ number: UInt64) { numbers.removeAll { $0 == number } }

  var contexts: [ManagedObjectContext] { numbers.compactMap(LivingContexts.context) }
}

extension ManagedObjectContext {
  /// Something was changed in this context beneath those that are nested in it: those that merge by themselves do so at their next event.
  ///
  /// - Parameter origin: The number of the context that has made the changes.
  func tellNested(_ changes: @autoclosure () -> ChangeSet, except origin: UInt64 = 0) {
    if !intake.hasNested { return }
    var told: ChangeSet?
    for context in intake.nestedContexts() where context.number != origin && context.intake.isOpen {
      let set = told ?? changes()
      told = set
      context.intake.add(set)
    }
  }

  /// Unsaved changes were given up, which nested contexts may have seen.
  func tellNestedOfEverything() {
    if !intake.hasNested { return }
    // What has left this context may be there again.
    for context in intake.nestedContexts() { context.askForGoneRowsAnew() }
    for store in rowSource.stores { tellNested(ChangeSet(wholeOf: store)) }
  }

  /// The changes of this context were saved.
  ///
  /// What nested contexts have of the objects is no older than what was saved, or is to be: their own changes conflict with nobody's.
  func tellNested(ofSaved work: SaveWork, _ parts: [(store: PersistentStore, request: SaveChangesRequest, outcome: SaveOutcome)]) {
    forgetVersionsBelow(of: work)
    for part in parts {
      tellNested(ChangeSet(part.request, part.outcome, of: part.store, scope: rowSource.scope(for: part.store)))
    }
  }
}

extension ManagedObjectContext {
  /// Merges what waits for the context and for those that are nested in it, and ends the events of those that are to end by themselves: where nothing else
  /// goes on in their isolation.
  func doWaitingWorkOfAll() {
    if unitOfWork.hasBeginningObservers { processPendingChanges() } else { mergeWaitingChanges() }
    for context in intake.nestedContexts() { context.doWaitingWorkOfAll() }
  }

  /// Brings the context to what waits to be done, from any thread; nil where nobody knows its isolation.
  var wake: (@Sendable () -> Void)? { intake.wake ?? rowSource.parent?.wake }

  private func forgetVersionsBelow(of work: SaveWork) {
    for context in intake.nestedContexts() {
      work.forEachChanged { object in
        context.registry.object(object.ownReference, space: object.ownSpace)?.forgetVersion()
      }
      context.forgetVersionsBelow(of: work)
    }
  }

  /// While its row was gone, others have forgotten that they were to lose the object: nothing is removed there any more.
  private func takeBackLostRemovals(of object: ManagedObject) {
    for state in object.toManyStates where !state.removed.isEmpty {
      guard let inverse = tables.inverse(of: state.relationship), inverse.isToMany else { continue }
      for reference in state.removed {
        let other = registeredObject(reference, near: object)?.toManyStates[inverse.index]
        if !(other?.removed.contains(object.ownReference) ?? false) { object.addMember(reference, at: state.relationship.index) }
      }
    }
  }

  /// Whether rows that were gone are there is asked anew.
  fileprivate func askForGoneRowsAnew() {
    recorder?.suspend()
    defer { recorder?.resume() }
    memberStates.forgetGone()
    let gone = unitOfWork.deleted.filter { $0.flags.contains(.isInaccessible) }
    unitOfWork.takeBackDeletions(of: gone)
    for object in gone {
      object.flags.remove(.isInaccessible)
      object.flags.insert(.isFault)
      takeBackLostRemovals(of: object)
    }
    for context in intake.nestedContexts() { context.askForGoneRowsAnew() }
  }
}

extension ManagedObject {
  /// The object's row is of a version that others have gone on from, with the object's own context.
  fileprivate final func forgetVersion() {
    guard let image, image.version != UnsavedRow.version else { return }
    let former = overlay
    if former == nil, flags.contains(.isFault) {
      // It is read anew.
      self.image = nil
      return
    }
    let entity = compiledEntity
    let writer = RowWriter(rowCapacity: 1)
    writer.beginRow(entityNumber: image.entityNumber, slotCount: image.slotCount, key: image.key, version: UnsavedRow.version)
    for slot in entity.slots where slot.kind != .none { writer.copy(slot.index, kind: slot.kind, from: image) }
    self.image = writer.endRow()
    updatePlainRow()
  }
}
