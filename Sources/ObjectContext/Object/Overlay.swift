// Overlay: the values of an object that differ from its row.
import ObjectModel
import ObjectStore

/// The values that were set on an object since its row was read or saved, and its transient values.
final class Overlay {
  /// The values, by slot; only those in `present` count. Plain memory: an array's own header and checks were a quarter of a first write.
  let values: UnsafeMutablePointer<Slot>
  private let slotCount: Int
  /// The slots that have a value here.
  @exclusivity(unchecked) final var present = SlotMask()
  /// The slots set since the last save: what ``ManagedObject/changedValues()`` reports.
  @exclusivity(unchecked) final var dirty = SlotMask()
  /// The slots set since changes were last processed.
  @exclusivity(unchecked) final var changedInEvent = SlotMask()

  init(slotCount: Int) {
    self.slotCount = slotCount
    values = .allocate(capacity: slotCount)
    values.initialize(repeating: .null, count: slotCount)
  }

  deinit {
    values.deinitialize(count: slotCount)
    values.deallocate()
  }

  /// Sets a value that is no change.
  func keep(_ value: Slot, at slot: Int) {
    values[slot] = value
    present.insert(slot)
  }

  /// Sets a value as a change.
  func set(_ value: Slot, at slot: Int) {
    precondition(slot >= 0 && slot < slotCount, "the entity has no such slot; generate the typed classes anew")
    values[slot] = value
    present.insert(slot)
    dirty.insert(slot)
    changedInEvent.insert(slot)
  }
}
