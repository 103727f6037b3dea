import ObjectContext
import ObjectModel
import ObjectStore

/// The entity and the coordinator for which an object is created.
struct NewObjectTarget {
  let entity: CompiledEntity
  let seed: ManagedObjectSeed

  init(_ description: NSEntityDescription, _ context: NSManagedObjectContext?) {
    let name = description.name ?? ""
    guard let coordinator = context?.context.persistentStoreCoordinator ?? description.model?.coordinator,
      let entity = coordinator.compiledModel.entity(named: name)
    else {
      // The initializer of an object cannot throw, and an object requires an entity. Core Data raises an exception too.
      preconditionFailure("there is no entity “\(name)” in the model of the context, or no container uses the model")
    }
    self.entity = entity
    seed = ManagedObjectSeed(newObjectOf: entity, of: coordinator)
  }
}

/// Finds the entity of a class without a context.
enum EntityOfClass {
  static func find(_ type: NSManagedObject.Type) -> NSEntityDescription? {
    for model in UsedModels.all {
      let found = model.model.entities.first { entity in
        entity.managedObjectClassName.flatMap { EntityClassRegistry.type(named: $0) } == type
      }
      if let found { return model.entitiesByName[found.name] }
    }
    return nil
  }
}
