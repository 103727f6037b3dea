import Foundation
import ObjectModel

extension PredicateResolution {
  mutating func resolve(_ comparison: FetchComparison, isNegated: Bool) throws(FetchPredicateError) -> ResolvedPredicate {
    let scopeCount = scopes.count
    defer { scopes.removeSubrange(scopeCount...) }
    if comparison.op == .search { return try resolveSearch(comparison, isNegated: isNegated) }
    if let inverted = comparison.inverted { return try resolve(inverted, isNegated: isNegated) }
    if let expanded = comparison.expanded { return try resolve(expanded, isNegated: isNegated) }
    if comparison.modifier != .direct { return try resolveQuantified(comparison, isNegated: isNegated) }
    // A collection as the side that contains members: `object IN rel`, `rel CONTAINS object`, `value IN rel.attribute`.
    if comparison.op == .in, let path = try toManyPath(comparison.right) {
      let member = Operand.expression(path.value, name: describe(comparison.right))
      let leaf = try makeLeaf(member, .equal, try operand(comparison.left), comparison.options, isNegated: false)
      return wrap(leaf, in: path.collections, isNegated: isNegated)
    }
    if comparison.op == .contains, let path = try toManyPath(comparison.left) {
      let member = Operand.expression(path.value, name: describe(comparison.left))
      let leaf = try makeLeaf(member, .equal, try operand(comparison.right), comparison.options, isNegated: false)
      return wrap(leaf, in: path.collections, isNegated: isNegated)
    }
    return try makeLeaf(
      try operand(comparison.left), comparison.op, try operand(comparison.right), comparison.options, isNegated: isNegated)
  }

  /// Resolves ANY, ALL and NONE: a member matches; no member fails to match; no member matches.
  private mutating func resolveQuantified(_ comparison: FetchComparison, isNegated: Bool) throws(FetchPredicateError) -> ResolvedPredicate {
    guard let path = try toManyPath(comparison.left) else {
      throw .modifierNeedsToManyKey(modifier: comparison.modifier.rawValue, expression: describe(comparison.left))
    }
    let member = Operand.expression(path.value, name: describe(comparison.left))
    let leaf = try makeLeaf(
      member, comparison.op, try operand(comparison.right), comparison.options, isNegated: comparison.modifier == .all)
    return wrap(leaf, in: path.collections, isNegated: (comparison.modifier != .any) != isNegated)
  }

  func wrap(_ leaf: ResolvedPredicate, in collections: [ResolvedCollection], isNegated: Bool) -> ResolvedPredicate {
    var result = leaf
    for (index, collection) in collections.enumerated().reversed() {
      result = PredicateResolution.exists(collection, result, isNegated: index == 0 && isNegated)
    }
    return result
  }

  /// Returns the path of an expression if it goes through a to-many relationship that no collection operator follows.
  mutating func toManyPath(_ expression: FetchExpression) throws(FetchPredicateError) -> FollowedPath? {
    guard let (parts, scope) = base(of: expression) else { return nil }
    let scopeCount = scopes.count
    let path = try resolvePath(parts, scope: scope, allowsToMany: true)
    guard path.collections.isEmpty else { return path }
    scopes.removeSubrange(scopeCount...)
    return nil
  }

  private static func listOnTheLeft(of op: ComparisonOperator) -> FetchPredicateError {
    .unsupported(
      part: "A list on the left side of \(op.rawValue)", advice: "Put ANY, ALL or NONE before the list, or ask for one value with CONTAINS."
    )
  }

  // MARK: Leaves

