import Foundation
import ObjectModel
import ObjectStore

extension ObjectSnapshot {
  /// Returns the slot with an index; nil if snapshots have no such value.
  func slot(_ index: Int) -> CompiledSlot? {
    guard entity.slots.indices.contains(index), entity.slots[index].kind != .none else { return nil }
    return entity.slots[index]
  }

  /// Returns the value of an existing slot. Reads a large value.
  ///
  /// - Throws: ``StoreError`` if the value cannot be read.
  func stored(_ index: Int) throws -> Slot {
    switch changes[index] {
    case nil: try row.value(index, of: entity, objectID)
    case .slot(let value)?: value
    case .external(let value)?: .bytes(try value.data())
    case .object(let id)?: .int(id.reference.rawValue)
    }
  }

  /// Returns whether an existing slot has a value, including an unreadable one.
  func hasValue(_ index: Int) -> Bool {
    if let change = changes[index] { return change != .slot(.null) }
    return !row.isNull(index) || row.isUnreadable(index)
  }

  /// Returns the large value of an existing slot without reading it; nil if it is null.
  func external(_ index: Int) -> ExternalData? {
    switch changes[index] {
    case nil: row.isNull(index) ? nil : row.external(index) ?? ExternalData(Data(row.bytes(index)))
    case .external(let value)?: value
    case .slot(.bytes(let bytes))?: ExternalData(bytes)
    default: nil
    }
  }

  func destination(_ index: Int) -> ManagedObjectID? {
    guard let change = changes[index] else { return destination(row.reference(index)) }
    if case .object(let id) = change { return id }
    return nil
  }

  private func destination(_ reference: ObjectReference) -> ManagedObjectID? {
    if reference.isNull { return nil }
    var space = base.objectID.space
    if reference.key < 0, let own = ObjectIDSpace.space(space) {
      // The destination was unsaved when the snapshot was taken.
      space = ObjectIDSpace.register(storeIdentifier: nil, model: own.model).number
    }
    return ManagedObjectID(space: space, entityNumber: UInt32(truncatingIfNeeded: reference.entity), key: reference.key)
  }

  // MARK: Setting

  /// Sets a value and marks it as changed. Records an error for a derived attribute.
  mutating func set(_ value: SnapshotValue, at index: Int) {
    guard let slot = slot(index) else { return }
    if slot.isDerived { return fail(derivedError(slot)) }
    changes[index] = value
  }

  /// Records the first error of a setter that cannot throw. Applying the snapshot throws it.
  mutating func fail(_ error: KeyValueError) {
    if failures.isEmpty { failures.append(error) }
  }

  func derivedError(_ slot: CompiledSlot) -> KeyValueError {
    KeyValueError(.readOnly, key: slot.name, entityName: entityName, detail: "its value is derived, by the store")
  }
}
