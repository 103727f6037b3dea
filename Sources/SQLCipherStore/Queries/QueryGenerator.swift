import ObjectModel
import ObjectQuery
import ObjectStore

/// Generates the SQL of one fetch: resolved predicates and expressions become SQL with the same results as the in-memory evaluator.
final class QueryGenerator {
  /// How constants are written.
  enum Constants {
    /// As placeholders. A list has as many as its capacity; a list with capacity -1 is a table made from one placeholder.
    case placeholders(listCapacities: [Int])
    /// All in one placeholder, if a statement cannot have enough placeholders.
    case packed
    /// As literals, for the condition of a partial index.
    case literals([ResolvedConstant])
  }

  let schema: StoreSchema
  let constants: Constants
  /// The aggregates of groups, by their index in the projection.
  var groupAggregates: [SQLFragment] = []
  /// How integers are added.
  var sums = SQLFunctions.IntegerSums.exact
  private var aliasCount = 0
  /// Member conditions that are evaluated per fetched object, although an index would find their members.
  var correlatedConditions: Set<ResolvedExists> = []
  /// A member count of the fetched object that the predicate compares and that is also selected or sorted by.
  var joinedCount: JoinedCount?
  /// The comparison that the query starts with, by the objects whose value it compares.
  var driving: ResolvedComparison?
  /// The comparison of the fetched objects with a long list, and the list's alias. The query reads the list first, then its objects.
  var listed: (comparison: ResolvedComparison, alias: String)?
  /// Whether another operand of the AND is selective. The current operand is then better evaluated for each of the few objects.
  private(set) var hasSelectiveSibling = false

  init(schema: StoreSchema, constants: Constants) {
    self.schema = schema
    self.constants = constants
  }

  /// Returns an unused table alias.
  func makeAlias(_ prefix: String) -> String {
    defer { aliasCount += 1 }
    return "\(prefix)\(aliasCount)"
  }

  // MARK: Conditions

  /// Returns a condition that is true if the predicate is, and false or NULL otherwise.
  func condition(_ predicate: ResolvedPredicate, _ scopes: [QueryScope]) throws -> SQLFragment {
    switch predicate {
    case .constant(let value): return value ? "1" : "0"
    case .and(let items):
      let outer = hasSelectiveSibling
      defer { hasSelectiveSibling = outer }
      if items.contains(where: { isSelective($0, scope: scopes.count - 1) }) { hasSelectiveSibling = true }
      return .joined(
        try items.map { item in
          if case .or = item { return try condition(item, scopes).parenthesized }
          return try condition(item, scopes)
        }, by: " AND ")
    case .or(let items):
      if let merged = try searchInSeveral(items, scopes) { return .joined(merged, by: " OR ") }
      return .joined(
        try items.map { item in
          if case .and = item { return try condition(item, scopes).parenthesized }
          return try condition(item, scopes)
        }, by: " OR ")
    case .isNull(let expression, let isNegated):
      return "\(try presence(expression, scopes)) \(isNegated ? "IS NOT NULL" : "IS NULL")"
    case .comparison(let comparison): return try self.comparison(comparison, scopes)
    case .exists(let exists): return try self.exists(exists, scopes)
    case .block(let block, _): throw FetchPredicateError.blockPredicate(name: block.name)
    }
  }

  private func comparison(_ comparison: ResolvedComparison, _ scopes: [QueryScope]) throws -> SQLFragment {
    if scopes.count == 1, let listed, comparison == listed.comparison { return "\(scopes[0].key) = \(listed.alias).v" }
    if scopes.count == 1, comparison == driving, let first = try drivingAtDestination(comparison, scopes[0]) { return first }
    if case .expression(let right) = comparison.right, comparison.op == .equal {
      return try equality(comparison, right, scopes)
    }
    if let counted = try countedOwners(comparison, scopes) { return counted }
    let plain = try uncertainComparison(comparison, scopes)
    // NULL is not true, so its negation is.
    return comparison.isNegated ? "\(plain.parenthesized) IS NOT 1" : plain
  }

