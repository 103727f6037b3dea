// ManagedObject+Writing: whether an object can be written to, and where it is told that a write cannot be kept.
import ObjectModel
import ObjectStore

extension ManagedObject {
  /// Gets ready for a write. False when what is written would be lost: nothing is to be changed then, and the context knows why.
  ///
  /// - Parameter slot: The slot; nil for a to-many relationship.
  @inline(__always) final func prepareToWrite(_ slot: Int?) -> Bool {
    if contextReference != nil, flags.isDisjoint(with: [.isFault, .isInaccessible, .isGone]) { return true }
    do {
      try checkWritable(slot)
      return true
    } catch {
      tell(error)
      return false
    }
  }

  /// Throws when what is written to the object would be lost. Fires a fault, unless it is for a to-many relationship.
  final func checkWritable(_ slot: Int?) throws {
    // One that was made without a context is written to before it has one.
    if contextReference == nil, flags.contains(.isInserted), !flags.contains(.isGone) { return }
    if contextReference == nil || flags.contains(.isGone) {
      throw lostWrite(.inNoContext)
    }
    if slot != nil, flags.contains(.isFault), !fireFault(trigger: slot), !flags.contains(.isInaccessible) {
      throw managedObjectContext?.pendingError ?? lostWrite(.unreadable)
    }
    if flags.contains(.isInaccessible) { throw lostWrite(.deleted) }
  }

  private final func lostWrite(_ why: StoreError.LostChange) -> StoreError {
    return StoreError(.lostChange(objectID, why), operation: .setValue)
  }

  /// Keeps an error for the next save, in the object's context or the one that it has left.
  final func tell(_ error: any Error) {
    if let context = managedObjectContext { return context.note(error) }
    // There is nobody to tell when the context is gone as well; key-value access throws even then.
    if flags.contains(.isGone) { LivingContexts.context(formerContextNumber)?.note(error) }
  }

  /// A relationship was set where there is no context.
  final func refuseRelationship() {
    if flags.contains(.isGone) || !flags.contains(.isInserted) { _ = prepareToWrite(nil) } else { flags.insert(.hasLostRelationship) }
  }

  /// Throws when a property is not the application's to set.
  final func checkSettable(_ slot: CompiledSlot) throws(KeyValueError) {
    if slot.isDerived { throw derivedError(slot) }
  }

  final func derivedError(_ slot: CompiledSlot) -> KeyValueError {
    KeyValueError(.readOnly, key: slot.name, entityName: compiledEntity.name, detail: "its value is derived, by the store")
  }

  // MARK: The context that an object was in

  /// The number of the context that an object that is gone was in.
  ///
  /// It stands where living objects have their fetch group: objects that are gone have none.
  final var formerContextNumber: UInt64 {
    get { UInt64(groupPosition) << 32 | UInt64(group) }
    set { (group, groupPosition) = (UInt32(truncatingIfNeeded: newValue), UInt32(truncatingIfNeeded: newValue >> 32)) }
  }
}
