import ObjectModel
import ObjectQuery
import ObjectStore

/// A condition that an index can evaluate, so that a fetch can start with it.
///
/// SQLite has no statistics of how often a constant occurs, so it cannot decide which of two conditions matches fewer rows. If a fetch can
/// start with the members of a relationship or with something else, both are counted first, up to a limit. This costs far less than a wrong
/// start.
enum DrivingCondition {
  /// A comparison of the object's own column.
  case own(ResolvedPredicate, isUnique: Bool)
  /// A condition on members, which determine their owners.
  case members(ResolvedExists)
  /// A comparison of a value of another object, whose key determines the objects. All the other objects are scanned, if they are few.
  case destination(ResolvedComparison)

  /// The maximum number of conditions that are counted.
  static let maximumCount = 4
  /// The limits of the counts: a low one first, as most results are small.
  static let bounds = [64, 4_096]
}

/// A query that counts the rows of a driving condition.
struct SelectivityProbe: Sendable {
  /// The statement, with a limit that is bound to ``SQLBinder/probe``.
  let sql: SQLFragment
  /// The index of the table, if all of its rows are counted. The count is then cached.
  let table: Int?
}

/// The alternative plans of a fetch.
struct PlanAlternatives: Sendable {
  let probes: [SelectivityProbe]
  let plans: [SelectPlan]
}

extension QueryGenerator {
  /// Returns the conditions that a fetch can start with, if SQLite cannot find or judge the alternatives itself; otherwise an empty array.
  func drivingConditions(of predicate: ResolvedPredicate, entity: CompiledEntity) -> [DrivingCondition] {
    var result: [DrivingCondition] = []
    var (hasMembers, hasDestination) = (false, false)
    for item in predicate.conjuncts {
      if case .exists(let exists) = item, canBegin(with: exists) {
        result.append(.members(exists))
        hasMembers = true
      } else if case .comparison(let comparison) = item {
        if let isUnique = ownIndex(of: comparison) {
          result.append(.own(item, isUnique: isUnique))
        } else if isAnsweredByFullText(comparison, of: entity) {
          if case .path(let path) = comparison.left, path.steps.isEmpty { result.append(.own(item, isUnique: false)) }
        } else if destination(of: comparison) != nil {
          result.append(.destination(comparison))
          hasDestination = true
        }
      }
    }
    return (hasMembers && result.count > 1) || hasDestination ? Array(result.prefix(DrivingCondition.maximumCount)) : []
  }

  /// Returns the first relationship of a comparison with a constant, and the comparison as seen from its destination.
  ///
  /// Returns `nil` if the comparison has no relationship, if an index finds the destinations anyway, or if their owners cannot be found by
  /// key.
  func destination(of comparison: ResolvedComparison) -> (step: CompiledRelationship, comparison: ResolvedComparison)? {
    guard !comparison.isNegated, comparison.hasConstantRight, case .path(var path) = comparison.left, path.scope == 0,
      case .attribute(let attribute) = path.terminal, let step = path.steps.first?.relationship, step.inverseID != nil,
      comparison.options.contains(.localeSensitive) || !schema.indexed.begins(with: attribute.slot, folding: comparison.options)
        || !comparison.op.isAnsweredByIndex
    else { return nil }
    path.steps.removeFirst()
    var inner = comparison
    inner.left = .path(path)
    return (step, inner)
  }

  /// Returns a comparison as a condition on the key of the object whose value it compares.
  func drivingAtDestination(_ comparison: ResolvedComparison, _ scope: QueryScope) throws -> SQLFragment? {
    guard let (step, inner) = destination(of: comparison), let table = schema.tableIfStored(step.destinationEntity),
      let key = scope.key([ResolvedStep(step)], in: self)
    else { return nil }
    let other = QueryScope(
      table: table, alias: makeAlias("t"), of: step.destinationEntity, required: Self.requiredSteps(of: .comparison(inner), scope: 0))
    let condition = try self.condition(.comparison(inner), [other])
    return "\(key) IN (SELECT \(other.key) FROM \(table.name) AS \(other.alias)\(other.joinText) WHERE \(condition))"
  }

  /// Returns whether a comparison that an index of the object's own column answers matches one object at most, or `nil` if no index answers
  /// it.
  private func ownIndex(of comparison: ResolvedComparison) -> Bool? {
    guard !comparison.isNegated, comparison.hasConstantRight, comparison.op.isAnsweredByIndex,
      !comparison.options.contains(.localeSensitive), case .path(let path) = comparison.left, path.scope == 0
    else { return nil }
    switch path.terminal {
    case .attribute(let attribute):
      guard path.steps.isEmpty, comparison.domain != .mixedDecimal,
        schema.indexed.begins(with: attribute.slot, folding: comparison.options)
      else { return nil }
      return isUnique(comparison)
    case .object:
      if path.steps.isEmpty { return comparison.op == .equal }
      return path.steps.count == 1 && path.steps[0].relationship.inverseID != nil ? false : nil
    case .entity: return nil
    }
  }

  /// Returns whether a comparison matches a unique value, so at most one object.
  func isUnique(_ comparison: ResolvedComparison) -> Bool {
    guard !comparison.isNegated, comparison.op == .equal, comparison.options.isEmpty, comparison.domain != .mixedDecimal,
      comparison.hasConstantRight, case .path(let path) = comparison.left, path.steps.isEmpty,
      case .attribute(let attribute) = path.terminal
    else { return false }
    let entity = schema.model.entities[attribute.slot.declaringEntity].entityDescription
    return entity.uniquenessConstraints.contains([attribute.slot.name])
  }

  /// Returns the count for a condition.
  func probe(_ condition: DrivingCondition, _ scope: QueryScope) throws -> SelectivityProbe? {
    switch condition {
    case .own(let predicate, _):
      let text = try self.condition(predicate, [scope])
      return SelectivityProbe(
        sql: "SELECT count(*) FROM (SELECT 1 FROM \(scope.table.name) AS \(scope.alias) WHERE \(text) LIMIT \(SQLFragment(.probe)))",
        table: nil)
    case .members(let exists):
      guard let query = try members(of: exists.collection, where: exists.condition, [scope], flattens: true) else { return nil }
      return SelectivityProbe(sql: "SELECT count(*) FROM (\(query.text) LIMIT \(SQLFragment(.probe)))", table: nil)
    case .destination(let comparison):
      guard let (step, _) = destination(of: comparison), let table = schema.tableIfStored(step.destinationEntity) else { return nil }
      return SelectivityProbe(
        sql: "SELECT count(*) FROM (SELECT 1 FROM \(table.name) LIMIT \(SQLFragment(.probe)))", table: table.index)
    }
  }
}

extension DrivingCondition {
  var findsOne: Bool {
    if case .own(_, let isUnique) = self { isUnique } else { false }
  }

  /// Returns the member conditions of a predicate that are evaluated per object in this plan.
  func correlated(of predicate: ResolvedPredicate) -> Set<ResolvedExists> {
    var others = Set(predicate.conjuncts.compactMap { if case .exists(let exists) = $0 { exists } else { nil } })
    if case .members(let exists) = self { others.remove(exists) }
    return others
  }
}

extension ResolvedComparison {
  /// Whether the right side is the same for all objects.
  var hasConstantRight: Bool {
    switch right {
    case .expression(.constant), .list, .range(.constant, .constant): true
    default: false
    }
  }
}

extension ComparisonOperator {
  var isAnsweredByIndex: Bool {
    switch self {
    case .equal, .in, .less, .lessOrEqual, .greater, .greaterOrEqual, .between, .beginsWith: true
    default: false
    }
  }
}
