// BatchChange+Objects: the change of `update` and `delete` done to objects, so that it can be taken back.
package import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore

extension BatchChange {
  /// Changes or deletes the objects that meet the condition, without saving. Unsaved changes count.
  ///
  /// - Returns: How many objects were changed, or deleted with all that their rules reach.
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
    // Delete rules run at the end of an event.
    context.processPendingChanges()
    return context.deletedObjects.count - before
  }
}
