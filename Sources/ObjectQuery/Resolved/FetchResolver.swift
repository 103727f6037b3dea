// FetchResolver: checks fetches against a model before anything is read, and brings them into normal form.
package import Foundation
package import ObjectModel

/// Turns fetches into resolved fetches of one model.
package struct FetchResolver: Sendable {
  /// What happens to transient keys and block predicates.
  package enum TransientKeys: Sendable {
    /// They are an error: no store can answer them.
    case refused
    /// They are allowed, keys listed in ``ResolvedFetch/transientKeyPaths``: for evaluation over living objects.
    case allowed
  }

  private let model: CompiledModel
  private let transientKeys: TransientKeys
  private let now: Date

  /// Makes a resolver.
  ///
  /// - Parameters:
  ///   - model: The model.
  ///   - transientKeys: Whether transient keys and block predicates may be asked for.
  ///   - now: What `now()` means.
  package init(model: CompiledModel, transientKeys: TransientKeys = .refused, now: Date = Date()) {
    self.model = model
    self.transientKeys = transientKeys
    self.now = now
  }

  /// Resolves what a fetch asks: entity, predicate, order and what dictionaries are made of. Complexity: linear in the predicate's size.
  package func resolve(_ specification: FetchSpecification) throws(FetchPredicateError) -> ResolvedFetch {
    guard let entity = model.entity(named: specification.entityName) else {
      throw FetchPredicateError.unknownEntity(name: specification.entityName)
    }
    guard specification.resultType == .dictionaries || (specification.resultType == .count && specification.shapesResults) else {
      return try resolve(
        specification.predicate, sortDescriptors: specification.sortDescriptors, entity: entity,
        includesSubentities: specification.includesSubentities)
    }
    var resolution = makeResolution(of: entity)
    let predicate = try resolve(specification.predicate, with: &resolution)
    let (projection, sortKeys) = try resolution.resolveProjection(specification)
    // There are as many dictionaries as objects, unless some are put together.
    let isCounted = specification.resultType == .count && !projection.isGrouped && !projection.isDistinct
    return ResolvedFetch(
      entity: entity, includesSubentities: specification.includesSubentities, predicate: predicate,
      projection: isCounted ? nil : projection, sortKeys: sortKeys, constants: resolution.constants,
      transientKeyPaths: resolution.transientKeyPaths)
  }

  /// Resolves a fetch of groups, and tells what its parts were made of: so each can be asked by itself.
  package func resolveWithSources(
    _ specification: FetchSpecification
  ) throws(FetchPredicateError) -> (fetch: ResolvedFetch, sources: ResolutionSources) {
    guard let entity = model.entity(named: specification.entityName) else {
      throw FetchPredicateError.unknownEntity(name: specification.entityName)
    }
    var resolution = makeResolution(of: entity)
    resolution.sources = ResolutionSources()
    let (projection, sortKeys) = try resolution.resolveProjection(specification)
    let fetch = ResolvedFetch(
      entity: entity, includesSubentities: specification.includesSubentities, predicate: .constant(true), projection: projection,
      sortKeys: sortKeys, constants: resolution.constants)
    return (fetch, resolution.sources ?? ResolutionSources())
  }

  func makeResolution(of entity: CompiledEntity) -> PredicateResolution {
    PredicateResolution(model: model, entity: entity, allowsTransients: transientKeys == .allowed, now: now)
  }

  /// Resolves a predicate and an order on an entity.
  package func resolve(
    _ predicate: FetchPredicate?, sortDescriptors: [FetchSortDescriptor] = [], entity: CompiledEntity, includesSubentities: Bool = true
  ) throws(FetchPredicateError) -> ResolvedFetch {
    var resolution = makeResolution(of: entity)
    let resolved = try resolve(predicate, with: &resolution)
    var keys: [ResolvedSortKey] = []
    for descriptor in sortDescriptors { keys.append(try resolution.resolve(descriptor)) }
    return ResolvedFetch(
      entity: entity, includesSubentities: includesSubentities, predicate: resolved, sortKeys: keys, constants: resolution.constants,
      transientKeyPaths: resolution.transientKeyPaths)
  }

  func resolve(
    _ predicate: FetchPredicate?, with resolution: inout PredicateResolution
  ) throws(FetchPredicateError) -> ResolvedPredicate {
    guard let predicate else { return .constant(true) }
    try PredicateDepth.check(predicate)
    return try resolution.resolve(predicate, isNegated: false)
  }
}

/// The bound of nesting, so that no walk over a predicate can exhaust the stack.
package enum PredicateDepth {
  /// The greatest number of levels of a predicate, its expressions included.
  package static let limit = 100

  private enum Node {
    case predicate(FetchPredicate)
    case expression(FetchExpression)
    case constant(FetchConstant)
  }

  /// Throws ``FetchPredicateError/nestingTooDeep(limit:)`` for a predicate that is nested too deep. Itself it uses no recursion.
  package static func check(_ predicate: FetchPredicate) throws(FetchPredicateError) {
    guard isWithinLimit([.predicate(predicate)]) else { throw .nestingTooDeep(limit: limit) }
  }

  /// Whether an expression is nested within the limit.
  package static func allows(_ expression: FetchExpression) -> Bool { isWithinLimit([.expression(expression)]) }

  private static func isWithinLimit(_ roots: [Node]) -> Bool {
    var stack = roots.map { (node: $0, depth: 1) }
    while let (node, depth) = stack.popLast() {
      guard depth <= limit else { return false }
      func push(_ node: Node) { stack.append((node, depth + 1)) }
      func pushLists(_ items: [FetchConstant]) {
        for case .list(let inner) in items { push(.constant(.list(inner))) }
      }
      switch node {
      case .constant(.list(let items)): pushLists(items)
      case .constant: break
      case .predicate(.constant), .predicate(.block): break
      case .predicate(.and(let items)), .predicate(.or(let items)): items.forEach { push(.predicate($0)) }
      case .predicate(.not(let item)): push(.predicate(item))
      case .predicate(.comparison(let comparison)):
        push(.expression(comparison.left))
        push(.expression(comparison.right))
      case .expression(let expression):
        switch expression {
        case .constant(.list(let items)): pushLists(items)
        case .constant: break
        case .evaluatedObject, .keyPath, .variable: break
        case .path(let base, _), .element(let base, _): push(.expression(base))
        case .aggregate(let items), .function(_, let items): items.forEach { push(.expression($0)) }
        case .subquery(let collection, _, let condition):
          push(.expression(collection))
          push(.predicate(condition))
        case .conditional(let condition, let first, let second):
          push(.predicate(condition))
          push(.expression(first))
          push(.expression(second))
        }
      }
    }
    return true
  }
}
