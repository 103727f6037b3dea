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

/// Computes the rows of a fetch of dictionaries from the objects that match its predicate, including grouping and aggregates.
struct DictionaryEvaluation<Resolver: ObjectResolver> {
  private let fetch: ResolvedFetch
  private let projection: ResolvedProjection
  private let resolver: Resolver
  private var evaluator: PredicateEvaluator<Resolver>

  /// A row with its sort values, before offset and limit are applied.
  private struct Row {
    let values: [Slot]
    let order: [Slot]
    /// The values that break ties of the sort values.
    let tie: [Slot]
  }

  /// A group of objects with equal group keys, and its aggregates.
  private struct Group {
    /// A representative object, or nil if the group is empty.
    let object: Resolver.Object?
    let key: [Slot]
    var statistics: [Statistic]
    /// The distinct values seen so far, for each aggregate over distinct values.
    var seen: [Set<Slot>]
  }

  init(_ fetch: ResolvedFetch, _ projection: ResolvedProjection, resolver: Resolver) {
    self.fetch = fetch
    self.projection = projection
    self.resolver = resolver
    evaluator = PredicateEvaluator(predicate: projection.having, constants: fetch.constants, resolver: resolver)
  }

  /// Returns the rows in order. If the fetch has no groups, the objects must already be in the order of the fetch.
  ///
  /// - Parameter isBounded: Whether an offset or limit follows. If so, equal rows are put into a deterministic order.
  mutating func rows(of objects: [Resolver.Object], isBounded: Bool) throws -> [[Slot]] {
    guard projection.isGrouped || projection.isDistinct else { return try objects.map { try converted(try values(of: $0)) } }
    var rows: [Row] = []
    if projection.isGrouped {
      for group in try groups(of: objects) {
        evaluator.groupValues = zip(projection.aggregates, group.statistics).map { $1.isEmpty ? $0.emptyResult : $1.result }
        guard try evaluator.matches(group: group.object) else { continue }
        rows.append(Row(values: try values(of: group.object), order: try order(of: group.object), tie: group.key))
      }
    } else {
      rows = try objects.map { Row(values: try values(of: $0), order: try order(of: $0), tie: []) }
    }
    if projection.isDistinct {
      var seen: Set<[Slot]> = []
      rows = rows.filter { seen.insert($0.values).inserted }.map { Row(values: $0.values, order: $0.order, tie: tie($0.values)) }
    }
    let keys = fetch.sortKeys
    guard !keys.isEmpty || isBounded else { return try rows.map { try converted($0.values) } }
    return try rows.sorted { left, right in
      for (index, key) in keys.enumerated() {
        let order = SlotOrder.compare(left.order[index], right.order[index], by: key.order)
        if order != 0 { return key.isAscending ? order < 0 : order > 0 }
      }
      for index in left.tie.indices {
        let order = SlotOrder.compare(left.tie[index], right.tie[index])
        if order != 0 { return order < 0 }
      }
      return false
    }.map { try converted($0.values) }
  }

  // MARK: Parts

  private func groups(of objects: [Resolver.Object]) throws -> [Group] {
    var groups: [Group] = []
    var indexes: [[Slot]: Int] = [:]
    func add(_ object: Resolver.Object?, _ key: [Slot]) -> Int {
      groups.append(
        Group(
          object: object, key: key,
          statistics: projection.aggregates.map { Statistic($0.function) },
          seen: projection.aggregates.map { _ in [] }))
      indexes[key] = groups.count - 1
      return groups.count - 1
    }
    if projection.groupKeys.isEmpty { _ = add(objects.first, []) }
    for object in objects {
      let key = try projection.groupKeys.map { missingAsNull(try evaluator.value(of: $0, for: object)) }
      let index = indexes[key] ?? add(object, key)
      for (number, aggregate) in projection.aggregates.enumerated() {
        guard let expression = aggregate.value else {
          groups[index].statistics[number].add(.int(1))
          continue
        }
        let value = try evaluator.value(of: expression, for: object)
        if aggregate.isDistinct {
          guard !SlotComparison.isMissing(value), groups[index].seen[number].insert(value).inserted else { continue }
        }
        groups[index].statistics[number].add(value)
      }
    }
    return groups
  }

  private func converted(_ values: [Slot]) throws -> [Slot] { try zip(projection.columns, values).map { try $0.converted($1) } }

  private func values(of object: Resolver.Object?) throws -> [Slot] {
    try projection.columns.map { column in
      if column.content == .object {
        guard let object, let id = try evaluator.objectID(of: column.expression, for: object) else { return .null }
        return .int(id.reference.rawValue)
      }
      return missingAsNull(try evaluator.value(of: column.expression, forGroup: object))
    }
  }

  private func order(of object: Resolver.Object?) throws -> [Slot] {
    try fetch.sortKeys.map { try evaluator.value(of: $0.expression, forGroup: object) }
  }

  /// Returns the values that order distinct rows. Objects are ordered by key.
  private func tie(_ values: [Slot]) -> [Slot] {
    zip(projection.columns, values).map { column, value in
      guard column.content == .object, case .int(let word) = value else { return value }
      return .int(ObjectReference(rawValue: word).key)
    }
  }

  private func missingAsNull(_ value: Slot) -> Slot { SlotComparison.isMissing(value) ? .null : value }
}
