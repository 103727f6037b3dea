import Foundation
import ObjectModel

/// Resolves one predicate: `+Comparison` creates leaves, `+Path` follows keys, `+Expression` and `+Constant` create the two sides.
struct PredicateResolution {
  let model: CompiledModel
  let allowsTransients: Bool
  /// The value of `now()`. Lazy, because reading the time costs as much as resolving a simple fetch.
  lazy var now = Date()
  /// The entities of the objects in scope: the evaluated object, then members of the enclosing collections.
  var scopes: [CompiledEntity]
  /// The scopes of subquery variables.
  var variables: [String: Int] = [:]
  var constants: [ResolvedConstant] = []
  var transientKeyPaths: [String] = []
  /// Whether equal constants share one index.
  var sharesConstants = false
  /// The aggregates of groups; nil where they are not allowed.
  var groupAggregates: GroupAggregateTable?
  /// The sources of resolved parts; nil if they are not needed.
  var sources: ResolutionSources?

  init(model: CompiledModel, entity: CompiledEntity, allowsTransients: Bool) {
    self.model = model
    self.allowsTransients = allowsTransients
    scopes = [entity]
  }

  /// Resolves a predicate or its negation, moving NOT to the leaves. ``PredicateDepth`` bounds the recursion.
  mutating func resolve(_ predicate: FetchPredicate, isNegated: Bool) throws(FetchPredicateError) -> ResolvedPredicate {
    switch predicate {
    case .constant(let value): return .constant(value != isNegated)
    case .not(let item): return try resolve(item, isNegated: !isNegated)
    case .and(let items): return try join(items, isConjunction: !isNegated, isNegated: isNegated)
    case .or(let items): return try join(items, isConjunction: isNegated, isNegated: isNegated)
    case .comparison(let comparison):
      let resolved = try resolve(comparison, isNegated: isNegated)
      if scopes.count == 1 { sources?.record(resolved, isNegated ? .not(predicate) : predicate) }
      return resolved
    case .block(let block):
      guard allowsTransients else { throw .blockPredicate(name: block.name) }
      return .block(block, isNegated: isNegated)
    }
  }

  private mutating func join(
    _ items: [FetchPredicate], isConjunction: Bool, isNegated: Bool
  ) throws(FetchPredicateError) -> ResolvedPredicate {
    var resolved: [ResolvedPredicate] = []
    // Check every item, even after one that determines the result.
    for item in items { resolved.append(try resolve(item, isNegated: isNegated)) }
    switch PredicateResolution.join(resolved, isConjunction: isConjunction) {
    case .and(let items): return PredicateResolution.join(mergingEqualities(items, isConjunction: true), isConjunction: true)
    case .or(let items): return PredicateResolution.join(mergingEqualities(items, isConjunction: false), isConjunction: false)
    case let single: return single
    }
  }

  /// Returns the conjunction or disjunction of resolved predicates, flattened and without constants.
  static func join(_ items: [ResolvedPredicate], isConjunction: Bool) -> ResolvedPredicate {
    var flat: [ResolvedPredicate] = []
    for item in items {
      switch item {
      case .constant(let value): if value != isConjunction { return item }
      case .and(let inner) where isConjunction: flat += inner
      case .or(let inner) where !isConjunction: flat += inner
      default: flat.append(item)
      }
    }
    if flat.count == 1 { return flat[0] }
    if flat.isEmpty { return .constant(isConjunction) }
    return isConjunction ? .and(flat) : .or(flat)
  }

  /// Returns whether a collection has, or does not have, a member that matches a condition.
  static func exists(_ collection: ResolvedCollection, _ condition: ResolvedPredicate, isNegated: Bool) -> ResolvedPredicate {
    if case .constant(false) = condition { return .constant(isNegated) }
    return .exists(ResolvedExists(collection: collection, condition: condition, isNegated: isNegated))
  }

