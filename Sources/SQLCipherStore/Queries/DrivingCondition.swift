import ObjectModel
import ObjectQuery
import ObjectStore

/// A condition that an index answers, so that a fetch can begin with it.
///
/// SQLite cannot know whether few objects have a tag or few are larger than a size: it has no statistics of a constant's frequency. Where a fetch can
/// begin with the members of a relationship or with something else, both are counted first, up to a bound; this costs far less than a wrong beginning.
enum DrivingCondition {
  /// A comparison of the object's own column.
  case own(ResolvedPredicate, isUnique: Bool)
  /// A condition on members, by which the owners are found.
  case members(ResolvedExists)
  /// A comparison of a value of another object, by whose key the objects are found: all those other objects are gone through, if they are few.
  case destination(ResolvedComparison)

  /// More are not counted.
  static let greatestCount = 4
  /// How many are counted at most: first few, as most answers are small.
  static let bounds = [64, 4_096]
}

/// The count of what a fetch would begin with.
struct DrivingProbe: Sendable {
  /// The statement, bounded by a value that is bound to ``SQLBinder/probe``.
  let sql: SQLFragment
  /// The index of the table whose rows are counted, where they are all that is counted: their number is remembered.
  let table: Int?
}

/// The ways in which a fetch can begin.
struct DrivingChoice: Sendable {
  /// What each way begins with.
  let probes: [DrivingProbe]
  /// The plan of each way.
  let plans: [SelectPlan]
}

extension QueryGenerator {
  /// The conditions that a fetch can begin with, where there is a choice that SQLite does not see, or cannot know enough for.
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
    return (hasMembers && result.count > 1) || hasDestination ? Array(result.prefix(DrivingCondition.greatestCount)) : []
  }

  /// The relationship to the objects that a comparison with a constant asks about, and the comparison as they see it; nil where it asks about none, where
  /// an index finds them anyway, or where their owners are not found by their keys.
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

  /// A comparison as a condition on the key of the object whose value it compares.
  func beginningAtDestination(_ comparison: ResolvedComparison, _ scope: QueryScope) throws -> SQLFragment? {
    guard let (step, inner) = destination(of: comparison), let table = schema.tableIfHeld(step.destinationEntity),
      let key = scope.key([ResolvedStep(step)], in: self)
    else { return nil }
    let other = QueryScope(
      table: table, alias: makeAlias("t"), of: step.destinationEntity, required: Self.requiredSteps(of: .comparison(inner), scope: 0))
    let condition = try self.condition(.comparison(inner), [other])
    return "\(key) IN (SELECT \(other.key) FROM \(table.name) AS \(other.alias)\(other.joinText) WHERE \(condition))"
  }

  /// Whether an index of the object's own column answers a comparison, and whether it finds one object at most; nil where none does.
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

  /// Whether a comparison asks for a value that one object at most has.
  func isUnique(_ comparison: ResolvedComparison) -> Bool {
    guard !comparison.isNegated, comparison.op == .equal, comparison.options.isEmpty, comparison.domain != .mixedDecimal,
      comparison.hasConstantRight, case .path(let path) = comparison.left, path.steps.isEmpty,
      case .attribute(let attribute) = path.terminal
    else { return false }
    let entity = schema.model.entities[attribute.slot.declaringEntity].entityDescription
    return entity.uniquenessConstraints.contains([attribute.slot.name])
  }

  /// A count of what a condition finds.
  func probe(_ condition: DrivingCondition, _ scope: QueryScope) throws -> DrivingProbe? {
    switch condition {
    case .own(let predicate, _):
      let text = try self.condition(predicate, [scope])
      return DrivingProbe(
        sql: "SELECT count(*) FROM (SELECT 1 FROM \(scope.table.name) AS \(scope.alias) WHERE \(text) LIMIT \(SQLFragment(.probe)))",
        table: nil)
    case .members(let exists):
      guard let query = try members(of: exists.collection, where: exists.condition, [scope], flattens: true) else { return nil }
      return DrivingProbe(sql: "SELECT count(*) FROM (\(query.text) LIMIT \(SQLFragment(.probe)))", table: nil)
    case .destination(let comparison):
      guard let (step, _) = destination(of: comparison), let table = schema.tableIfHeld(step.destinationEntity) else { return nil }
      return DrivingProbe(
        sql: "SELECT count(*) FROM (SELECT 1 FROM \(table.name) LIMIT \(SQLFragment(.probe)))", table: table.index)
    }
  }
}

extension SQLBinder {
  /// Whether it is a whole list.
  fileprivate var isList: Bool {
    if case .list = self { true } else { false }
  }
}

extension QueryGenerator {
  /// Lets a query that asks for the objects of a long list begin with the list: it is in the order of the keys, and has each once, so that SQLite
  /// need not sort it.
  ///
  /// - Returns: What is read in place of the objects' table; nil where it asks for no such.
  func begin(withListIn predicate: ResolvedPredicate, of table: EntityTable) -> SQLFragment? {
    guard case .placeholders(let capacities) = constants else { return nil }
    for case .comparison(let comparison) in predicate.conjuncts {
      guard case .list(let number) = comparison.right, !comparison.isNegated, capacities[number] < 0,
        case .path(let path) = comparison.left, path.scope == 0, path.steps.isEmpty, case .object = path.terminal
      else { continue }
      let alias = makeAlias("l")
      listed = (comparison, alias)
      return "\(SQLFunctions.list)(\(SQLFragment(.list(number)))) AS \(alias) CROSS JOIN \(table.name)"
    }
    return nil
  }
}

extension SelectGenerator {
  /// The plan of a fetch, with others to choose from where it can begin in several ways.
  func planWithChoice(
    _ fetch: ResolvedFetch, _ specification: FetchSpecification, _ shape: FetchShape, number: Int?
  ) throws -> SelectPlan {
    let constants = QueryGenerator.Constants.placeholders(listCapacities: shape.listCapacities)
    func plan(_ beginning: DrivingCondition?, number: Int?) throws -> SelectPlan {
      try self.plan(fetch, specification, shape, constants, number: number, beginning: beginning)
    }
    let conditions = QueryGenerator(schema: schema, constants: constants).drivingConditions(of: fetch.predicate, entity: fetch.entity)
    if let unique = conditions.first(where: \.findsOne) { return try plan(unique, number: number) }
    let first = try plan(nil, number: number)
    // To search for each member of a long list costs more than a count may.
    let isCountable = first.binders.count <= Self.greatestBinderCount && !first.binders.contains(where: \.isList)
    guard !conditions.isEmpty, isCountable else { return first }
    let table = try schema.table(of: fetch.entity.number)
    var probes: [DrivingProbe] = []
    for condition in conditions {
      let generator = QueryGenerator(schema: schema, constants: constants)
      let scope = QueryScope(table: table, alias: generator.makeAlias("t"), of: fetch.entity.number)
      guard let probe = try generator.probe(condition, scope) else { return first }
      probes.append(probe)
    }
    return first.with(DrivingChoice(probes: probes, plans: try conditions.map { try plan($0, number: nil) }))
  }
}

extension DrivingCondition {
  /// Whether it finds one object at most.
  var findsOne: Bool {
    if case .own(_, let isUnique) = self { isUnique } else { false }
  }

  /// The conditions on members that are asked for each object then, among all of a predicate.
  func asked(of predicate: ResolvedPredicate) -> Set<ResolvedExists> {
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
  /// Whether an index can answer it.
  var isAnsweredByIndex: Bool {
    switch self {
    case .equal, .in, .less, .lessOrEqual, .greater, .greaterOrEqual, .between, .beginsWith: true
    default: false
    }
  }
}
