// FetchEvaluation: answers a fetch over rows in memory, for stores without a query language of their own.
public import ObjectModel
public import ObjectQuery

/// A fetch, checked against a model, to be answered over objects in memory.
///
/// A store that holds its whole graph answers `.fetch` requests with it: the predicate, the order, offset and limit, and every kind of result mean what
/// they mean in all stores. The time is linear in the number of candidates, apart from sorting and from what the resolver takes.
public struct FetchEvaluation: Sendable {
  /// The entity asked.
  public let entity: CompiledEntity
  private let specification: FetchSpecification
  private let fetch: ResolvedFetch

  /// Checks a fetch against a model.
  ///
  /// - Throws: ``FetchPredicateError`` for a mistake in the predicate, the order or the properties to fetch.
  public init(_ specification: FetchSpecification, model: CompiledModel) throws {
    self.specification = specification
    fetch = try FetchResolver(model: model).resolve(specification)
    entity = fetch.entity
  }

  /// Answers the fetch.
  ///
  /// - Parameters:
  ///   - candidates: All objects that the fetch may be about; those of other entities are passed over. Where the fetch gives no order, the results have theirs.
  ///   - resolver: Reads the objects.
  ///   - row: The row of an object.
  /// - Throws: ``FetchPredicateError`` for what cannot be computed; what `resolver` and `row` throw.
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
    // Groups and different rows are ordered when they are known.
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
