// Overlay: the values of an object that differ from its row.
import ObjectModel
import ObjectStore

/// The values that were set on an object since its row was read or saved, and its transient values.
final class Overlay {
  /// The values, by slot; only those in `present` count. Plain memory: an array's own header and checks were a quarter of a first write.
  private let slots: UnsafeMutablePointer<Slot>
  private let slotCount: Int
  /// Large values that are not read yet, by slot; what `slots` has in their place does not count.
  private var externals: [Int: ExternalData]?
  // A context's isolation admits one access at a time, and no call under an access comes back here; the checks cost as much as the write.
  /// The slots that have a value here.
  @exclusivity(unchecked) final var present = SlotMask()
  /// The slots set since the last save: what ``ManagedObject/changedValues()`` reports.
  @exclusivity(unchecked) final var dirty = SlotMask()
  /// The slots set since changes were last processed.
  @exclusivity(unchecked) final var changedInEvent = SlotMask()
  /// The slots that the store computes, which nobody sets.
  final let derived: SlotMask
  #if CIPHERDATA_CHECKS
    private let kinds: [SlotKind]
  #endif

  init(of entity: CompiledEntity) {
    slotCount = entity.slots.count
    #if CIPHERDATA_CHECKS
      kinds = entity.slots.map(\.kind)
    #endif
    var derived = SlotMask()
    if entity.hasDerivedSlots { for slot in entity.slots where slot.isDerived { derived.insert(slot.index) } }
    self.derived = derived
    slots = .allocate(capacity: slotCount)
    slots.initialize(repeating: .null, count: slotCount)
  }

  deinit {
    slots.deinitialize(count: slotCount)
    slots.deallocate()
  }

  /// The values by slot. Reading a large one reads all of it, and gives null when that fails: ask `external(_:)` first where that matters.
  subscript(slot: Int) -> Slot {
    get {
      if let externals, let external = externals[slot] { return (try? external.data()).map(Slot.bytes) ?? .null }
      return slots[slot]
    }
    set {
      slots[slot] = newValue
      if externals != nil { externals?[slot] = nil }
    }
  }

  /// The large value of a slot that is not read yet.
  func external(_ slot: Int) -> ExternalData? { externals?[slot] }

  /// Sets a large value as a change.
  func setExternal(_ value: ExternalData, at slot: Int) {
    set(.null, at: slot)
    externals = externals ?? [:]
    externals?[slot] = value
  }

  /// Sets a value that is no change.
  func keep(_ value: Slot, at slot: Int) {
    #if CIPHERDATA_CHECKS
      checkInvariant(slot >= 0 && slot < slotCount, "the entity has no slot \(slot)")
    #endif
    self[slot] = value
    present.insert(slot)
    noteChange()
  }

  /// Sets a value that is no change by itself, but is saved when the object is.
  func setQuietly(_ value: Slot, at slot: Int) {
    keep(value, at: slot)
    dirty.insert(slot)
    noteChange()
  }

  /// Sets a value as a change.
  func set(_ value: Slot, at slot: Int) {
    // A slot of another model would write beside the memory of the values.
    precondition(slot >= 0 && slot < slotCount, "the entity has no such slot; generate the typed classes anew")
    self[slot] = value
    present.insert(slot)
    dirty.insert(slot)
    changedInEvent.insert(slot)
    noteChange()
  }

  @inline(__always) private func noteChange() {
    #if CIPHERDATA_CHECKS
      _checkInvariants()
    #endif
  }
}

#if CIPHERDATA_CHECKS
  extension Overlay {
    /// What is to be saved or was changed is here, what is not here is null, values are of their slot's kind, and unread large ones have no bytes.
    func _checkInvariants() {
      for slot in 0..<slotCount {
        let value = slots[slot]
        if !present.contains(slot) {
          checkInvariant(!dirty.contains(slot) && !changedInEvent.contains(slot), "slot \(slot) was changed and is not here")
          checkInvariant(value == .null, "slot \(slot) has a value and is not here")
        }
        let isOfItsKind =
          switch (value, kinds[slot]) {
          case (.null, _), (_, .none), (.int, .int), (.int, .reference), (.real, .real), (.text, .text), (.bytes, .bytes): true
          default: false
          }
        checkInvariant(isOfItsKind, "slot \(slot), of the kind \(kinds[slot]), has \(value)")
        if externals?[slot] != nil {
          let hasNoOther = present.contains(slot) && value == .null && kinds[slot] == .bytes
          checkInvariant(hasNoOther, "slot \(slot) has a large value and another one")
        }
      }
    }
  }
#endif
