package import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore

extension BatchChange {
  /// Changes or deletes the objects that match the predicate, without saving. Unsaved changes are included.
  ///
  /// - Returns: The number of objects changed, or of objects deleted including those that delete rules reach.
  package func changeObjects(in context: ManagedObjectContext) throws -> Int {
    let entity = try context.persistentStoreCoordinator.compiledModel.requireEntity(named: entityName)
    let request = try updateRequest(of: entity, in: context)
    let objects = try context.fetch(FetchRequest<ManagedObject>(entityName: entity.name, predicate: predicate))
    if let request {
      try context.update(objects, by: request)
      return objects.count
    }
    let before = context.deletedObjects.count
    for object in objects { context.delete(object) }
    // Delete rules run when pending changes are processed.
    context.processPendingChanges()
    return context.deletedObjects.count - before
  }
}
