// ManagedObject+Faulting: how a fault gets its values, and an object becomes a fault again.
import ObjectModel
import ObjectStore

extension ManagedObject {
  /// Gets the object's row if it is a fault. False when the row is gone or could not be read; the object then reads as empty.
  @discardableResult
  final func fireFault(trigger: Int?) -> Bool {
    guard flags.contains(.isFault) else { return !flags.contains(.isInaccessible) }
    guard let contextReference else {
      // A fault whose context is gone stays empty, and a property cannot throw.
      if row == nil, !flags.contains(.isGone) { LostContextNotice.tell(entityName: compiledEntity.name) }
      return row != nil
    }
    if row == nil, !contextReference._withUnsafeGuaranteedRef({ $0.readRow(of: self, trigger: trigger) }) {
      if flags.contains(.isInaccessible) { forgetPartialRow() }
      return false
    }
    forgetPartialRow()
    let number = Int(currentID.entityNumber)
    let needsWork = contextReference._withUnsafeGuaranteedRef { $0.entityClasses.needsWorkWhenFired(entity: number) }
    awake {
      if needsWork {
        setTransientDefaults()
        updatePlainRow()
      } else if overlay == nil, flags.showsRow {
        showRow()
      }
    }
    return true
  }

  /// Fires a fault whose row is at hand and goes straight to its readers, as nearly every one that was fetched. False where there is more to do, or nothing.
  @inline(__always) final func firesAtHand() -> Bool {
    guard flags.firesAtHand, overlay == nil, row != nil, let contextReference,
      !contextReference._withUnsafeGuaranteedRef({ $0.entityClasses.needsWorkWhenFired(entity: Int(entityNumber)) })
    else { return false }
    awake { showRow() }
    return true
  }

  /// A fault that has its row is none from now on.
  ///
  /// - Parameter show: Lets reads go to the row.
  @inline(__always) private final func awake(_ show: () -> Void) {
    flags = flags.subtracting(.isFault).union(.isAwaking)
    show()
    awakeFromFetch()
    flags.remove(.isAwaking)
  }

  /// Puts a row that was read anew below the object's changes; nil when it is gone.
  ///
  /// - Parameter unloadsMembers: Whether the members of to-many relationships are read anew too.
  final func takeFreshRow(_ row: RowImage?, unloadsMembers: Bool = true) {
    managedObjectContext?.fetchedProperties.forget(self)
    forgetPartialRow()
    if unloadsMembers || row == nil { for state in toManyStates { state.unload() } }
    image = row
    if row == nil { flags.insert(.isFault) }
    updatePlainRow()
    if let row { keepOwners(over: row) }
    if row == nil {
      fireFault(trigger: nil)
    } else if !flags.contains(.isFault) {
      awake(fromSnapshotEvents: .refresh)
    }
  }

  /// The unsaved ends of to-one relationships stay as they are over a row that others have written; so do the other ends.
  private func keepOwners(over row: RowImage) {
    guard let overlay, let context = managedObjectContext else { return }
    for slot in askEntity(\.referenceSlots) where overlay.isDirty(slot) {
      let stored = row.reference(slot)
      guard let own = referenceValueAtHand(slot), own != stored, let relationship = compiledEntity.slots[slot].relationship,
        let inverse = context.tables.inverse(of: relationship)
      else { continue }
      if !stored.isNull {
        // What was read of the owner's members before may lack the object.
        if inverse.isToMany { context.object(stored, near: self)?.toManyStates[inverse.index]?.unload() }
        context.removeFromInverse(inverse, owner: stored, member: self)
      }
      guard let destination = own.isNull ? nil : context.object(own, near: self) else { continue }
      if inverse.isToMany {
        destination.toManyStates[inverse.index]?.unload()
        destination.addMember(self, to: inverse)
      } else if destination.referenceValue(inverse.index).isNull {
        destination.setReference(currentID.reference, at: inverse.index)
      }
    }
  }

  /// Others have changed members of to-many relationships, and nothing of the row.
  final func noteRefreshedMembers() {
    managedObjectContext?.fetchedProperties.forget(self)
    if !flags.contains(.isFault) { awake(fromSnapshotEvents: .refresh) }
  }

  /// Makes the object a fault: values and changes are dropped, and read anew when they are asked for.
  final func turnIntoFault() {
    willTurnIntoFault()
    managedObjectContext?.fetchedProperties.forget(self)
    managedObjectContext?.handedOut.remove(self)
    hideRow()
    image = nil
    setOverlay(nil)
    flags.remove(.isPartial)
    keepStatesOfOthersChanges()
    flags.insert(.isFault)
    flags.remove(.isInaccessible)
    didTurnIntoFault()
  }

  /// Drops the states of relationships, but those that members' own changes have put there or taken away: they are not this object's to drop.
  private func keepStatesOfOthersChanges() {
    if toManyStates.isEmpty { return }
    let model = managedObjectContext?.model
    toManyStates.filter { state in
      guard state.isChanged, let inverse = model?.inverse(of: state.relationship), !inverse.isToMany else { return false }
      state.unload(keepingOrder: false)
      return state.isChanged
    }
  }
}
