// Overlay: the values of an object that differ from its row.
import ObjectModel
import ObjectStore

/// The values that were set on an object since its row was read or saved, and its transient values.
final class Overlay {
  /// The values, by slot; only those in `present` count.
  @exclusivity(unchecked) final var values: ContiguousArray<Slot>
  /// The slots that have a value here.
  @exclusivity(unchecked) final var present = SlotMask()
  /// The slots set since the last save: what ``ManagedObject/changedValues()`` reports.
  @exclusivity(unchecked) final var dirty = SlotMask()
  /// The slots set since changes were last processed.
  @exclusivity(unchecked) final var changedInEvent = SlotMask()

  init(slotCount: Int) {
    values = ContiguousArray(repeating: .null, count: slotCount)
  }

  /// Sets a value that is no change.
  func keep(_ value: Slot, at slot: Int) {
    values[slot] = value
    present.insert(slot)
  }

  /// Sets a value as a change.
  func set(_ value: Slot, at slot: Int) {
    values[slot] = value
    present.insert(slot)
    dirty.insert(slot)
    changedInEvent.insert(slot)
  }
}
