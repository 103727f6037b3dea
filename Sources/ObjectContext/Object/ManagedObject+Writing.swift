import ObjectModel
import ObjectStore

extension ManagedObject {
  /// Prepares the object for a write. If the write would be lost, records the error and returns false.
  ///
  /// - Parameter slot: The slot; nil for a to-many relationship.
  @inline(__always) final func prepareToWrite(_ slot: Int?) -> Bool {
    if contextReference != nil, flags.isDisjoint(with: [.isFault, .isInaccessible, .isRemoved]) { return true }
    do {
      try checkWritable(slot)
      return true
    } catch {
      reportError(error)
      return false
    }
  }

  /// Throws if a write to the object would be lost. Fires a fault, unless the write is to a to-many relationship.
  final func checkWritable(_ slot: Int?) throws {
    // An object created without a context can be written to before its insertion.
    if contextReference == nil, flags.contains(.isInserted), !flags.contains(.isRemoved) { return }
    if contextReference == nil || flags.contains(.isRemoved) {
      throw rejectedWrite(.inNoContext)
    }
    if slot != nil, flags.contains(.isFault), !fireFault(trigger: slot), !flags.contains(.isInaccessible) {
      throw managedObjectContext?.pendingError ?? rejectedWrite(.unreadable)
    }
    if flags.contains(.isInaccessible) { throw rejectedWrite(.deleted) }
  }

  private final func rejectedWrite(_ why: StoreError.Reason.LostChange) -> StoreError {
    return StoreError(.lostChange(objectID, why), operation: .setValue)
  }

  /// Records an error in the object's context, or in the one that it has left. The next save throws it.
  final func reportError(_ error: any Error) {
    if let context = managedObjectContext { return context.record(error) }
    // If the context no longer exists, the error is dropped here. Key-value access throws it in any case.
    if flags.contains(.isRemoved) { ContextRegistry.context(previousContextNumber)?.record(error) }
  }

  /// Records an attempt to set a relationship of an object without a context.
  final func rejectRelationship() {
    if flags.contains(.isRemoved) || !flags.contains(.isInserted) {
      _ = prepareToWrite(nil)
    } else {
      flags.insert(.hasRejectedRelationship)
    }
  }

  /// Throws if applications cannot set the property.
  final func checkSettable(_ slot: CompiledSlot) throws(KeyValueError) {
    if slot.isDerived { throw derivedError(slot) }
  }

  final func derivedError(_ slot: CompiledSlot) -> KeyValueError {
    KeyValueError(.readOnly, key: slot.name, entityName: compiledEntity.name, detail: "its value is derived, by the store")
  }

  // MARK: Former context

  /// The number of the context that the object has left. Shares storage with the fetch group, which only objects in a context have.
  final var previousContextNumber: UInt64 {
    get { UInt64(groupPosition) << 32 | UInt64(group) }
    set { (group, groupPosition) = (UInt32(truncatingIfNeeded: newValue), UInt32(truncatingIfNeeded: newValue >> 32)) }
  }
}

extension StoreError.Reason {
  /// The reason why a change cannot be saved. The raw value continues the object's name.
  enum LostChange: String {
    case inNoContext = "which no longer belongs to a context: its deletion was saved, or the context was reset"
    case unreadable = "whose values cannot be read"
    case deleted = "whose row was deleted"
  }

  static func lostChange(_ id: ManagedObjectID, _ why: LostChange) -> Self {
    Self(
      .objectNotFound, "A change cannot be saved: it was made to the object \(id.uriString), \(why.rawValue). Fetch the object again.",
      object: id)
  }
}