  /// Adds a constant, and returns its index.
  mutating func add(_ constant: ResolvedConstant) -> Int {
    if sharesConstants, let known = constants.firstIndex(of: constant) { return known }
    constants.append(constant)
    return constants.count - 1
  }

  /// Resolves a sort key.
  mutating func resolve(_ descriptor: FetchSortDescriptor) throws(FetchPredicateError) -> ResolvedSortKey {
    guard PredicateDepth.allows(descriptor.expression) else { throw .nestingTooDeep(limit: PredicateDepth.limit) }
    let name = describe(descriptor.expression)
    let value: ResolvedExpression
    switch try operand(descriptor.expression) {
    case .expression(let expression, _): value = expression
    case .constant(let constant): value = try constantExpression(constant)
    case .list: throw .unsupported(part: "Ordering by \(name)", advice: "Order by one value of each object.")
    }
    let isText = value.type == .text || value.type == .uri
    guard value.type != .opaque else {
      throw .unsupported(part: "Ordering by \(name)", advice: "Order by an attribute that is not transformable.")
    }
    return ResolvedSortKey(expression: value, isAscending: descriptor.isAscending, order: isText ? descriptor.textOrder : .binary)
  }
}

// MARK: - Resolving expressions

/// A side of a comparison before the other side has determined its type.
indirect enum Operand {
  /// A value whose type the other side determines.
  case constant(FetchConstant)
  /// An expression with its name in errors.
  case expression(ResolvedExpression, name: String)
  /// A list, for IN and BETWEEN.
  case list([Operand])

  var name: String {
    switch self {
    case .constant(let value): value.typeName
    case .expression(_, let name): name
    case .list: "a list"
    }
  }

  var isText: Bool {
    switch self {
    case .constant(.string): true
    case .expression(let expression, _): expression.type == .text || expression.type == .uri
    default: false
    }
  }
}

extension PredicateResolution {
  /// Returns the operand for an expression. ``PredicateDepth`` bounds the recursion.
  mutating func operand(_ expression: FetchExpression) throws(FetchPredicateError) -> Operand {
    let operand = try makeOperand(of: expression)
    if scopes.count == 1, case .expression(let resolved, _) = operand { sources?.record(resolved, expression) }
    return operand
  }

  private mutating func makeOperand(of expression: FetchExpression) throws(FetchPredicateError) -> Operand {
    switch expression {
    case .constant(.list(let items)):
      for case .inMemory(let value) in items { throw .inMemoryValue(type: value.typeName) }
      return .list(items.map { .constant($0) })
    case .constant(.inMemory(let value)): throw .inMemoryValue(type: value.typeName)
    case .constant(let value): return .constant(value)
    case .aggregate(let items):
      var operands: [Operand] = []
      for item in items { operands.append(try operand(item)) }
      return .list(operands)
    case .function(let name, let arguments): return try function(name, arguments)
    case .conditional(let condition, let first, let second): return try conditional(condition, first, second)
    case .subquery:
      throw .unsupported(part: "A SUBQUERY by itself", advice: "Compare its .@count, as in SUBQUERY(...).@count > 0.")
    case .path(.subquery(let collection, let variable, let condition), let names):
      return try subquery(collection, variable, condition, names)
    case .element(.subquery(let collection, let variable, let condition), .size):
      return try subquery(collection, variable, condition, ["@count"])
    case .variable(let name) where variables[name] == nil: throw .unsubstitutedVariable(name: name)
    case .evaluatedObject, .keyPath, .variable, .path, .element:
      guard let (parts, scope) = base(of: expression) else {
        if let name = unboundVariable(in: expression) { throw .unsubstitutedVariable(name: name) }
        throw .unsupported(
          part: "A key path or an index after \(describe(startOf: expression))",
          advice: "Start the path at the object or at a SUBQUERY's variable.")
      }
      return .expression(try resolvePath(parts, scope: scope, allowsToMany: false).value, name: describe(expression))
    }
  }

