// FetchResolver: checks fetches against a model before anything is read, and brings them into normal form.
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

  /// Makes a resolver.
  ///
  /// - Parameters:
  ///   - model: The model.
  ///   - transientKeys: Whether transient keys and block predicates may be asked for.
  package init(model: CompiledModel, transientKeys: TransientKeys = .refused) {
    self.model = model
    self.transientKeys = transientKeys
  }

  /// Resolves what a fetch asks: entity, predicate, order and what dictionaries are made of. Complexity: linear in the predicate's size.
  package func resolve(_ specification: FetchSpecification) throws(FetchPredicateError) -> ResolvedFetch {
    try specification.checkNumbers()
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
    try specification.checkNumbers()
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
    PredicateResolution(model: model, entity: entity, allowsTransients: transientKeys == .allowed)
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