  /// Returns a comparison of two operands, or its negation.
  private mutating func makeLeaf(
    _ left: Operand, _ op: ComparisonOperator, _ right: Operand, _ options: ComparisonOptions, isNegated: Bool
  ) throws(FetchPredicateError) -> ResolvedPredicate {
    if op == .notEqual { return try makeLeaf(left, .equal, right, options, isNegated: !isNegated) }
    if op == .between { return try makeBetween(left, right, options, isNegated: isNegated) }
    if op == .in { return try makeIn(left, right, options, isNegated: isNegated) }
    switch (left, right) {
    case (.list, _): throw PredicateResolution.listOnTheLeft(of: op)
    case (_, .list): throw .invalidRightSide(op: op.rawValue, expression: left.name, expected: "one value, not a list")
    case (.constant(.null), .constant(let other)): return .constant((op == .equal && other.isNull) != isNegated)
    case (.constant(let value), .constant):
      return try makeLeaf(.expression(try constantExpression(value), name: left.name), op, right, options, isNegated: isNegated)
    case (.constant(let value), .expression(let expression, let name)):
      if let mirrored = op.mirrored { return try makeLeaf(right, mirrored, left, options, isNegated: isNegated) }
      // A string operator with a constant text on the left: the object provides the right side.
      guard !value.isNull else { return .constant(isNegated) }
      return try makeText(
        try constantExpression(value), left.name, op, .expression(expression, name: name), options, isNegated: isNegated)
    case (.expression(let expression, let name), .constant(.null)):
      guard op == .equal else {
        try check(op, expression, name)
        return .constant(isNegated)
      }
      return makeIsNull(expression, isNegated: isNegated)
    case (.expression(let expression, let name), _):
      if op.isTextOperator { return try makeText(expression, name, op, right, options, isNegated: isNegated) }
      return try makeComparison(expression, name, op, right, options, isNegated: isNegated)
    }
  }

  func makeIsNull(_ expression: ResolvedExpression, isNegated: Bool) -> ResolvedPredicate {
    if case .constant = expression { return .constant(isNegated) }
    if case .path(let path) = expression, path.steps.isEmpty {
      // An object and its entity are never missing.
      switch path.terminal {
      case .object, .entity: return .constant(isNegated)
      case .attribute: break
      }
    }
    return .isNull(expression, isNegated: isNegated)
  }

  /// Returns a comparison for equality or order.
  private mutating func makeComparison(
    _ left: ResolvedExpression, _ name: String, _ op: ComparisonOperator, _ right: Operand, _ options: ComparisonOptions, isNegated: Bool
  ) throws(FetchPredicateError) -> ResolvedPredicate {
    try check(op, left, name)
    if case .constant(let value) = right, left.type == .integer || left.type == .boolean, value.isNumber, !left.mayOverflow {
      switch try IntegerBound(op, value, name) {
      case .never: return .constant(isNegated)
      case .always:
        // True for every value that is not missing.
        return makeIsNull(left, isNegated: !isNegated)
      case .compare(let op, let bound):
        if let existence = existence(left, op, bound, isNegated: isNegated) { return existence }
        let constant = ResolvedExpression.constant(add(.slot(.int(bound))), .integer)
        return finish(ResolvedComparison(left: left, op: op, right: .expression(constant), domain: .number, isNegated: isNegated))
      }
    }
    let (expression, domain) = try rightSide(right, for: left, name: name, options: options)
    guard let expression else { return .constant(isNegated) }
    return finish(
      ResolvedComparison(
        left: left, op: op, right: .expression(expression), domain: domain, options: textOptions(options, domain, op), isNegated: isNegated)
    )
  }

  /// Returns a comparison with BEGINSWITH, ENDSWITH, CONTAINS, LIKE or MATCHES.
  private mutating func makeText(
    _ left: ResolvedExpression, _ name: String, _ op: ComparisonOperator, _ right: Operand, _ options: ComparisonOptions, isNegated: Bool
  ) throws(FetchPredicateError) -> ResolvedPredicate {
    try check(op, left, name)
    let options = textOptions(options, .text, op)
    switch right {
    case .constant(.null): return .constant(isNegated)
    case .constant(let value):
      guard let text = value.text else {
        throw .typeMismatch(expression: name, type: left.type.name, other: "\(value.typeName) by \(op.rawValue)")
      }
      if op == .matches && WholeTextPattern(text, options) == nil { throw .invalidPattern(expression: name) }
      let folded = TextFolding.fold(text, op == .matches ? options.intersection(.diacriticInsensitive) : options)
      var beginning: ResolvedPredicate?
      switch simplified(of: folded, op, options) {
      case .comparison(let op, let text): return textComparison(left, op, text, options, isNegated: isNegated)
      // In a negation, the prefix condition would not narrow the result.
      case .beginning(let text) where !isNegated: beginning = textComparison(left, .beginsWith, text, options, isNegated: false)
      case .beginning, .pattern: break
      }
      let whole = textComparison(left, op, folded, options, isNegated: isNegated)
      return beginning.map { PredicateResolution.join([$0, whole], isConjunction: true) } ?? whole
    case .expression(let expression, let other):
      try check(op, expression, other)
      return finish(
        ResolvedComparison(left: left, op: op, right: .expression(expression), domain: .text, options: options, isNegated: isNegated))
    case .list: throw .invalidRightSide(op: op.rawValue, expression: name, expected: "one text, not a list")
    }
  }