  private func unboundVariable(in expression: FetchExpression) -> String? {
    switch expression {
    case .variable(let name): variables[name] == nil ? name : nil
    case .path(let inner, _), .element(let inner, _): unboundVariable(in: inner)
    default: nil
    }
  }

  /// Returns the name in errors of the start of a path.
  private func describe(startOf expression: FetchExpression) -> String {
    switch expression {
    case .path(let inner, _), .element(let inner, _): describe(startOf: inner)
    default: describe(expression)
    }
  }

  private mutating func subquery(
    _ collection: FetchExpression, _ variable: String, _ condition: FetchPredicate, _ names: [String]
  ) throws(FetchPredicateError) -> Operand {
    guard let name = names.first, let function = PredicateResolution.collectionOperators[name.lowercased()] else {
      throw .unsupported(part: "A key after SUBQUERY", advice: "Use @count, or @sum, @avg, @min or @max with a key.")
    }
    let value = try overCollection(collection) { resolution, collection throws(FetchPredicateError) in
      let outer = resolution.variables[variable]
      resolution.variables[variable] = collection.memberScope
      defer { resolution.variables[variable] = outer }
      let resolved = try resolution.resolve(condition, isNegated: false)
      // The aggregate opens the member's scope itself.
      let entity = resolution.scopes.removeLast()
      defer { resolution.scopes.append(entity) }
      return try resolution.aggregate(
        function, names: Array(names.dropFirst()), of: collection, condition: resolved, keyPath: names.joined(separator: "."))
    }
    return .expression(value, name: "SUBQUERY(...)." + names.joined(separator: "."))
  }

  private mutating func conditional(
    _ condition: FetchPredicate, _ first: FetchExpression, _ second: FetchExpression
  ) throws(FetchPredicateError) -> Operand {
    let condition = try resolve(condition, isNegated: false)
    let (sides, _) = try unified([try operand(first), try operand(second)], of: "TERNARY")
    return .expression(.conditional(condition, sides[0], sides[1]), name: "TERNARY")
  }

  /// Returns the name of an expression in errors: its keys, never a value.
  func describe(_ expression: FetchExpression) -> String {
    switch expression {
    case .constant(let value): value.typeName
    case .evaluatedObject: "SELF"
    case .keyPath(let names): names.joined(separator: ".")
    case .variable(let name): "$\(name)"
    case .path(let base, let names): ([describe(base)] + names).joined(separator: ".")
    case .aggregate: "a list"
    case .function(let name, _): "the function \(name)"
    case .subquery: "SUBQUERY(...)"
    case .conditional: "TERNARY"
    case .element(let base, let index): describe(base) + PredicatePrinter.text(of: index)
    }
  }
}

// MARK: - Merging equalities

extension PredicateResolution {
  private struct Subject: Hashable {
    let left: ResolvedExpression
    let domain: ResolvedDomain
    let options: ComparisonOptions
  }

  /// Returns the operands of AND or OR with `x == 1 OR x == 2 OR x == 3` replaced by `x IN {1, 2, 3}`, which stores evaluate with one
  /// lookup. In an AND, it does the same for `!=`.
  mutating func mergingEqualities(_ items: [ResolvedPredicate], isConjunction: Bool) -> [ResolvedPredicate] {
    guard items.count > 2 else { return items }
    var indexes: [Subject: [Int]] = [:]
    for (index, item) in items.enumerated() {
      if case .comparison(let comparison) = item, comparison.isNegated == isConjunction, isEqualityWithConstants(comparison) {
        indexes[Subject(left: comparison.left, domain: comparison.domain, options: comparison.options), default: []].append(index)
      }
    }
    var merged: [Int: ResolvedPredicate] = [:]
    var dropped: Set<Int> = []
    for (subject, indexes) in indexes where indexes.count > 2 {
      guard let list = list(of: indexes.map { items[$0] }) else { continue }
      merged[indexes[0]] = .comparison(
        ResolvedComparison(
          left: subject.left, op: .in, right: .list(list), domain: subject.domain, options: subject.options, isNegated: isConjunction))
      dropped.formUnion(indexes.dropFirst())
    }
    return items.indices.filter { !dropped.contains($0) }.map { merged[$0] ?? items[$0] }
  }

