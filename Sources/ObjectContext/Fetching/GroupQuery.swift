import ObjectModel
import ObjectQuery
import ObjectStore

/// The partial result of an aggregate that each store returns.
enum PartialAggregate {
  /// The column of a count.
  case count(Int)
  /// The columns of a sum of integers and of the number of values summed.
  case sum(Int, count: Int)
  /// The column of the minimum or maximum.
  case extreme(Int)
  /// The column of the values. Each distinct value has a row with the number of objects that have it.
  case values(Int)
  /// A constant value that is the same for all objects.
  case same(Slot)
}

/// A fetch of groups from several stores: the request for each store, and the columns, conditions, and order computed from the answers.
///
/// Stores compute counts, minima, maxima, and sums and averages of integers. Other aggregates cannot be combined from partial results
/// without error: medians, modes, standard deviations, distinct values, and sums of doubles and decimals, which must be rounded only once.
/// For these, the stores return the distinct values and the number of objects with each value. Each store receives one request, so its
/// answer is a consistent snapshot.
struct GroupQuery {
  /// The request for each store.
  private(set) var specification: FetchSpecification
  private(set) var projection: ResolvedProjection
  private(set) var sortKeys: [ResolvedSortKey]
  /// The constants shared by all groups. The constants of an individual group follow them.
  private(set) var constants: [ResolvedConstant]
  private(set) var keyColumns: [Int] = []
  /// The columns that supply the constants of an individual group, in order.
  private(set) var carried: [Int] = []
  private(set) var partials: [PartialAggregate] = []
  /// The column with the number of objects in a row.
  private(set) var countColumn = 0

  private let sources: ResolutionSources
  private var columns: [FetchExpression: Int] = [:]
  private var positions: [FetchExpression: Int] = [:]
  private var truth = 0

  /// Creates the store request of a fetch of groups.
  ///
  /// - Parameter sumsInStores: Whether stores sum integers. Pass false to fetch the individual values after a sum overflowed 64 bits.
  init(_ request: FetchSpecification, model: CompiledModel, sumsInStores: Bool) throws {
    let (fetch, sources) = try FetchResolver(model: model).resolveWithSources(request)
    guard let projection = fetch.projection else { throw Self.inseparable(request) }
    self.sources = sources
    self.projection = projection
    sortKeys = fetch.sortKeys
    constants = fetch.constants
    specification = request
    specification.resultType = .dictionaries
    specification.propertiesToFetch = []
    specification.havingPredicate = nil
    specification.returnsDistinctResults = false
    specification.sortDescriptors = []
    (specification.fetchLimit, specification.fetchOffset) = (0, 0)
    keyColumns = try zip(request.propertiesToGroupBy, projection.groupKeys).map { property, key in
      guard Self.isFetched(key) else { throw Self.inseparable(request) }
      return column(property.expression)
    }
    countColumn = column(.function("count:", [.evaluatedObject]))
    partials = try projection.aggregates.map { try partial($0, sumsInStores: sumsInStores) }
    truth = constants.count
    constants.append(.slot(.int(1)))
    for index in projection.columns.indices {
      self.projection.columns[index].expression = try finished(projection.columns[index].expression)
    }
    for index in sortKeys.indices { sortKeys[index].expression = try finished(sortKeys[index].expression) }
    self.projection.having = try finished(projection.having)
  }

  private static func inseparable(_ request: FetchSpecification) -> StoreError {
    return StoreError(.groupsInSeveralStores(entity: request.entityName), operation: .fetch)
  }

  // MARK: Store request

  /// Returns the column of an expression; adds the column if necessary.
  private mutating func column(_ source: FetchExpression) -> Int {
    if let known = columns[source] { return known }
    let number = specification.propertiesToFetch.count
    specification.propertiesToFetch.append(.expression(source, as: Self.name(number)))
    columns[source] = number
    return number
  }

  /// A generated column name, which cannot clash with a caller's.
  private static func name(_ number: Int) -> String { "\u{0}\(number)" }

