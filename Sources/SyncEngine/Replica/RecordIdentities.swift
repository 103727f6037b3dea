package import Foundation
import ObjectModel
import ObjectStore
package import SyncCore

/// The records of objects, looked up together.
struct RecordIdentities {
  private let store: any IdentityStore
  private var wanted: Set<ObjectReference> = []
  private var known: [ObjectReference: RecordID]

  /// - Parameter known: Records of objects that are not looked up.
  init(_ store: any IdentityStore, known: [ObjectReference: RecordID] = [:]) { (self.store, self.known) = (store, known) }

  /// Adds an object to the next lookup.
  mutating func add(_ object: ObjectReference) { if known[object] == nil, !object.isNull { wanted.insert(object) } }

  /// Looks up the added objects.
  mutating func load() throws {
    let objects = Array(wanted)
    wanted = []
    if objects.isEmpty { return }
    for (object, id) in zip(objects, try store.stableIDs(of: objects)) { known[object] = id.map(RecordID.init) }
  }

  /// Returns the record of a looked-up object, or nil if the object has no stable ID.
  func knownRecord(of object: ObjectReference) -> RecordID? { known[object] }

  /// Returns the record of a looked-up object.
  ///
  /// - Throws: ``SyncError`` if the object has no stable ID.
  func record(of object: ObjectReference) throws -> RecordID {
    guard let id = known[object] else { throw SyncError(.historyMissing) }
    return id
  }
}

extension RecordID {
  /// Creates the ID of the record of an object from its stable ID.
  package init(_ id: UUID) { self.init(bytes: id.bytes) }

  init(bytes: [UInt8]) {
    // A damaged table can have values of other lengths, which name no record.
    guard bytes.count == 16 else {
      self.init(high: 0, low: 0)
      return
    }
    let words = bytes.withUnsafeBytes { bytes in
      (bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }
    self.init(high: UInt64(bigEndian: words.0), low: UInt64(bigEndian: words.1))
  }

  /// The bytes, the most significant first, as the value of a column.
  var slot: Slot { withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { .bytes(Data($0)) } }

  /// The stable ID of the object.
  package var uuid: UUID {
    withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }
}