  /// Returns an equality. `IS` treats two missing values as equal and never returns NULL.
  private func equality(_ comparison: ResolvedComparison, _ right: ResolvedExpression, _ scopes: [QueryScope]) throws -> SQLFragment {
    let isConstant: Bool
    if case .constant = right { isConstant = true } else { isConstant = false }
    if comparison.domain == .mixedDecimal || comparison.options.contains(.localeSensitive) {
      let equal = try ordered(comparison, "=", right, scopes)
      let missing: SQLFragment = "\(try value(comparison.left, scopes)) IS NULL AND \(try value(right, scopes)) IS NULL"
      let either: SQLFragment = isConstant ? equal : "((\(missing)) OR \(equal))"
      return comparison.isNegated ? "(\(either)) IS NOT 1" : either
    }
    if comparison.domain == .object, !isConstant, root(of: comparison.left, scopes) != root(of: right, scopes) {
      let both: SQLFragment = "(\(try value(comparison.left, scopes)) IS NULL AND \(try value(right, scopes)) IS NULL)"
      return comparison.isNegated ? "NOT \(both)" : both
    }
    let leftSide = try operand(comparison.left, comparison, isFolded: false, scopes)
    let rightSide = try operand(right, comparison, isFolded: isConstant, scopes)
    if comparison.isNegated { return "\(leftSide) IS NOT \(rightSide)" }
    return isConstant ? "\(leftSide) = \(rightSide)" : "\(leftSide) IS \(rightSide)"
  }

  /// Returns a comparison that is NULL if a side has no value.
  private func uncertainComparison(_ comparison: ResolvedComparison, _ scopes: [QueryScope]) throws -> SQLFragment {
    switch comparison.right {
    case .list(let number):
      return "\(try operand(comparison.left, comparison, isFolded: false, scopes)) IN \(list(number))"
    case .range(let low, let high):
      let lower = try ordered(comparison, ">=", low, scopes)
      let upper = try ordered(comparison, "<=", high, scopes)
      return "(\(lower) AND \(upper))"
    case .expression(let right):
      switch comparison.op {
      case .equal: return try ordered(comparison, "=", right, scopes)
      case .less: return try ordered(comparison, "<", right, scopes)
      case .lessOrEqual: return try ordered(comparison, "<=", right, scopes)
      case .greater: return try ordered(comparison, ">", right, scopes)
      case .greaterOrEqual: return try ordered(comparison, ">=", right, scopes)
      default: return try textOperator(comparison, right, scopes)
      }
    }
  }

  private func ordered(
    _ comparison: ResolvedComparison, _ sign: String, _ right: ResolvedExpression, _ scopes: [QueryScope]
  ) throws -> SQLFragment {
    var isConstant = false
    if case .constant = right { isConstant = true }
    if comparison.domain == .mixedDecimal {
      return "\(SQLFunctions.compareNumbers)(\(try value(comparison.left, scopes)), \(try value(right, scopes))) \(sign) 0"
    }
    let left = try operand(comparison.left, comparison, isFolded: false, scopes)
    // The constants of a range are not folded yet. Folding twice is harmless.
    let other = try operand(right, comparison, isFolded: isConstant && comparison.op != .between, scopes)
    if comparison.domain == .text, comparison.options.contains(.localeSensitive) {
      return "\(SQLFunctions.compareLocalized)(\(left), \(other)) \(sign) 0"
    }
    return "\(left) \(sign) \(other)"
  }