  /// Returns a comparison with a text that is already folded.
  private mutating func textComparison(
    _ left: ResolvedExpression, _ op: ComparisonOperator, _ text: String, _ options: ComparisonOptions, isNegated: Bool
  ) -> ResolvedPredicate {
    let constant = ResolvedExpression.constant(add(.slot(.text(text))), .text)
    return finish(
      ResolvedComparison(left: left, op: op, right: .expression(constant), domain: .text, options: options, isNegated: isNegated))
  }

  /// Returns the meaning of a pattern. A regular expression has its own folding rules.
  private func simplified(of text: String, _ op: ComparisonOperator, _ options: ComparisonOptions) -> SimplifiedPattern {
    switch op {
    case .like: SimplifiedPattern(like: text)
    case .matches where options.isEmpty: SimplifiedPattern(matches: text)
    default: .pattern
    }
  }

  private mutating func makeBetween(
    _ left: Operand, _ right: Operand, _ options: ComparisonOptions, isNegated: Bool
  ) throws(FetchPredicateError) -> ResolvedPredicate {
    guard case .list(let ends) = right, ends.count == 2 else {
      throw .invalidRightSide(op: "BETWEEN", expression: left.name, expected: "a list of two values")
    }
    let lower = try makeLeaf(left, .greaterOrEqual, ends[0], options, isNegated: false)
    let upper = try makeLeaf(left, .lessOrEqual, ends[1], options, isNegated: false)
    // One leaf if both bounds compare the same way, otherwise two comparisons.
    if case .comparison(let first) = lower, case .comparison(let second) = upper, case .expression(let low) = first.right,
      case .expression(let high) = second.right, first.left == second.left, first.domain == second.domain, first.options == second.options,
      first.op == .greaterOrEqual, second.op == .lessOrEqual
    {
      return finish(
        ResolvedComparison(
          left: first.left, op: .between, right: .range(low, high), domain: first.domain, options: first.options, isNegated: isNegated))
    }
    let both = PredicateResolution.join([lower, upper], isConjunction: true)
    return isNegated ? PredicateResolution.opposite(both) : both
  }

  private mutating func makeIn(
    _ left: Operand, _ right: Operand, _ options: ComparisonOptions, isNegated: Bool
  ) throws(FetchPredicateError) -> ResolvedPredicate {
    switch right {
    case .expression where right.isText:
      // A substring of a text.
      return try makeLeaf(right, .contains, left, options, isNegated: isNegated)
    case .constant(let text) where right.isText:
      let whole = Operand.expression(try constantExpression(text), name: "a string")
      return try makeLeaf(whole, .contains, left, options, isNegated: isNegated)
    case .constant(.null): return .constant(isNegated)
    case .list(let items):
      var constants: [FetchConstant] = []
      var others: [ResolvedPredicate] = []
      for item in items {
        switch item {
        case .constant(.null): break
        case .constant(let value): constants.append(value)
        default:
          // A missing value is in no list, even if the list contains a missing value.
          guard case .expression(let expression, _) = item else {
            throw .invalidRightSide(op: "IN", expression: left.name, expected: "a list of values")
          }
          let equal = try makeLeaf(left, .equal, item, options, isNegated: false)
          others.append(PredicateResolution.join([equal, makeIsNull(expression, isNegated: true)], isConjunction: true))
        }
      }
      let listed = try makeList(left, constants, options)
      let some = PredicateResolution.join([listed] + others, isConjunction: false)
      return isNegated ? PredicateResolution.opposite(some) : some
    default:
      throw .invalidRightSide(op: "IN", expression: left.name, expected: "a list, a to-many relationship or a text")
    }
  }

