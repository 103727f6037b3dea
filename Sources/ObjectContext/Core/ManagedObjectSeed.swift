// ManagedObjectSeed: what a context gives to a class to make an object.
import ObjectModel
import ObjectStore

/// What a context gives to a managed object's initializer. Only contexts make seeds.
public struct ManagedObjectSeed {
  let objectID: ManagedObjectID
  // Objects do not retain their context, which outlives the making of one.
  let context: Unmanaged<ManagedObjectContext>?
  let image: RowImage?
  let flags: ObjectFlags
}

extension ManagedObjectSeed {
  /// The seed of an object that belongs to no context and has no values.
  init(goneObjectOf objectID: ManagedObjectID) {
    self.init(objectID: objectID, context: nil, image: nil, flags: [.isInaccessible, .isGone])
  }

  /// The seed of a new object.
  init(newObjectOf entity: CompiledEntity, in context: ManagedObjectContext) {
    self.init(newObject: context.makeTemporaryID(entity), in: context)
  }

  /// The seed of a new object that has its ID.
  init(newObject objectID: ManagedObjectID, in context: ManagedObjectContext) {
    self.init(objectID: objectID, context: Unmanaged.passUnretained(context), image: nil, flags: [.isInserted])  // alive as the argument
  }
}

/// What an object is at the moment.
@usableFromInline struct ObjectFlags: OptionSet, Sendable {
  @usableFromInline let rawValue: UInt32
  @usableFromInline init(rawValue: UInt32) { self.rawValue = rawValue }
  /// Its values have not been asked for yet (a row may be at hand all the same).
  static let isFault = ObjectFlags(rawValue: 1)
  /// New, not saved yet.
  static let isInserted = ObjectFlags(rawValue: 2)
  /// Changed since it was read or saved.
  static let isUpdated = ObjectFlags(rawValue: 4)
  /// Will be deleted by the next save.
  static let isDeleted = ObjectFlags(rawValue: 8)
  /// Its row is gone; it reads as empty.
  static let isInaccessible = ObjectFlags(rawValue: 16)
  /// In the unit of work's list of inserted objects.
  static let isListedAsInserted = ObjectFlags(rawValue: 32)
  /// In the unit of work's list of updated objects.
  static let isListedAsUpdated = ObjectFlags(rawValue: 64)
  /// In the unit of work's list of deleted objects.
  static let isListedAsDeleted = ObjectFlags(rawValue: 128)
  /// Changed since the last ``ManagedObjectContext/processPendingChanges()``.
  static let hasPendingChange = ObjectFlags(rawValue: 256)
  /// Changes are not recorded: the object is being awoken from a fetch.
  static let isAwaking = ObjectFlags(rawValue: 512)
  /// Its delete rules were applied.
  static let deletePropagated = ObjectFlags(rawValue: 1024)
  /// Its deletion was saved.
  static let isGone = ObjectFlags(rawValue: 2048)
  /// Its version is checked by the next save though it is unchanged.
  static let isLocked = ObjectFlags(rawValue: 4096)
  /// Observers were told of its insertion.
  static let isAnnounced = ObjectFlags(rawValue: 8192)
  /// Its `willSave` was called by the save under way.
  static let willSaveCalled = ObjectFlags(rawValue: 16384)
  /// A fault some of whose values were read; they are in its overlay.
  static let isPartial = ObjectFlags(rawValue: 32768)
  /// Holds the values of one row of a batch insertion.
  static let isBatchRow = ObjectFlags(rawValue: 65536)
  /// A relationship was set before it had a context, and is lost.
  static let hasLostRelationship = ObjectFlags(rawValue: 131072)
  /// Its context holds it for a while since a relationship has led to it, or has done so.
  static let isRecent = ObjectFlags(rawValue: 524288)
  /// Its deletion was taken back in the event under way, of which observers were told.
  static let isBack = ObjectFlags(rawValue: 1_048_576)
  /// Deleted by undoing or redoing: its delete rules wait for the save.
  static let rulesWait = ObjectFlags(rawValue: 2_097_152)
  /// The row that properties are read from is the overlay's, and numbers may be written to it without further questions.
  static let writesInPlace = ObjectFlags(rawValue: 262144)
  /// It tells whoever observes it which of its properties are read: no read goes straight to its row, and no number is written in place.
  static let tellsReads = ObjectFlags(rawValue: 4_194_304)
  /// Somebody observes it, by itself.
  static let isObserved = ObjectFlags(rawValue: 8_388_608)
  /// Another context has deleted its row. The next save that writes the object inserts the row again.
  static let outlivesRow = ObjectFlags(rawValue: 16_777_216)

  /// Whether a save writes the row of an object again, though none of its values is changed.
  func insertsRowAgain(_ row: UnsafeRawPointer?) -> Bool { contains(.outlivesRow) && row != nil }

  /// Whether a number may be written to the row that the object is read from: it is the overlay's, and the change is known already.
  @inlinable var admitsNumbers: Bool {
    // Written in place and changed in this event; no fault, not inaccessible, not awaking, not gone, and no row of a batch.
    rawValue & (262144 | 256 | 4 | 1 | 16 | 512 | 2048 | 65536) == 262144 | 256 | 4
  }

  /// Whether a read has nothing to do first: neither to fire a fault nor to tell of itself.
  var isReadAtOnce: Bool { rawValue & (1 | 4_194_304) == 0 }

  /// Whether the object is a fault of which nothing was read yet, and tells nobody of reads.
  var firesAtHand: Bool { rawValue & (1 | 16 | 32768 | 4_194_304) == 1 }

  /// Whether reads may go straight to a row: the object is no fault, not inaccessible, and tells nobody of them.
  var showsRow: Bool { rawValue & (1 | 16 | 4_194_304) == 0 }

  /// Whether a value may be given to the object's overlay, from which it is read.
  var admitsValues: Bool {
    contains(.writesInPlace) && isDisjoint(with: [.isFault, .isInaccessible, .isGone, .isAwaking, .isPartial, .isBatchRow])
  }
}
