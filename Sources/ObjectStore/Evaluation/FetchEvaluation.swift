public import ObjectModel
public import ObjectQuery

/// Evaluates a fetch over objects in memory, for stores without a query language.
///
/// A store that keeps all rows in memory uses it for `.fetch` requests. Predicates, order, offset, limit, and all result types have the
/// same semantics as in all stores. The time is linear in the number of candidates, plus sorting and the time of the resolver.
public struct FetchEvaluation: Sendable {
  /// The entity of the fetch.
  public let entity: CompiledEntity
  private let specification: FetchSpecification
  private let fetch: ResolvedFetch

  /// Validates a fetch against a model.
  ///
  /// - Throws: ``FetchPredicateError`` if the predicate, the order, or the properties to fetch are invalid.
  public init(_ specification: FetchSpecification, model: CompiledModel) throws {
    self.specification = specification
    fetch = try FetchResolver(model: model).resolve(specification)
    entity = fetch.entity
  }

  /// Returns the result of the fetch.
  ///
  /// - Parameters:
  ///   - candidates: All objects that may match. Objects of other entities are skipped. If the fetch has no order, the results keep the
  ///     order of the candidates.
  ///   - resolver: Reads objects.
  ///   - row: Returns the row of an object.
  /// - Throws: ``FetchPredicateError`` if the fetch cannot be evaluated; rethrows the errors of `resolver` and `row`.
  public func answer<Resolver: ObjectResolver>(
    among candidates: some Sequence<Resolver.Object>, resolver: Resolver, row: (Resolver.Object) throws -> RowImage?
  ) throws -> PersistentStoreResult {
    let found = try objects(among: candidates, resolver: resolver)
    switch specification.resultType {
    case .objects where specification.includesPropertyValues: return .rows(RowList(try bounded(found).compactMap(row)))
    case .objects, .objectIDs: return .objectIDs(bounded(found).map(resolver.objectID(of:)))
    case .count:
      guard let projection = fetch.projection else { return .count(bounded(found).count) }
      return .count(try rows(projection, of: found, resolver: resolver).count)
    case .dictionaries:
      guard let projection = fetch.projection else { return .dictionaries(DictionaryRows(columns: [], rows: [])) }
      let columns = projection.columns.map { DictionaryRows.Column($0) }
      return .dictionaries(DictionaryRows(columns: columns, rows: try rows(projection, of: found, resolver: resolver)))
    }
  }

  private func objects<Resolver: ObjectResolver>(
    among candidates: some Sequence<Resolver.Object>, resolver: Resolver
  ) throws -> [Resolver.Object] {
    let evaluator = PredicateEvaluator(fetch, resolver: resolver)
    let found = try candidates.filter { object in
      let candidate = resolver.entity(of: object)
      guard candidate.number == entity.number || (specification.includesSubentities && candidate.isKind(of: entity)) else { return false }
      return try evaluator.matches(object)
    }
    // Groups and distinct rows are sorted after they have been computed.
    if let projection = fetch.projection, projection.isGrouped || projection.isDistinct { return found }
    return try ObjectOrder(fetch, resolver: resolver).sorted(found)
  }

  private func bounded<Element>(_ elements: [Element]) -> ArraySlice<Element> {
    let rest = elements.dropFirst(max(specification.fetchOffset, 0))
    return specification.fetchLimit > 0 ? rest.prefix(specification.fetchLimit) : rest
  }

  private func rows<Resolver: ObjectResolver>(
    _ projection: ResolvedProjection, of objects: [Resolver.Object], resolver: Resolver
  ) throws -> [[Slot]] {
    var evaluation = DictionaryEvaluation(fetch, projection, resolver: resolver)
    let isBounded = specification.fetchLimit > 0 || specification.fetchOffset > 0
    return Array(bounded(try evaluation.rows(of: objects, isBounded: isBounded)))
  }
}
