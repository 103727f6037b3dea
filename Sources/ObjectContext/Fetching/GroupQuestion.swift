// GroupQuestion: what each of several stores is asked so that its groups and aggregates can be put together with those of the others.
import ObjectModel
import ObjectQuery
import ObjectStore

/// What of an aggregate a store answers.
enum PartialAggregate {
  /// The column of a count.
  case count(Int)
  /// The columns of a sum of integers and of the count of what was summed.
  case sum(Int, count: Int)
  /// The column of the least or greatest value.
  case extreme(Int)
  /// The column of the values: there is a row for each, which says how many objects have it.
  case values(Int)
  /// One value that all objects have.
  case same(Slot)
}

/// A fetch of groups, taken apart: what stores are asked, and how columns, conditions and order are computed of the answers.
///
/// Counts, least and greatest values, and sums and means of integers are asked as such. Of what cannot be put together of partial results without an error
/// (medians, modes, deviations, different values, and sums of doubles and decimals, which are rounded once) the stores are asked for the values themselves,
/// equal ones with their number. All of that is one request to each store, so a store's part is of one moment.
struct GroupQuestion {
  /// What each store is asked.
  private(set) var specification: FetchSpecification
  private(set) var projection: ResolvedProjection
  private(set) var sortKeys: [ResolvedSortKey]
  /// The constants; those behind them are each group's own.
  private(set) var constants: [ResolvedConstant]
  /// The columns of the group keys.
  private(set) var keyColumns: [Int] = []
  /// The columns whose values the constants of a group are, in order.
  private(set) var carried: [Int] = []
  private(set) var partials: [PartialAggregate] = []
  /// The column of the number of objects of a row.
  private(set) var countColumn = 0

  private let sources: ResolutionSources
  private var columns: [FetchExpression: Int] = [:]
  private var places: [FetchExpression: Int] = [:]
  private var truth = 0

  /// Takes a fetch of groups apart.
  ///
  /// - Parameter sumsInStores: Whether stores sum integers; otherwise they are asked for the values, as where a sum did not fit in 64 bits.
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

  // MARK: What is asked

  /// The column of an expression, which is asked if nobody has asked it yet.
  private mutating func column(_ source: FetchExpression) -> Int {
    if let known = columns[source] { return known }
    let number = specification.propertiesToFetch.count
    specification.propertiesToFetch.append(.expression(source, as: Self.name(number)))
    columns[source] = number
    return number
  }

  /// No name that a caller gives looks like it.
  private static func name(_ number: Int) -> String { "\u{0}\(number)" }

  /// Whether the values of an expression can be told: which entity an object is of is known of paths only.
  private static func isFetched(_ expression: ResolvedExpression) -> Bool {
    if case .path = expression { return true }
    return ![.object, .entity, .opaque].contains(expression.type)
  }

  private mutating func partial(_ aggregate: ResolvedGroupAggregate, sumsInStores: Bool) throws -> PartialAggregate {
    guard let value = aggregate.value else { return .count(countColumn) }
    guard value.dependsOnObjects else {
      let evaluator = PredicateEvaluator(predicate: .constant(true), constants: constants, resolver: LivingObjectResolver())
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

  // MARK: What is computed

  /// An expression of a group with constants in place of what stores are asked. Recursion is bounded as the predicate's nesting is.
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

  /// The number of the constant that stands for an expression of each group.
  private mutating func carry(_ source: FetchExpression) -> Int {
    if let known = places[source] { return known }
    let number = constants.count + carried.count
    carried.append(column(source))
    places[source] = number
    return number
  }
}