  private mutating func makeList(
    _ left: Operand, _ values: [FetchConstant], _ options: ComparisonOptions
  ) throws(FetchPredicateError) -> ResolvedPredicate {
    let (expression, name): (ResolvedExpression, String)
    switch left {
    case .constant(.null): return .constant(false)
    case .constant(let value): (expression, name) = (try constantExpression(value), left.name)
    case .expression(let value, let described): (expression, name) = (value, described)
    case .list: throw PredicateResolution.listOnTheLeft(of: .in)
    }
    try check(.in, expression, name)
    guard let (constant, domain) = try list(values, for: expression, name: name, options: options) else { return .constant(false) }
    let comparison = ResolvedComparison(
      left: expression, op: .in, right: .list(add(constant)), domain: domain, options: textOptions(options, domain, .in))
    return finish(comparison)
  }

  // MARK: Parts

  /// Returns `@count > 0` and similar as the existence of a member, which a store can test without counting.
  private func existence(
    _ expression: ResolvedExpression, _ op: ComparisonOperator, _ bound: Int64, isNegated: Bool
  ) -> ResolvedPredicate? {
    guard case .aggregate(let aggregate) = expression, aggregate.function == .count else { return nil }
    switch (op, bound) {
    case (.greater, 0), (.greaterOrEqual, 1):
      return PredicateResolution.exists(aggregate.collection, aggregate.condition, isNegated: isNegated)
    case (.equal, 0), (.less, 1), (.lessOrEqual, 0):
      return PredicateResolution.exists(aggregate.collection, aggregate.condition, isNegated: !isNegated)
    // A count is never negative.
    case (.greater, ..<0), (.greaterOrEqual, ...0): return .constant(!isNegated)
    case (.less, ...0), (.lessOrEqual, ..<0), (.equal, ..<0): return .constant(isNegated)
    default: return nil
    }
  }

  /// Returns the options that affect a comparison.
  private func textOptions(_ options: ComparisonOptions, _ domain: ResolvedDomain, _ op: ComparisonOperator) -> ComparisonOptions {
    guard domain == .text, !options.contains(.normalized) else { return [] }
    let folding = options.intersection(TextFolding.folding)
    // The locale affects equality and order. With [c] or [d], texts are folded first, independently of the locale.
    let usesLocale = options.contains(.localeSensitive) && (op == .equal || op.accepts(order: -1) || op.accepts(order: 1))
    return usesLocale ? folding.union(.localeSensitive) : folding
  }

  /// Throws unless an operator supports an expression's type.
  func check(_ op: ComparisonOperator, _ expression: ResolvedExpression, _ name: String) throws(FetchPredicateError) {
    let type = expression.type
    let applies =
      switch type {
      case .text, .uri: true
      case .opaque: false
      case .object, .entity: op == .equal || op == .in
      default: !op.isTextOperator
      }
    guard applies else { throw .operatorNotSupported(op: op.rawValue, expression: name, type: type.name) }
  }

  /// Evaluates a comparison of constants immediately.
  func finish(_ comparison: ResolvedComparison) -> ResolvedPredicate {
    guard !comparison.dependsOnObjects else { return .comparison(comparison) }
    let evaluator = PredicateEvaluator(predicate: .comparison(comparison), constants: constants, resolver: NoObjects())
    guard let answer = try? evaluator.matches(0) else { return .comparison(comparison) }
    return .constant(answer)
  }

  static func opposite(_ predicate: ResolvedPredicate) -> ResolvedPredicate {
    switch predicate {
    case .constant(let value): return .constant(!value)
    case .and(let items): return .or(items.map(opposite))
    case .or(let items): return .and(items.map(opposite))
    case .isNull(let expression, let isNegated): return .isNull(expression, isNegated: !isNegated)
    case .comparison(var comparison):
      comparison.isNegated.toggle()
      return .comparison(comparison)
    case .exists(var exists):
      exists.isNegated.toggle()
      return .exists(exists)
    case .block(let block, let isNegated): return .block(block, isNegated: !isNegated)
    }
  }
}

extension ComparisonOperator {
  /// The equivalent operator with the sides swapped; nil if none exists.
  var mirrored: ComparisonOperator? {
    switch self {
    case .equal, .notEqual: self
    case .less: .greater
    case .lessOrEqual: .greaterOrEqual
    case .greater: .less
    case .greaterOrEqual: .lessOrEqual
    default: nil
    }
  }

  /// Whether the operator requires text on both sides.
  package var isTextOperator: Bool {
    switch self {
    case .beginsWith, .endsWith, .contains, .like, .matches, .search: true
    default: false
    }
  }
}
