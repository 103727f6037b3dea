import ObjectModel
import ObjectStore

extension ManagedObject {
  /// Whether the context records each write before it happens. Objects then do not write in place.
  @inline(__always) final var recordsWrites: Bool {
    // The context clears this reference before it is deallocated.
    contextReference?._withUnsafeGuaranteedRef(\.recordsWrites) ?? false
  }

  /// Records the value of a slot for undo, before a change sets the slot.
  @inline(__always) final func recordWrite(at slot: Int) {
    // The context clears this reference before it is deallocated, and the closure calls no external code.
    contextReference?._withUnsafeGuaranteedRef { context in
      if context.recordsWrites { recordUndo(context, ofWriteAt: slot) }
    }
  }

  @inline(never) private final func recordUndo(_ context: ManagedObjectContext, ofWriteAt slot: Int) {
    guard let undo = context.recorder, undo.records(valueOf: self, at: slot, isChanged: overlay?.isChangedInEvent(slot) ?? false)
    else { return }
    if let external = unreadExternal(slot) { return undo.record(external, of: self, at: slot) }
    // An unreadable value cannot be restored: after undo, the slot is null.
    let isCleanTransient =
      withEntity(\.hasTransientSlots) && compiledEntity.slots[slot].isTransient && !flags.contains(.isInserted)
      && !(overlay?.isDirty(slot) ?? false)
    undo.record((try? loadedSlotValue(slot)) ?? .null, of: self, at: slot, isCleanTransient ? .wasClean : [])
  }

  /// Returns the large value of a slot without reading its bytes; nil if it has none.
  private final func unreadExternal(_ slot: Int) -> ExternalData? {
    if let overlay, overlay.has(slot) { return overlay.external(slot) }
    guard let row, RowImage.mayHaveExternals(row, at: withEntity(\.largeSlots)) else { return nil }
    return RowImage(heldRow: row).external(slot)
  }

  /// Records and sets a number if the overlay stores it as a word. Returns false if the general path is needed.
  final func setRecordedWord(of value: Slot, _ word: Int64, at slot: Int) -> Bool {
    guard let overlay, let row = directRow, slot >= 0, slot < RowImage.slotCount(row), overlay.acceptsWords,
      flags.isDisjoint(with: [.isFault, .isInaccessible, .isRemoved, .isAwakening, .isPartial, .isBatchRow]), let contextReference
    else { return false }
    // The context clears this reference before it is deallocated, and the closure calls no external code.
    return contextReference._withUnsafeGuaranteedRef { context in
      guard let undo = context.recorder else { return false }
      undo.recordNumber(overlay.number(at: slot, as: value), of: self, at: slot, isChanged: overlay.isChangedInEvent(slot))
      writeWord(word, at: slot)
      recordChange()
      return true
    }
  }
}
