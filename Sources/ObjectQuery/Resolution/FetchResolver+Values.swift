package import ObjectModel

/// An expression whose value is requested for the objects that match a predicate.
package enum ResolvedValue: Sendable {
  /// A value that does not depend on the object; null has no type.
  case constant(Slot, ResolvedType)
  /// An object.
  case object(ManagedObjectID)
  /// A value that is computed for each object.
  case expression(ResolvedExpression)
}

extension FetchResolver {
  /// Resolves a predicate on an entity, and expressions on the objects that match it. All share the fetch's constants.
  package func resolve(
    _ predicate: FetchPredicate?, values expressions: [FetchExpression], entity: CompiledEntity, includesSubentities: Bool
  ) throws(FetchPredicateError) -> (fetch: ResolvedFetch, values: [ResolvedValue]) {
    var resolution = makeResolution(of: entity)
    let resolved = try resolve(predicate, with: &resolution)
    var values: [ResolvedValue] = []
    for expression in expressions {
      guard PredicateDepth.allows(expression) else { throw .nestingTooDeep(limit: PredicateDepth.limit) }
      switch try resolution.operand(expression) {
      case .expression(let expression, _): values.append(.expression(expression))
      case .constant(.object(let id)): values.append(.object(id))
      case .constant(let constant):
        guard let (slot, type) = constant.natural else {
          throw .unsupported(part: "\(constant.typeName) as a value", advice: "Give one value.")
        }
        values.append(.constant(slot, type))
      case .list: throw .unsupported(part: "A list as a value", advice: "Give one value.")
      }
    }
    let fetch = ResolvedFetch(
      entity: entity, includesSubentities: includesSubentities, predicate: resolved, sortKeys: [], constants: resolution.constants)
    return (fetch, values)
  }
}
