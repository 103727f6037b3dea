// FetchEvaluation: answers a fetch over rows in memory, for stores without a query language of their own.
public import ObjectModel
public import ObjectQuery

/// A fetch, checked against a model, to be answered over objects in memory.
///
/// A store that holds its whole graph answers `.fetch` requests with it: the predicate, the order, offset and limit, and every kind of result mean what
/// they mean in all stores. Time is linear in the number of candidates, beside sorting and what the resolver takes.
public struct FetchEvaluation: Sendable {
  /// The entity asked.
  public let entity: CompiledEntity
  private let specification: FetchSpecification
  private let fetch: ResolvedFetch
  private let projections: [Projection]

  /// A property of a dictionary: the slots of to-one relationships on the way, and the slot at their end.
  private struct Projection {
    let name: String
    let steps: [Int]
    let slot: CompiledSlot
  }

  /// Checks a fetch against a model.
  ///
  /// - Throws: ``FetchPredicateError`` for a mistake in the predicate or the order, ``StoreError`` for a property that dictionaries cannot have.
  public init(_ specification: FetchSpecification, model: CompiledModel) throws {
    self.specification = specification
    let fetch = try FetchResolver(model: model).resolve(specification)
    self.fetch = fetch
    entity = fetch.entity
    var projections: [Projection] = []
    if specification.resultType == .dictionaries {
      let attributes = fetch.entity.slots.filter { $0.attribute != nil && $0.kind != .none }.map(\.name)
      let names = specification.propertiesToFetch.isEmpty ? attributes : specification.propertiesToFetch.map(\.name)
      projections = try names.map { try Self.projection($0, of: fetch.entity, model: model) }
    }
    self.projections = projections
  }

  private static func projection(_ path: String, of root: CompiledEntity, model: CompiledModel) throws -> Projection {
    var entity = root
    var steps: [Int] = []
    let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    for (position, name) in names.enumerated() {
      let isLast = position == names.count - 1
      switch entity.property(named: name) {
      case .attribute(let slot) where isLast && slot.kind != .none: return Projection(name: path, steps: steps, slot: slot)
      case .toOne(let relationship) where isLast && !relationship.isTransient:
        return Projection(name: path, steps: steps, slot: entity.slots[relationship.index])
      case .toOne(let relationship) where !isLast && !relationship.isTransient:
        steps.append(relationship.index)
        entity = model.entities[relationship.destinationEntity]
      default: throw refusal(of: path, root)
      }
    }
    throw refusal(of: path, root)
  }

  private static func refusal(of path: String, _ entity: CompiledEntity) -> StoreError {
    var error = StoreError(
      .invalidRequest, "A fetch of “\(entity.name)” cannot return “\(path)”: it is no stored attribute or to-one relationship.",
      operation: "fetch")
    error.entityName = entity.name
    return error
  }

  /// Answers the fetch.
  ///
  /// - Parameters:
  ///   - candidates: All objects that may be asked for; those of other entities are passed over. Where the fetch gives no order, theirs holds.
  ///   - resolver: Reads the objects.
  ///   - row: The row of an object.
  public func answer<Resolver: ObjectResolver>(
    among candidates: some Sequence<Resolver.Object>, resolver: Resolver, row: (Resolver.Object) throws -> RowImage?
  ) throws -> PersistentStoreResult {
    let found = try objects(among: candidates, resolver: resolver)
    switch specification.resultType {
    case .objects where specification.includesPropertyValues: return .rows(RowList(try bounded(found).compactMap(row)))
    case .objects, .objectIDs: return .objectIDs(bounded(found).map(resolver.objectID(of:)))
    case .count: return .count(bounded(found).count)
    case .dictionaries: return .dictionaries(try dictionaries(of: found, resolver: resolver))
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
    return try ObjectOrder(fetch, resolver: resolver).sorted(found)
  }

  private func bounded<Element>(_ elements: [Element]) -> ArraySlice<Element> {
    let rest = elements.dropFirst(max(specification.fetchOffset, 0))
    return specification.fetchLimit > 0 ? rest.prefix(specification.fetchLimit) : rest
  }

  private func dictionaries<Resolver: ObjectResolver>(of objects: [Resolver.Object], resolver: Resolver) throws -> DictionaryRows {
    var values = try objects.map { object in
      try projections.map { projection in
        var end: Resolver.Object? = object
        for slot in projection.steps { end = try end.flatMap { try resolver.destination(of: $0, slot: slot) } }
        return try end.map { try resolver.value(of: $0, slot: projection.slot.index) } ?? .null
      }
    }
    if specification.returnsDistinctResults {
      var seen: Set<[Slot]> = []
      values = values.filter { seen.insert($0).inserted }
    }
    let columns = projections.map { DictionaryRows.Column(name: $0.name, attribute: $0.slot.attribute) }
    return DictionaryRows(columns: columns, rows: Array(bounded(values)))
  }
}
