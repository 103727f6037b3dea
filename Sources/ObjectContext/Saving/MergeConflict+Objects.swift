import ObjectModel
public import ObjectStore

extension MergeConflict {
  /// Returns the registered object in conflict; nil if the context has none.
  public func object(in context: ManagedObjectContext) -> ManagedObject? { context.registeredObject(for: objectID) }
}

extension ConstraintConflict {
  /// Returns the registered objects of the save.
  public func objects(in context: ManagedObjectContext) -> [ManagedObject] { objectIDs.compactMap(context.registeredObject(for:)) }
  /// Returns the stored object in conflict; nil if only objects of the save conflict.
  public func databaseObject(in context: ManagedObjectContext) -> ManagedObject? { databaseObjectID.map(context.object(with:)) }
}
