package import ObjectModel

/// Validates fetches against a model and converts them to normal form, before any object is read.
package struct FetchResolver: Sendable {
  /// The handling of transient properties and block predicates.
  package enum TransientKeys: Sendable {
    /// They are rejected, since stores do not support them.
    case refused
    /// They are allowed, for evaluation with objects in memory. ``ResolvedFetch/transientKeyPaths`` lists the key paths.
    case allowed
  }

  private let model: CompiledModel
  private let transientKeys: TransientKeys

  /// Creates a resolver.
  ///
  /// - Parameters:
  ///   - model: The model.
  ///   - transientKeys: Whether transient properties and block predicates are allowed.
  package init(model: CompiledModel, transientKeys: TransientKeys = .refused) {
    self.model = model
    self.transientKeys = transientKeys
  }

  /// Resolves a fetch: its entity, predicate, order and, for dictionaries, columns and groups. Complexity: O(*n*) in the size of the
  /// predicate.
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
    // There is one dictionary for each object, unless they are grouped or made distinct.
    let isCounted = specification.resultType == .count && !projection.isGrouped && !projection.isDistinct
    return ResolvedFetch(
      entity: entity, includesSubentities: specification.includesSubentities, predicate: predicate,
      projection: isCounted ? nil : projection, sortKeys: sortKeys, constants: resolution.constants,
      transientKeyPaths: resolution.transientKeyPaths)
  }

  /// Resolves a grouped fetch, and returns the sources of its parts, so that each can be fetched separately.
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

  /// Resolves a predicate and sort keys on an entity.
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
