// LivingObjectResolver: the in-memory evaluator's view of a context's objects, unsaved changes included.
import ObjectModel
import ObjectQuery
import ObjectStore

/// Reads living objects for evaluation in memory.
struct LivingObjectResolver: ObjectResolver {
  init() {}

  func entity(of object: ManagedObject) -> CompiledEntity { object.compiledEntity }
  func objectID(of object: ManagedObject) -> ManagedObjectID { object.objectID }
  func value(of object: ManagedObject, slot: Int) throws -> Slot {
    // A new object without a value reads as null here, as it would be saved.
    try object.readSlotValue(slot)
  }
  func destination(of object: ManagedObject, slot: Int) throws -> ManagedObject? { object.destination(slot) }
  func members(of object: ManagedObject, toMany index: Int) throws -> [ManagedObject] {
    object._toManyArray(index, as: ManagedObject.self)
  }
}
