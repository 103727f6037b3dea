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

// MARK: - Resolving values

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

// MARK: - Merging the results of several stores

extension FetchSpecification {
  /// Returns the dictionary fetch with its sort keys as additional columns and without an offset, so that its rows can be merged with those
  /// of other stores.
  ///
  /// - Parameter entity: The fetched entity.
  package func forMerging(of entity: CompiledEntity) -> FetchSpecification {
    var specification = self
    let names = Dictionary(propertiesToFetch.map { ($0.name, $0.expression) }) { first, _ in first }
    if propertiesToFetch.isEmpty { specification.propertiesToFetch = entity.storedAttributeNames.map { .keyPath($0) } }
    specification.propertiesToFetch += sortDescriptors.enumerated().map { number, descriptor in
      // No name that a caller uses looks like this.
      .expression(descriptor.expression.replacing(names), as: "\u{0}\(number)")
    }
    if fetchLimit > 0 {
      let window = fetchLimit.addingReportingOverflow(fetchOffset)
      specification.fetchLimit = window.overflow ? 0 : window.partialValue
    }
    specification.fetchOffset = 0
    return specification
  }
}

extension CompiledEntity {
  /// The attributes in dictionaries if no properties are specified.
  var storedAttributeNames: [String] {
    slots.filter { $0.attribute != nil && !$0.isTransient && $0.kind != .none }.map(\.name)
  }
}

/// Parses the predicates and expressions of a model's indexes. An index never changes the results of a fetch, so an invalid one is ignored.
package enum IndexFormats {
  /// Returns the predicate of a partial index.
  ///
  /// - Throws: ``PredicateFormatError``, or ``FetchPredicateError`` for names that the model does not have.
  package static func resolved(_ format: String, of entity: CompiledEntity, in model: CompiledModel) throws -> ResolvedFetch {
    try FetchResolver(model: model).resolve(FetchPredicate(format: format, argumentArray: []), entity: entity)
  }

  /// Returns warnings for the invalid indexes of a model, in the order of the model.
  package static func warnings(in model: CompiledModel) -> [ModelIssue] {
    model.model.entities.flatMap { description -> [ModelIssue] in
      guard let entity = model.entity(named: description.name) else { return [] }
      return entity.entityDescription.indexes.flatMap { index in
        problems(of: index, entity, model).map { problem in
          ModelIssue(entityName: entity.name, propertyName: index.name, reason: problem, instead: "the index is left out")
        }
      }
    }
  }

  private static func problems(of index: FetchIndexDescription, _ entity: CompiledEntity, _ model: CompiledModel) -> [String] {
    var problems: [String] = []
    if let format = index.partialIndexPredicate {
      do { _ = try resolved(format, of: entity, in: model) } catch { problems.append("the index's predicate cannot be read: \(error)") }
    }
    for format in index.elements.compactMap(\.expression) {
      do {
        let descriptor = FetchSortDescriptor(expression: try FetchExpression(format: format))
        _ = try FetchResolver(model: model).resolve(nil, sortDescriptors: [descriptor], entity: entity)
      } catch {
        problems.append("the index's expression cannot be read: \(error)")
      }
    }
    return problems
  }
}
