// MergeConflict+Objects: the objects of a context that a conflict is about.
import ObjectModel
public import ObjectStore

extension MergeConflict {
  /// The living object; nil when the context has none.
  public func object(in context: ManagedObjectContext) -> ManagedObject? { context.registeredObject(for: objectID) }
}

extension ConstraintConflict {
  /// The living objects of the save.
  public func objects(in context: ManagedObjectContext) -> [ManagedObject] { objectIDs.compactMap(context.registeredObject(for:)) }
  /// The object in the store, as a living object; nil when only objects of the save clash.
  public func databaseObject(in context: ManagedObjectContext) -> ManagedObject? { databaseObjectID.map(context.object(with:)) }
}
