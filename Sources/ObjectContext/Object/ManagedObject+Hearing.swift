// ManagedObject+Hearing: what is told of a write before it is done, in contexts that want to hear of it.
import ObjectModel
import ObjectStore

extension ManagedObject {
  /// Whether somebody is to hear of each write before it is done: then none is done in place.
  @inline(__always) final var hearsWrites: Bool {
    // The context takes this back before it goes.
    contextReference?._withUnsafeGuaranteedRef(\.hearsWrites) ?? false
  }

  /// A slot is about to be set, by a change that counts as one.
  @inline(__always) final func hearWrite(at slot: Int) {
    // The context takes this back before it goes, and nothing here calls out.
    contextReference?._withUnsafeGuaranteedRef { context in
      if context.hearsWrites { tell(context, ofWriteAt: slot) }
    }
  }

  @inline(never) private final func tell(_ context: ManagedObjectContext, ofWriteAt slot: Int) {
    guard let undo = context.recorder, undo.records(valueOf: self, at: slot, isChanged: overlay?.isChangedInEvent(slot) ?? false)
    else { return }
    if let external = externalAtHand(slot) { return undo.record(external, of: self, at: slot) }
    // What cannot be read cannot be brought back either: the slot has no value after the change was undone.
    let isCleanTransient =
      askEntity(\.hasTransientSlots) && compiledEntity.slots[slot].isTransient && !flags.contains(.isInserted)
      && !(overlay?.isDirty(slot) ?? false)
    undo.record((try? readSlotValueAtHand(slot)) ?? .null, of: self, at: slot, isCleanTransient ? .wasClean : [])
  }

  /// The large value of a slot, if it has one that is not read.
  private final func externalAtHand(_ slot: Int) -> ExternalData? {
    if let overlay, overlay.has(slot) { return overlay.external(slot) }
    guard let row, RowImage.mayHaveExternals(row, at: askEntity(\.largeSlots)) else { return nil }
    return RowImage(heldRow: row).external(slot)
  }

  /// Sets a number that is heard of, where the object is read from its overlay and takes words: what there was is a word too. False where more is to be
  /// looked at.
  final func setHeardWord(of value: Slot, _ word: Int64, at slot: Int) -> Bool {
    guard let overlay, let row = plainRow, slot >= 0, slot < RowImage.slotCount(row), overlay.takesWords,
      flags.isDisjoint(with: [.isFault, .isInaccessible, .isGone, .isAwaking, .isPartial, .isBatchRow]), let contextReference
    else { return false }
    // The context takes this back before it goes, and nothing here calls out.
    return contextReference._withUnsafeGuaranteedRef { context in
      guard let undo = context.recorder else { return false }
      undo.recordNumber(overlay.number(at: slot, as: value), of: self, at: slot, isChanged: overlay.isChangedInEvent(slot))
      writeWord(word, at: slot)
      noteChange()
      return true
    }
  }
}
