import ObjectModel
import ObjectStore

extension ObjectIDSpace {
  /// Returns the row key of an object of this store, or 0 (never a row's key) for temporary IDs and objects of other stores.
  func key(of id: ManagedObjectID) -> Int64 {
    id.isTemporaryID || (id.space != number && id.storeIdentifier != storeIdentifier) ? 0 : id.key
  }

  /// Returns the ID of the referenced object.
  func objectID(of reference: ObjectReference) -> ManagedObjectID {
    ManagedObjectID(space: number, entityNumber: UInt32(reference.entity), key: reference.key)
  }
}
