import ObjectModel
import ObjectStore

extension ManagedObject {
  /// Loads the object's row if it is a fault. Returns `false` if the row was deleted or could not be read; the object then reads as empty.
  @discardableResult
  final func fireFault(trigger: Int?) -> Bool {
    guard flags.contains(.isFault) else { return !flags.contains(.isInaccessible) }
    guard let contextReference else {
      // A fault without a context stays empty. Property reads cannot throw, so a notice is logged.
      if row == nil, !flags.contains(.isRemoved) { MissingContextWarning.log(entityName: compiledEntity.name) }
      return row != nil
    }
    if row == nil, !contextReference._withUnsafeGuaranteedRef({ $0.readRow(of: self, trigger: trigger) }) {
      if flags.contains(.isInaccessible) { discardPartialRow() }
      return false
    }
    discardPartialRow()
    let number = Int(currentID.entityNumber)
    let needsWork = contextReference._withUnsafeGuaranteedRef { $0.entityClasses.needsWorkWhenFired(entity: number) }
    awake {
      if needsWork {
        setTransientDefaults()
        updateDirectRow()
      } else if overlay == nil, flags.exposesRow {
        showRow()
      }
    }
    return true
  }

  /// Fires a fault whose row is in memory and can be read directly, which applies to nearly all fetched objects. Returns `false` if the
  /// slow path is required or the object is not a fault.
  @inline(__always) final func firesInMemory() -> Bool {
    guard flags.firesInMemory, overlay == nil, row != nil, let contextReference,
      !contextReference._withUnsafeGuaranteedRef({ $0.entityClasses.needsWorkWhenFired(entity: Int(entityNumber)) })
    else { return false }
    awake { showRow() }
    return true
  }

  /// Ends the fault state of an object whose row is loaded, and calls `awakeFromFetch()`.
  ///
  /// - Parameter show: Lets reads access the row.
  @inline(__always) private final func awake(_ show: () -> Void) {
    flags = flags.subtracting(.isFault).union(.isAwakening)
    show()
    awakeFromFetch()
    flags.remove(.isAwakening)
  }

  /// Replaces the object's row by one that was read again, and keeps the object's changes. `nil` means that the row was deleted.
  ///
  /// - Parameter unloadsMembers: Whether the members of to-many relationships are unloaded too.
  final func setRefreshedRow(_ row: RowImage?, unloadsMembers: Bool = true) {
    managedObjectContext?.fetchedProperties.forget(self)
    discardPartialRow()
    if unloadsMembers || row == nil { for state in toManyStates { state.unload() } }
    image = row
    if row == nil { flags.insert(.isFault) }
    updateDirectRow()
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
    for slot in withEntity(\.referenceSlots) where overlay.isDirty(slot) {
      let stored = row.reference(slot)
      guard let own = loadedReference(slot), own != stored, let relationship = compiledEntity.slots[slot].relationship,
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
  final func recordRefreshedMembers() {
    managedObjectContext?.fetchedProperties.forget(self)
    if !flags.contains(.isFault) { awake(fromSnapshotEvents: .refresh) }
  }

  /// Makes the object a fault: values and changes are dropped, and the row is read again on demand.
  final func turnIntoFault() {
    willTurnIntoFault()
    managedObjectContext?.fetchedProperties.forget(self)
    managedObjectContext?.mutableValues.remove(self)
    hideRow()
    image = nil
    setOverlay(nil)
    flags.remove(.isPartial)
    keepStatesWithOtherChanges()
    flags.insert(.isFault)
    flags.remove(.isInaccessible)
    didTurnIntoFault()
  }

  /// Drops the states of relationships, except for changes that belong to the members' to-one inverses.
  private func keepStatesWithOtherChanges() {
    if toManyStates.isEmpty { return }
    let model = managedObjectContext?.model
    toManyStates.filter { state in
      guard state.isChanged, let inverse = model?.inverse(of: state.relationship), !inverse.isToMany else { return false }
      state.unload(keepingOrder: false)
      return state.isChanged
    }
  }
}
