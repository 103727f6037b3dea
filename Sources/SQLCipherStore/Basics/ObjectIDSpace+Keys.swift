// ObjectIDSpace+Keys: the IDs of a store's objects as keys of rows, and back.
import ObjectModel
import ObjectStore

extension ObjectIDSpace {
  /// The key of an object of the space's store. Another one has 0, which no row has.
  func key(of id: ManagedObjectID) -> Int64 {
    id.isTemporaryID || (id.space != number && id.storeIdentifier != storeIdentifier) ? 0 : id.key
  }

  /// The ID of the object that a reference leads to.
  func objectID(of reference: ObjectReference) -> ManagedObjectID {
    ManagedObjectID(space: number, entityNumber: UInt32(reference.entity), key: reference.key)
  }
}