  /// Whether stores can return the values of an expression. Object values need an entity, which is known only for paths.
  private static func isFetched(_ expression: ResolvedExpression) -> Bool {
    if case .path = expression { return true }
    return ![.object, .entity, .opaque].contains(expression.type)
  }

  private mutating func partial(_ aggregate: ResolvedGroupAggregate, sumsInStores: Bool) throws -> PartialAggregate {
    guard let value = aggregate.value else { return .count(countColumn) }
    guard value.dependsOnObjects else {
      let evaluator = PredicateEvaluator(predicate: .constant(true), constants: constants, resolver: ManagedObjectResolver())
      return .same(try evaluator.value(of: value, forGroup: nil))
    }
    guard let source = sources[value] else { throw Self.inseparable(specification) }
    switch aggregate.function {
    case .minimum: return .extreme(column(.function("min:", [source])))
    case .maximum: return .extreme(column(.function("max:", [source])))
    case .count where !aggregate.isDistinct: return .count(column(.function("count:", [source])))
    case .sum, .average:
      guard sumsInStores, !aggregate.isDistinct, value.type == .integer || value.type == .boolean, !value.mayOverflow else { break }
      return .sum(column(.function("sum:", [source])), count: column(.function("count:", [source])))
    case .count, .median, .mode, .standardDeviation, .only: break
    }
    guard Self.isFetched(value) else { throw Self.inseparable(specification) }
    let values = column(source)
    let property = FetchProperty.expression(source, as: Self.name(values))
    if !specification.propertiesToGroupBy.contains(where: { $0.expression == source }) {
      specification.propertiesToGroupBy.append(property)
    }
    return .values(values)
  }

  // MARK: Computation

  /// Replaces the parts of an expression that stores compute with constants of the group. The predicate's nesting limit bounds the
  /// recursion.
  private mutating func finished(_ expression: ResolvedExpression) throws -> ResolvedExpression {
    switch expression {
    case .constant, .groupAggregate: return expression
    case _ where !expression.hasGroupAggregate && expression.dependsOnObjects && sources[expression] != nil:
      return .constant(carry(sources[expression] ?? .evaluatedObject), expression.type)
    case .path, .aggregate: throw Self.inseparable(specification)
    case .function(let function, let arguments, let type):
      return .function(function, try arguments.map { try finished($0) }, type)
    case .conditional(let condition, let first, let second):
      return .conditional(try finished(condition), try finished(first), try finished(second))
    }
  }

  private mutating func finished(_ predicate: ResolvedPredicate) throws -> ResolvedPredicate {
    switch predicate {
    case .constant: return predicate
    case .and(let items): return .and(try items.map { try finished($0) })
    case .or(let items): return .or(try items.map { try finished($0) })
    case .isNull(let expression, let isNegated): return .isNull(try finished(expression), isNegated: isNegated)
    case .comparison(var comparison):
      comparison.left = try finished(comparison.left)
      switch comparison.right {
      case .expression(let right): comparison.right = .expression(try finished(right))
      case .range(let low, let high): comparison.right = .range(try finished(low), try finished(high))
      case .list: break
      }
      return .comparison(comparison)
    case .exists, .block:
      guard let source = sources[predicate] else { throw Self.inseparable(specification) }
      let number = carry(.conditional(source, .constant(.int(1)), .constant(.int(0))))
      return .comparison(
        ResolvedComparison(
          left: .constant(number, .integer), op: .equal, right: .expression(.constant(truth, .integer)), domain: .number))
    }
  }

  /// Returns the index of the group constant that holds the value of an expression.
  private mutating func carry(_ source: FetchExpression) -> Int {
    if let known = positions[source] { return known }
    let number = constants.count + carried.count
    carried.append(column(source))
    positions[source] = number
    return number
  }
}

extension StoreError.Reason {
  static func groupsInSeveralStores(entity: String) -> Self {
    Self(
      .invalidRequest,
      "The groups of “\(entity)” are in several stores, and part of the request cannot be evaluated in each store separately. Name one store in affectedStores, or use a property to fetch for that part.",
      entity: entity)
  }
}
