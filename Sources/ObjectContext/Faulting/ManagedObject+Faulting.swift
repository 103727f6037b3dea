import ObjectModel
import ObjectStore

extension ManagedObject {
  /// Loads the object's row if it is a fault. Returns `false` if the row was deleted or could not be read; the object then reads as empty.
  @discardableResult
  final func fireFault(trigger: Int?) -> Bool {
    guard flags.contains(.isFault) else { return !flags.contains(.isInaccessible) }
    guard let contextReference else {
      // A fault without a context stays empty. Property reads cannot throw, so a notice is logged.
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

  /// Fires a fault whose row is in memory and can be read directly, which applies to nearly all fetched objects. Returns `false` if the
  /// slow path is required or the object is not a fault.
  @inline(__always) final func firesAtHand() -> Bool {
    guard flags.firesAtHand, overlay == nil, row != nil, let contextReference,
      !contextReference._withUnsafeGuaranteedRef({ $0.entityClasses.needsWorkWhenFired(entity: Int(entityNumber)) })
    else { return false }
    awake { showRow() }
    return true
  }

  /// Ends the fault state of an object whose row is loaded, and calls `awakeFromFetch()`.
  ///
  /// - Parameter show: Lets reads access the row.
  @inline(__always) private final func awake(_ show: () -> Void) {
    flags = flags.subtracting(.isFault).union(.isAwaking)
    show()
    awakeFromFetch()
    flags.remove(.isAwaking)
  }

  /// Replaces the object's row by one that was read again, and keeps the object's changes. `nil` means that the row was deleted.
  ///
  /// - Parameter unloadsMembers: Whether the members of to-many relationships are unloaded too.
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

  /// Keeps the unsaved destinations of to-one relationships, and the inverses, after the row was changed elsewhere.
  private func keepOwners(over row: RowImage) {
    guard let overlay, let context = managedObjectContext else { return }
    for slot in askEntity(\.referenceSlots) where overlay.isDirty(slot) {
      let stored = row.reference(slot)
      guard let own = referenceValueAtHand(slot), own != stored, let relationship = compiledEntity.slots[slot].relationship,
        let inverse = context.tables.inverse(of: relationship)
      else { continue }
      if !stored.isNull {
        // The owner's members may have been loaded before they included the object.
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

  /// Reports that members of to-many relationships, but not the row, were changed elsewhere.
  final func noteRefreshedMembers() {
    managedObjectContext?.fetchedProperties.forget(self)
    if !flags.contains(.isFault) { awake(fromSnapshotEvents: .refresh) }
  }

  /// Makes the object a fault: values and changes are dropped, and the row is read again on demand.
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

  /// Drops the states of relationships, except for changes that belong to the members' to-one inverses.
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
