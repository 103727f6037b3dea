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
