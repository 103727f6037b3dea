// ObjectSnapshot+Slots: the values of a snapshot by slot, below typed properties and access by key.
import Foundation
import ObjectModel
import ObjectStore

extension ObjectSnapshot {
  /// The slot of a number; nil where a snapshot has no such value.
  func slot(_ index: Int) -> CompiledSlot? {
    guard entity.slots.indices.contains(index), entity.slots[index].kind != .none else { return nil }
    return entity.slots[index]
  }

  /// The value of a slot that there is. A large one is read.
  ///
  /// - Throws: ``StoreError`` where it cannot be read.
  func stored(_ index: Int) throws -> Slot {
    switch changes[index] {
    case nil: try row.value(index, of: entity, objectID)
    case .slot(let value)?: value
    case .external(let value)?: .bytes(try value.data())
    case .object(let id)?: .int(id.reference.rawValue)
    }
  }

  /// Whether a slot that there is has a value, which may be one that cannot be read.
  func hasValue(_ index: Int) -> Bool {
    if let change = changes[index] { return change != .slot(.null) }
    return !row.isNull(index) || row.isUnreadable(index)
  }

  /// The large value of a slot that there is, which is not read; nil where there is none.
  func external(_ index: Int) -> ExternalData? {
    switch changes[index] {
    case nil: row.isNull(index) ? nil : row.external(index) ?? ExternalData(Data(row.bytes(index)))
    case .external(let value)?: value
    case .slot(.bytes(let bytes))?: ExternalData(bytes)
    default: nil
    }
  }

  /// The destination of a to-one relationship.
  func destination(_ index: Int) -> ManagedObjectID? {
    guard let change = changes[index] else { return destination(row.reference(index)) }
    if case .object(let id) = change { return id }
    return nil
  }

  private func destination(_ reference: ObjectReference) -> ManagedObjectID? {
    if reference.isNull { return nil }
    var space = base.objectID.space
    if reference.key < 0, let own = ObjectIDSpace.space(space) {
      // An object that was not saved when the snapshot was taken.
      space = ObjectIDSpace.register(storeIdentifier: nil, model: own.model).number
    }
    return ManagedObjectID(space: space, entityNumber: UInt32(truncatingIfNeeded: reference.entity), key: reference.key)
  }

  // MARK: Setting

  /// Sets a value, and notes it. What the store computes cannot be set.
  mutating func set(_ value: SnapshotValue, at index: Int) {
    guard let slot = slot(index) else { return }
    if slot.isDerived { return fail(derivedError(slot)) }
    changes[index] = value
  }

  /// Keeps an error that could not be thrown: applying the snapshot throws it.
  mutating func fail(_ error: KeyValueError) {
    if failures.isEmpty { failures.append(error) }
  }

  func derivedError(_ slot: CompiledSlot) -> KeyValueError {
    KeyValueError(.readOnly, key: slot.name, entityName: entityName, detail: "its value is derived, by the store")
  }
}
