package import ObjectModel
package import ObjectStore

extension ManagedObjectContext {
  /// Evaluates a fetch over objects of the context.
  ///
  /// - Throws: The errors of reading the objects.
  package func answer(_ evaluation: FetchEvaluation, among candidates: [ManagedObjectID]) throws -> PersistentStoreResult {
    let objects = try objects(with: candidates).compactMap { $0 }
    let result = try evaluation.answer(among: objects, resolver: ManagedObjectResolver()) { object in
      object.fireIfFault()
      return object.image
    }
    try deferredErrors.settle()
    return result
  }
}
