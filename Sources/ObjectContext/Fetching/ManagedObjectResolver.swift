import ObjectModel
import ObjectQuery
import ObjectStore

/// The in-memory evaluator's access to a context's objects, including unsaved changes.
struct ManagedObjectResolver: ObjectResolver {
  init() {}

  func entity(of object: ManagedObject) -> CompiledEntity { object.compiledEntity }
  func objectID(of object: ManagedObject) -> ManagedObjectID { object.objectID }
  func value(of object: ManagedObject, slot: Int) throws -> Slot {
    // A missing value of an inserted object reads as null, which is what a save would store.
    try object.readSlotValue(slot)
  }
  func destination(of object: ManagedObject, slot: Int) throws -> ManagedObject? { object.destination(slot) }
  func members(of object: ManagedObject, toMany index: Int) throws -> [ManagedObject] {
    object.toManyArray(index, as: ManagedObject.self)
  }
}