  private func isEqualityWithConstants(_ comparison: ResolvedComparison) -> Bool {
    guard comparison.domain != .mixedDecimal, !comparison.options.contains(.localeSensitive) else { return false }
    switch (comparison.op, comparison.right) {
    case (.equal, .expression(.constant(let number, _))):
      if case .slot(let slot) = constants[number] { return !SlotComparison.isMissing(slot) }
      return true
    case (.in, .list): return true
    default: return false
    }
  }

  /// Returns the index of a list constant with the right sides of comparisons.
  private mutating func list(of items: [ResolvedPredicate]) -> Int? {
    var slots: [Slot] = []
    var ids: [ManagedObjectID] = []
    var seen: Set<ManagedObjectID> = []
    for case .comparison(let comparison) in items {
      let number: Int
      switch comparison.right {
      case .expression(.constant(let constant, _)), .list(let constant): number = constant
      default: return nil
      }
      switch constants[number] {
      case .slot(let slot): slots.append(slot)
      case .slots(let more): slots += more
      case .object(let id): if seen.insert(id).inserted { ids.append(id) }
      case .objects(let more): for id in more where seen.insert(id).inserted { ids.append(id) }
      }
    }
    guard slots.isEmpty != ids.isEmpty else { return nil }
    return add(slots.isEmpty ? .objects(ids) : .slots(PredicateResolution.ascending(slots)))
  }
}

/// The source expressions and conditions on the evaluated object, by their resolved form. With them, parts of a fetch can be fetched
/// separately.
package struct ResolutionSources: Sendable {
  private var expressions: [ResolvedExpression: FetchExpression] = [:]
  private var predicates: [ResolvedPredicate: FetchPredicate] = [:]

  mutating func record(_ resolved: ResolvedExpression, _ source: FetchExpression) {
    if expressions[resolved] == nil { expressions[resolved] = source }
  }

  mutating func record(_ resolved: ResolvedPredicate, _ source: FetchPredicate) {
    if predicates[resolved] == nil { predicates[resolved] = source }
  }

  /// The source of a resolved expression; nil if it is only a part of one.
  package subscript(expression: ResolvedExpression) -> FetchExpression? { expressions[expression] }
  /// The source of a resolved condition.
  package subscript(predicate: ResolvedPredicate) -> FetchPredicate? { predicates[predicate] }
}

extension ResolvedExpression {
  /// Whether the expression contains a group aggregate. The limit of predicate nesting bounds the recursion.
  package var hasGroupAggregate: Bool {
    switch self {
    case .groupAggregate: true
    case .constant, .path, .aggregate: false
    case .function(_, let arguments, _): arguments.contains { $0.hasGroupAggregate }
    case .conditional(let condition, let first, let second):
      condition.hasGroupAggregate || first.hasGroupAggregate || second.hasGroupAggregate
    }
  }
}

extension ResolvedPredicate {
  /// Whether the predicate contains a group aggregate.
  package var hasGroupAggregate: Bool {
    switch self {
    case .constant, .exists, .block: false
    case .and(let items), .or(let items): items.contains { $0.hasGroupAggregate }
    case .isNull(let expression, _): expression.hasGroupAggregate
    case .comparison(let comparison):
      switch comparison.right {
      case .expression(let right): comparison.left.hasGroupAggregate || right.hasGroupAggregate
      case .range(let low, let high): comparison.left.hasGroupAggregate || low.hasGroupAggregate || high.hasGroupAggregate
      case .list: comparison.left.hasGroupAggregate
      }
    }
  }
}