  private func textOperator(
    _ comparison: ResolvedComparison, _ right: ResolvedExpression, _ scopes: [QueryScope]
  ) throws -> SQLFragment {
    var constant: Int?
    if case .constant(let number, _) = right { constant = number }
    let options = comparison.options.intersection([.caseInsensitive, .diacriticInsensitive])
    switch comparison.op {
    case .beginsWith:
      let left = try operand(comparison.left, comparison, isFolded: false, scopes)
      // A range can use an index. It evaluates the left side twice, which must be cheap.
      if let constant, options.isEmpty || hasFoldedIndex(comparison.left, options), comparison.left.isPath || isIndexed(comparison.left),
        case .placeholders = constants
      {
        return "(\(left) >= \(SQLFragment(.constant(constant))) AND \(left) < \(SQLFragment(.prefixEnd(constant))))"
      }
      return "\(SQLFunctions.begins)(\(left), \(try operand(right, comparison, isFolded: constant != nil, scopes)))"
    case .endsWith, .contains:
      let name = comparison.op == .endsWith ? SQLFunctions.ends : SQLFunctions.contains
      let left = try operand(comparison.left, comparison, isFolded: false, scopes)
      return "\(name)(\(left), \(try operand(right, comparison, isFolded: constant != nil, scopes)))"
    case .in:
      let left = try operand(comparison.left, comparison, isFolded: false, scopes)
      return "\(SQLFunctions.contains)(\(try operand(right, comparison, isFolded: constant != nil, scopes)), \(left))"
    case .search:
      if let found = try search(comparison, right, scopes) { return found }
      return "\(SQLFunctions.search)(\(try value(comparison.left, scopes)), \(try value(right, scopes)))"
    case .like, .matches:
      let name = comparison.op == .like ? SQLFunctions.like : SQLFunctions.matches
      // The functions for patterns fold the text themselves.
      let text = try value(comparison.left, scopes)
      return "\(name)(\(text), \(try value(right, scopes)), \(Int(comparison.options.rawValue)))"
    default:
      throw StoreError(.misplacedOperator(comparison.op.rawValue), operation: .fetch)
    }
  }

  /// Returns one side of a comparison, folded if the options require it and it is not folded yet.
  private func operand(
    _ expression: ResolvedExpression, _ comparison: ResolvedComparison, isFolded: Bool, _ scopes: [QueryScope]
  ) throws -> SQLFragment {
    let fragment = try value(expression, scopes)
    guard comparison.domain == .text, comparison.isFolded, !isFolded else { return fragment }
    let options = comparison.options.intersection([.caseInsensitive, .diacriticInsensitive])
    return folded(fragment, expression, options)
  }

  /// Returns the folded form of an expression, exactly as its index contains it if there is one.
  func folded(_ value: SQLFragment, _ expression: ResolvedExpression, _ options: ComparisonOptions) -> SQLFragment {
    "\(hasFoldedIndex(expression, options) ? SQLFunctions.foldIndexed : SQLFunctions.fold)(\(value), \(Int(options.rawValue)))"
  }

  /// Returns whether an index contains an attribute in this folding.
  func hasFoldedIndex(_ expression: ResolvedExpression, _ options: ComparisonOptions) -> Bool {
    guard case .path(let path) = expression, case .attribute(let attribute) = path.terminal, case .placeholders = constants else {
      return false
    }
    return schema.indexed.contains(attribute.slot, folding: options)
  }

  // MARK: Lists

  /// Makes a query for the objects in a long list start with the list. The list is sorted by key and has no duplicates, so SQLite need not
  /// sort it.
  ///
  /// - Returns: The source that replaces the objects' table, or `nil` if the predicate contains no such list.
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

  private func list(_ number: Int) -> SQLFragment {
    switch constants {
    case .placeholders(let capacities):
      let capacity = number < capacities.count ? capacities[number] : -1
      guard capacity > 0 else { return "(SELECT v FROM \(SQLFunctions.list)(\(SQLFragment(.list(number)))))" }
      var fragment = SQLFragment("(")
      for index in 0..<capacity {
        fragment.text += index == 0 ? "?" : ", ?"
        fragment.binders.append(.listMember(number, index))
      }
      fragment.text += ")"
      return fragment
    case .packed: return "(SELECT v FROM \(SQLFunctions.list)(\(PackedConstants.function)(?1, \(number))))"
    case .literals(let values):
      guard case .slots(let slots) = values[number] else { return "()" }
      return "(\(slots.map(SQLLiteral.text).joined(separator: ", ")))"
    }
  }
}

extension ResolvedExpression {
  fileprivate var isPath: Bool {
    if case .path = self { true } else { false }
  }
}

// MARK: - Analyzing predicates

