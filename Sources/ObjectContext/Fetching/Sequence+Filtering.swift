// Sequence+Filtering: objects at hand filtered and sorted as a fetch would.
import ObjectModel
public import ObjectQuery
import ObjectStore

extension Sequence where Element: ManagedObject {
  /// The objects that meet a predicate now, unsaved changes included, in their order.
  ///
  /// - Throws: ``FetchPredicateError`` when the predicate does not fit an object's entity; the error of reading a value that decides it.
  public func filtered(using predicate: FetchPredicate) throws -> [Element] { try filter { try predicate.evaluate(with: $0) } }

  /// The objects that meet a condition now, unsaved changes included, in their order.
  ///
  /// - Throws: ``FetchPredicateError`` when the condition does not fit an object's entity; the error of reading a value that decides it.
  public func filtered(using condition: FetchCondition<Element>) throws -> [Element] { try filtered(using: condition.predicate) }

  /// The objects in the order of one descriptor; equal ones keep theirs.
  ///
  /// - Throws: ``FetchPredicateError`` for a key that the objects do not have, or where they have no superentity in common; the error of reading a value.
  public func sorted(using descriptor: FetchSortDescriptor) throws -> [Element] { try sorted(using: [descriptor]) }

  /// The objects in the order that a fetch with the descriptors would give them, unsaved changes included; equal ones keep theirs.
  ///
  /// Each value is read once. Objects of several entities are ordered by what their common superentity has.
  /// - Throws: ``FetchPredicateError`` for a key that the objects do not have, or where they have no superentity in common; the error of reading a value.
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
    let errorCount = context?.notedErrors.count
    let fetch = try FetchResolver(model: model, transientKeys: .allowed).resolve(specification)
    let order = ObjectOrder(fetch, resolver: LivingObjectResolver())
    let positions = Dictionary(objects.enumerated().map { (ObjectIdentifier($1), $1) }, uniquingKeysWith: { one, _ in one })
    let sorted = try order.sorted(objects).compactMap { positions[ObjectIdentifier($0)] }
    if let context, context.notedErrors.count != errorCount, let error = context.pendingError { throw error }
    return sorted
  }
}
