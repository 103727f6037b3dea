// ManagedObjectContext+Answering: fetches answered over the objects of a context, for stores of other names.
package import ObjectModel
package import ObjectStore

extension ManagedObjectContext {
  /// What a fetch finds among objects.
  ///
  /// - Throws: What reading them throws.
  package func answer(_ evaluation: FetchEvaluation, among candidates: [ManagedObjectID]) throws -> PersistentStoreResult {
    let objects = try objects(with: candidates).compactMap { $0 }
    let result = try evaluation.answer(among: objects, resolver: LivingObjectResolver()) { object in
      object.fireIfFault()
      return object.image
    }
    try notedErrors.settle()
    return result
  }
}
