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
    func number(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
    self.init(high: number(0..<8), low: number(8..<16))
  }

  /// The bytes, the most significant first.
  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(16)
    for word in [high, low] {
      for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift))) }
    }
    return bytes
  }

  /// The stable ID of the object.
  package var uuid: UUID { UUID(bytes: bytes) }
}
