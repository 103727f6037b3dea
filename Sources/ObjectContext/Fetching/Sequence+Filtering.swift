import ObjectModel
public import ObjectQuery
import ObjectStore

extension Sequence where Element: ManagedObject {
  /// Returns the objects that match a predicate, including unsaved changes. Preserves their order.
  ///
  /// - Throws: ``FetchPredicateError`` if the predicate does not fit an object's entity; the error of reading a value that the result
  ///   depends on.
  public func filtered(using predicate: FetchPredicate) throws -> [Element] { try filter { try predicate.evaluate(with: $0) } }

  /// Returns the objects that satisfy a condition, including unsaved changes. Preserves their order.
  ///
  /// - Throws: ``FetchPredicateError`` if the condition does not fit an object's entity; the error of reading a value that the result
  ///   depends on.
  public func filtered(using condition: FetchCondition<Element>) throws -> [Element] { try filtered(using: condition.predicate) }

  /// Returns the objects sorted by one descriptor. The sort is stable.
  ///
  /// - Throws: ``FetchPredicateError`` if the objects do not have the key or have no common superentity; the error of reading a value.
  public func sorted(using descriptor: FetchSortDescriptor) throws -> [Element] { try sorted(using: [descriptor]) }

  /// Returns the objects in the order in which a fetch with the descriptors would return them, including unsaved changes. The sort is
  /// stable.
  ///
  /// Reads each value once. Objects of different entities are sorted by properties of their common superentity.
  ///
  /// - Throws: ``FetchPredicateError`` if the objects do not have a key or have no common superentity; the error of reading a value.
  public func sorted(using descriptors: [FetchSortDescriptor]) throws -> [Element] {
    let objects = Array(self)
    guard let first = objects.first else { return [] }
    let context = first.managedObjectContext
    guard let model = context?.model ?? ObjectIDSpace.space(first.objectID.space)?.model else { return objects }
    var entity = first.compiledEntity
    for object in objects {
      while !object.compiledEntity.isKind(of: entity) {
        guard let above = entity.parent else {
          throw FetchPredicateError.unsupported(
            part: "An order of objects of \(first.compiledEntity.name) and \(object.compiledEntity.name) together",
            advice: "Sort objects that have a superentity in common.")
        }
        entity = model.entities[above]
      }
    }
    var specification = FetchSpecification(entityName: entity.name)
    specification.sortDescriptors = descriptors
    let errorCount = context?.deferredErrors.count
    let fetch = try FetchResolver(model: model, transientKeys: .allowed).resolve(specification)
    let order = ObjectOrder(fetch, resolver: ManagedObjectResolver())
    let positions = Dictionary(objects.enumerated().map { (ObjectIdentifier($1), $1) }, uniquingKeysWith: { one, _ in one })
    let sorted = try order.sorted(objects).compactMap { positions[ObjectIdentifier($0)] }
    if let context, context.deferredErrors.count != errorCount, let error = context.pendingError { throw error }
    return sorted
  }
}