extension QueryGenerator {
  /// Returns the to-one paths from an object that must have a destination for a condition to be true.
  ///
  /// Their joins can be inner joins, which lets SQLite start at the other end.
  static func requiredSteps(of predicate: ResolvedPredicate, scope: Int) -> Set<[ResolvedStep]> {
    switch predicate {
    case .constant, .or, .exists, .block: return []
    case .and(let items): return items.reduce(into: []) { $0.formUnion(requiredSteps(of: $1, scope: scope)) }
    case .isNull(let expression, let isNegated): return isNegated ? requiredSteps(of: expression, scope: scope) : []
    case .comparison(let comparison):
      guard !comparison.isNegated else { return [] }
      switch comparison.right {
      case .list, .range: return requiredSteps(of: comparison.left, scope: scope)
      case .expression(let right):
        if case .constant = right { return requiredSteps(of: comparison.left, scope: scope) }
        // Two missing values are equal.
        if comparison.op == .equal { return [] }
        return requiredSteps(of: comparison.left, scope: scope).union(requiredSteps(of: right, scope: scope))
      }
    }
  }

  /// Returns the paths that must have a destination for an expression to have a value.
  static func requiredSteps(of expression: ResolvedExpression, scope: Int) -> Set<[ResolvedStep]> {
    switch expression {
    case .path(let path):
      guard path.scope == scope else { return [] }
      return Set(path.steps.indices.map { Array(path.steps[...$0]) })
    case .function(let function, let arguments, _):
      guard !function.takesMissingValues else { return [] }
      return arguments.reduce(into: []) { $0.formUnion(requiredSteps(of: $1, scope: scope)) }
    case .constant, .aggregate, .groupAggregate, .conditional: return []
    }
  }

  /// Returns whether an index finds the few members that meet a condition.
  func isSelective(_ predicate: ResolvedPredicate, scope: Int) -> Bool {
    switch predicate {
    case .and(let items): return items.contains { isSelective($0, scope: scope) }
    case .comparison(let comparison):
      if comparison.op == .search { return isAnsweredByFullText(comparison, scope: scope) }
      guard !comparison.isNegated, !comparison.options.contains(.localeSensitive), comparison.op == .equal || comparison.op == .in,
        case .path(let path) = comparison.left, path.scope == scope
      else { return false }
      if case .expression(let right) = comparison.right {
        guard case .constant = right else { return false }
      }
      switch path.terminal {
      case .attribute(let attribute): return schema.indexed.begins(with: attribute.slot, folding: comparison.options)
      case .object:
        guard let last = path.steps.last else { return true }
        return last.relationship.inverseID != nil
      case .entity: return false
      }
    case .exists(let exists):
      return !exists.isNegated && isSelective(exists.condition, scope: exists.collection.memberScope)
    case .constant, .or, .isNull, .block: return false
    }
  }

  /// Returns whether a condition on a member refers to objects of outer scopes.
  func refersOutside(_ predicate: ResolvedPredicate, scope: Int) -> Bool {
    switch predicate {
    case .constant, .block: return false
    case .and(let items), .or(let items): return items.contains { refersOutside($0, scope: scope) }
    case .isNull(let expression, _): return refersOutside(expression, scope: scope)
    case .exists(let exists): return exists.collection.scope < scope || refersOutside(exists.condition, scope: scope)
    case .comparison(let comparison):
      if refersOutside(comparison.left, scope: scope) { return true }
      switch comparison.right {
      case .list: return false
      case .range(let low, let high): return refersOutside(low, scope: scope) || refersOutside(high, scope: scope)
      case .expression(let right): return refersOutside(right, scope: scope)
      }
    }
  }

  private func refersOutside(_ expression: ResolvedExpression, scope: Int) -> Bool {
    switch expression {
    case .constant, .groupAggregate: return false
    case .path(let path): return path.scope < scope
    case .function(_, let arguments, _): return arguments.contains { refersOutside($0, scope: scope) }
    case .conditional(let condition, let first, let second):
      return refersOutside(condition, scope: scope) || refersOutside(first, scope: scope) || refersOutside(second, scope: scope)
    case .aggregate(let aggregate):
      return aggregate.collection.scope < scope || refersOutside(aggregate.condition, scope: scope)
        || aggregate.value.map { refersOutside($0, scope: scope) } ?? false
    }
  }
}
