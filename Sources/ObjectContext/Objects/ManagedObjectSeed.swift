import ObjectModel
import ObjectStore

/// The values that a context passes to a managed object's initializer. Only contexts create seeds.
public struct ManagedObjectSeed {
  let objectID: ManagedObjectID
  // Objects do not retain their context. The context exists during the initialization.
  let context: Unmanaged<ManagedObjectContext>?
  let image: RowImage?
  let flags: ObjectFlags
}

extension ManagedObjectSeed {
  /// Creates the seed of an object that has no context and no values.
  init(invalidObjectOf objectID: ManagedObjectID) {
    self.init(objectID: objectID, context: nil, image: nil, flags: [.isInaccessible, .isRemoved])
  }

  /// Creates the seed of a new object.
  init(newObjectOf entity: CompiledEntity, in context: ManagedObjectContext) {
    self.init(newObject: context.makeTemporaryID(entity), in: context)
  }

  /// Creates the seed of a new object that already has an ID.
  init(newObject objectID: ManagedObjectID, in context: ManagedObjectContext) {
    self.init(objectID: objectID, context: Unmanaged.passUnretained(context), image: nil, flags: .newObject)  // the caller retains it
  }
}

/// The state of a managed object.
@usableFromInline struct ObjectFlags: OptionSet, Sendable {
  @usableFromInline let rawValue: UInt32
  @usableFromInline init(rawValue: UInt32) { self.rawValue = rawValue }
  /// The values have not been loaded. The row may be in memory nevertheless.
  static let isFault = ObjectFlags(rawValue: 1)
  /// New and not saved yet.
  static let isInserted = ObjectFlags(rawValue: 2)
  /// Changed since it was read or saved.
  static let isUpdated = ObjectFlags(rawValue: 4)
  /// Deleted by the next save.
  static let isDeleted = ObjectFlags(rawValue: 8)
  /// The row was deleted; all values read as empty.
  static let isInaccessible = ObjectFlags(rawValue: 16)
  /// Contained in the unit of work's list of inserted objects.
  static let isListedAsInserted = ObjectFlags(rawValue: 32)
  /// Contained in the unit of work's list of updated objects.
  static let isListedAsUpdated = ObjectFlags(rawValue: 64)
  /// Contained in the unit of work's list of deleted objects.
  static let isListedAsDeleted = ObjectFlags(rawValue: 128)
  /// Changed since the last ``ManagedObjectContext/processPendingChanges()``.
  static let hasPendingChange = ObjectFlags(rawValue: 256)
  /// `awakeFromFetch()` is running: changes are not recorded.
  static let isAwakening = ObjectFlags(rawValue: 512)
  /// The delete rules were applied.
  static let deletePropagated = ObjectFlags(rawValue: 1024)
  /// The deletion was saved.
  static let isRemoved = ObjectFlags(rawValue: 2048)
  /// The next save checks the object's version although the object is unchanged.
  static let isLocked = ObjectFlags(rawValue: 4096)
  /// Observers were notified of the insertion.
  static let isAnnounced = ObjectFlags(rawValue: 8192)
  /// The current save has called `willSave()`.
  static let willSaveCalled = ObjectFlags(rawValue: 16384)
  /// A fault of which some values were loaded into the overlay.
  static let isPartial = ObjectFlags(rawValue: 32768)
  /// The object holds the values of one row of a batch insertion.
  static let isBatchRow = ObjectFlags(rawValue: 65536)
  /// A relationship was set before the object had a context, and the value is lost.
  static let hasRejectedRelationship = ObjectFlags(rawValue: 131072)
  /// Retained temporarily by the context, now or earlier, because a relationship led to the object.
  static let isRecent = ObjectFlags(rawValue: 524288)
  /// The deletion, which observers were notified of, was undone in the current event.
  static let isRestored = ObjectFlags(rawValue: 1_048_576)
  /// Deleted by undo or redo: the save applies the delete rules.
  static let defersDeleteRules = ObjectFlags(rawValue: 2_097_152)
  /// Properties are read from the overlay's row, and numbers may be written to it directly.
  static let writesInPlace = ObjectFlags(rawValue: 262144)
  /// Each property read is reported to the observer. Reads do not access the row directly, and numbers are not written in place.
  static let reportsReads = ObjectFlags(rawValue: 4_194_304)
  /// The object is observed individually.
  static let isObserved = ObjectFlags(rawValue: 8_388_608)
  /// Another context has deleted its row. The next save that writes the object inserts the row again.
  static let outlivesRow = ObjectFlags(rawValue: 16_777_216)
  /// Never saved. Unlike ``isInserted``, it remains set when the object leaves its context, and is not set for an object whose saved
  /// deletion was undone.
  static let isUnsaved = ObjectFlags(rawValue: 33_554_432)
  /// The context was reset while it had the object: the row may exist.
  static let wasReset = ObjectFlags(rawValue: 67_108_864)

  // Constants, because a literal of several flags allocates in debug builds each time it is used.
  /// The flags of a new object.
  static let newObject: ObjectFlags = [.isInserted, .isUnsaved]
  /// The flags that a save of the object clears.
  static let clearedBySave: ObjectFlags = [.isInserted, .isUpdated, .outlivesRow, .isUnsaved]

  /// Whether a save writes the row of an object again, though none of its values is changed.
  func reinsertsRow(_ row: UnsafeRawPointer?) -> Bool { contains(.outlivesRow) && row != nil }

  /// Whether a number may be written directly to the row that properties are read from: that is the overlay's row, and the change is
  /// already recorded.
  @inlinable var allowsInPlaceNumbers: Bool {
    // Set: writesInPlace, hasPendingChange, isUpdated. Not set: isFault, isInaccessible, isAwaking, isGone, isBatchRow. The function is
    // inlinable, and the flags are not.
    rawValue & (262144 | 256 | 4 | 1 | 16 | 512 | 2048 | 65536) == 262144 | 256 | 4
  }

  /// Whether a read needs no preparation: the object is not a fault, and reads are not observed.
  var isDirectlyReadable: Bool { rawValue & (1 | 4_194_304) == 0 }

  /// Whether the object is a fault of which nothing was loaded yet, and reads are not observed.
  var firesInMemory: Bool { rawValue & (1 | 16 | 32768 | 4_194_304) == 1 }

  /// Whether reads may access a row directly: the object is not a fault, is accessible, and reads are not observed.
  var exposesRow: Bool { rawValue & (1 | 16 | 4_194_304) == 0 }

  /// Whether values may be written directly to the overlay, from which they are read.
  var allowsInPlaceValues: Bool {
    contains(.writesInPlace) && isDisjoint(with: [.isFault, .isInaccessible, .isRemoved, .isAwakening, .isPartial, .isBatchRow])
  }
}
