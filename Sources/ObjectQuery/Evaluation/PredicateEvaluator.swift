import Foundation
package import ObjectModel

/// Evaluates a resolved predicate for objects in memory.
///
/// Every comparison is true or false, as documented in `Documentation/Predicates.md`. Recursion follows the resolved tree, whose depth is
/// limited.
package struct PredicateEvaluator<Resolver: ObjectResolver> {
  private let predicate: ResolvedPredicate
  let constants: [ResolvedConstant]
  let resolver: Resolver
  /// The aggregates of the current group, by index.
  package var groupValues: [Slot] = []
  /// The compiled patterns of LIKE and MATCHES, by the index of their constant.
  private var likePatterns: [PatternKey: LikePattern] = [:]
  private var wholePatterns: [PatternKey: WholeTextPattern] = [:]
  /// The queries of SEARCH, by the index of their constant.
  private var textQueries: [Int: TextQuery] = [:]
  /// The lists of objects, by the index of their constant.
  private var objectLists: [Int: Set<ManagedObjectID>] = [:]

  /// Creates an evaluator for a resolved fetch's predicate.
  package init(_ fetch: ResolvedFetch, resolver: Resolver) {
    self.init(predicate: fetch.predicate, constants: fetch.constants, resolver: resolver)
  }

  /// Creates an evaluator.
  ///
  /// - Parameters:
  ///   - predicate: The predicate.
  ///   - constants: The constants that it refers to by index.
  ///   - resolver: Reads values and relationships of objects.
  package init(predicate: ResolvedPredicate, constants: [ResolvedConstant], resolver: Resolver) {
    self.predicate = predicate
    self.constants = constants
    self.resolver = resolver
    prepare(of: predicate)
  }

  /// Returns whether an object matches the predicate.
  ///
  /// - Throws: Errors of the resolver.
  package func matches(_ object: Resolver.Object) throws -> Bool {
    var scopes = [object]
    return try evaluate(predicate, &scopes)
  }

  /// Returns the value of an expression for an object. For objects, use ``objectID(of:for:)``.
  package func value(of expression: ResolvedExpression, for object: Resolver.Object) throws -> Slot {
    var scopes = [object]
    return try value(of: expression, &scopes)
  }

  /// Returns whether a group matches the predicate.
  ///
  /// - Parameter object: An object of the group; nil for the group of all objects if there are no objects.
  package func matches(group object: Resolver.Object?) throws -> Bool {
    var scopes = object.map { [$0] } ?? []
    return try evaluate(predicate, &scopes)
  }

  /// Returns the value of an expression that has one value for each group; for an object, its key.
  package func value(of expression: ResolvedExpression, forGroup object: Resolver.Object?) throws -> Slot {
    var scopes = object.map { [$0] } ?? []
    return try value(of: expression, &scopes)
  }

  /// Returns the object that an expression refers to.
  package func objectID(of expression: ResolvedExpression, for object: Resolver.Object) throws -> ManagedObjectID? {
    var scopes = [object]
    return try objectID(of: expression, &scopes)
  }

  // MARK: Predicates

  func evaluate(_ predicate: ResolvedPredicate, _ scopes: inout [Resolver.Object]) throws -> Bool {
    switch predicate {
    case .constant(let value): return value
    case .and(let items):
      for item in items where try !evaluate(item, &scopes) { return false }
      return true
    case .or(let items):
      for item in items where try evaluate(item, &scopes) { return true }
      return false
    case .isNull(let expression, let isNegated): return try isMissing(expression, &scopes) != isNegated
    case .comparison(let comparison): return try evaluate(comparison, &scopes) != comparison.isNegated
    case .block(let block, let isNegated):
      guard let object = scopes[0] as? any FetchEvaluatable else { throw FetchPredicateError.blockPredicate(name: block.name) }
      return try block.evaluate(with: object) != isNegated
    case .exists(let exists):
      let members = try members(of: exists.collection, &scopes)
      if case .constant(true) = exists.condition { return members.isEmpty == exists.isNegated }
      for member in members {
        scopes.append(member)
        defer { scopes.removeLast() }
        if try evaluate(exists.condition, &scopes) { return !exists.isNegated }
      }
      return exists.isNegated
    }
  }

  private func isMissing(_ expression: ResolvedExpression, _ scopes: inout [Resolver.Object]) throws -> Bool {
    if expression.type == .object { return try objectID(of: expression, &scopes) == nil }
    return SlotComparison.isMissing(try value(of: expression, &scopes))
  }

  /// Evaluates a comparison without its negation.
  private func evaluate(_ comparison: ResolvedComparison, _ scopes: inout [Resolver.Object]) throws -> Bool {
    if comparison.domain == .object { return try compareObjects(comparison, &scopes) }
    let left = try value(of: comparison.left, &scopes)
    let isMissing = SlotComparison.isMissing(left)
    switch comparison.right {
    case .list(let number):
      guard !isMissing, case .slots(let slots) = constants[number] else { return false }
      return contains(slots, prepared(left, comparison))
    case .range(let low, let high):
      guard !isMissing else { return false }
      let (low, high) = (try value(of: low, &scopes), try value(of: high, &scopes))
      guard !SlotComparison.isMissing(low), !SlotComparison.isMissing(high) else { return false }
      return order(left, low, comparison) >= 0 && order(left, high, comparison) <= 0
    case .expression(let expression):
      let right = try value(of: expression, &scopes)
      guard !isMissing, !SlotComparison.isMissing(right) else {
        return comparison.op == .equal && isMissing && SlotComparison.isMissing(right)
      }
      guard comparison.domain == .text else { return comparison.op.accepts(order: order(left, right, comparison)) }
      return compareTexts(left, right, of: expression, comparison)
    }
  }

  private func order(_ left: Slot, _ right: Slot, _ comparison: ResolvedComparison) -> Int {
    if comparison.domain == .mixedDecimal { return SlotComparison.compareMixedDecimals(left, right) }
    guard comparison.domain == .text, case .text(let left) = left, case .text(let right) = right else {
      return SlotComparison.compare(left, right)
    }
    let (first, second) = (TextFolding.fold(left, comparison.options), TextFolding.fold(right, comparison.options))
    guard comparison.options.contains(.localeSensitive) else { return TextMatching.compare(first, second) }
    return TextMatching.compareLocalized(first, second, caseInsensitive: false)
  }

  private func compareTexts(_ left: Slot, _ right: Slot, of expression: ResolvedExpression, _ comparison: ResolvedComparison) -> Bool {
    guard case .text(let text) = left, case .text(let other) = right else { return false }
    var number: Int?
    if case .constant(let constant, _) = expression { number = constant }
    switch comparison.op {
    case .like:
      let pattern = number.flatMap { likePatterns[PatternKey($0, comparison)] } ?? LikePattern(other, comparison.options)
      return pattern.matches(text)
    case .matches:
      let pattern = number.flatMap { wholePatterns[PatternKey($0, comparison)] } ?? WholeTextPattern(other, comparison.options)
      return pattern?.matches(text) ?? false
    case .search: return (number.flatMap { textQueries[$0] } ?? TextQuery(typed: other)).matches(text)
    default:
      // Constants on the right are already folded.
      let folded = number == nil ? TextFolding.fold(other, comparison.options) : other
      if comparison.isFolded, !comparison.options.contains(.localeSensitive) {
        // Folds into bytes, without an intermediate string.
        var bytes: [UInt8] = []
        withUTF8(of: text) { TextFolding.fold(utf8: $0, comparison.options, into: &bytes) }
        return bytes.withUnsafeBufferPointer { left in
          withUTF8(of: folded) { TextMatching.matchesFolded(utf8: left, comparison.op, $0) }
        }
      }
      return TextMatching.matchesFolded(TextFolding.fold(text, comparison.options), comparison.op, folded, comparison.options)
    }
  }

  private func prepared(_ slot: Slot, _ comparison: ResolvedComparison) -> Slot {
    guard comparison.isFolded, case .text(let text) = slot else { return slot }
    return .text(TextFolding.fold(text, comparison.options))
  }

  private func contains(_ slots: [Slot], _ value: Slot) -> Bool {
    var (low, high) = (0, slots.count)
    while low < high {
      let middle = (low + high) / 2
      let order = SlotComparison.compare(slots[middle], value)
      if order == 0 { return true }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return false
  }

  // MARK: Objects

  private func compareObjects(_ comparison: ResolvedComparison, _ scopes: inout [Resolver.Object]) throws -> Bool {
    let left = try objectID(of: comparison.left, &scopes)
    switch comparison.right {
    case .list(let number):
      guard let left else { return false }
      if let ids = objectLists[number] { return ids.contains(left) }
      guard case .objects(let ids) = constants[number] else { return false }
      return ids.contains(left)
    case .expression(let expression): return try left == objectID(of: expression, &scopes)
    case .range: return false
    }
  }

  private func objectID(of expression: ResolvedExpression, _ scopes: inout [Resolver.Object]) throws -> ManagedObjectID? {
    switch expression {
    case .constant(let number, _):
      guard case .object(let id) = constants[number] else { return nil }
      return id
    case .path(let path): return try follow(path.steps, from: scopes[path.scope]).map { resolver.objectID(of: $0) }
    case .conditional(let condition, let first, let second):
      return try evaluate(condition, &scopes) ? objectID(of: first, &scopes) : objectID(of: second, &scopes)
    case .aggregate(let aggregate):
      // The member at a position, or an object that its keys refer to.
      guard let value = aggregate.value, let member = try members(of: aggregate.collection, &scopes).first else { return nil }
      scopes.append(member)
      defer { scopes.removeLast() }
      return try objectID(of: value, &scopes)
    case .function(_, let arguments, _):
      for argument in arguments {
        if let id = try objectID(of: argument, &scopes) { return id }
      }
      return nil
    case .groupAggregate: return nil
    }
  }

  func follow(_ steps: [ResolvedStep], from object: Resolver.Object) throws -> Resolver.Object? {
    var current = object
    for step in steps {
      guard let next = try resolver.destination(of: current, slot: step.relationship.index) else { return nil }
      current = next
    }
    return current
  }

  func members(of collection: ResolvedCollection, _ scopes: inout [Resolver.Object]) throws -> [Resolver.Object] {
    guard let source = try follow(collection.steps, from: scopes[collection.scope]) else { return [] }
    let members = try resolver.members(of: source, toMany: collection.relationship.relationship.index)
    switch collection.position {
    case nil: return members
    case .first: return Array(members.prefix(1))
    case .last: return Array(members.suffix(1))
    case .at(let number):
      guard case .slot(.int(let position)) = constants[number], position < members.count else { return [] }
      return [members[Int(position)]]
    }
  }

  // MARK: Preparing

  /// Compiles patterns and hashes lists of objects once, for the predicate's own leaves.
  private mutating func prepare(of predicate: ResolvedPredicate) {
    switch predicate {
    case .constant, .isNull, .block: break
    case .and(let items), .or(let items): for item in items { prepare(of: item) }
    case .exists(let exists): prepare(of: exists.condition)
    case .comparison(let comparison):
      if case .list(let number) = comparison.right, case .objects(let ids) = constants[number] { objectLists[number] = Set(ids) }
      guard case .expression(.constant(let number, _)) = comparison.right, case .slot(.text(let text)) = constants[number] else { return }
      if comparison.op == .like { likePatterns[PatternKey(number, comparison)] = LikePattern(text, comparison.options) }
      if comparison.op == .search { textQueries[number] = TextQuery(typed: text) }
      if comparison.op == .matches { wholePatterns[PatternKey(number, comparison)] = WholeTextPattern(text, comparison.options) }
    }
  }
}

/// A constant may be the pattern of several comparisons with different options.
private struct PatternKey: Hashable {
  let number: Int
  let options: ComparisonOptions

  init(_ number: Int, _ comparison: ResolvedComparison) {
    self.number = number
    options = comparison.options
  }
}

/// A resolver without objects, for predicates over constants.
struct NoObjects: ObjectResolver {
  private struct Missing: Error {}

  // The caller has checked that the predicate contains no property.
  func entity(of object: Int) -> CompiledEntity { preconditionFailure("a predicate of constants asks for no entity") }
  func objectID(of object: Int) -> ManagedObjectID { ManagedObjectID(space: 0, entityNumber: 0, key: 0) }
  func value(of object: Int, slot: Int) throws -> Slot { throw Missing() }
  func destination(of object: Int, slot: Int) throws -> Int? { throw Missing() }
  func members(of object: Int, toMany index: Int) throws -> [Int] { throw Missing() }
}

// MARK: - Evaluating expressions

extension PredicateEvaluator {
  /// Returns the value of an expression that is not an object. Recursion follows the resolved tree.
  func value(of expression: ResolvedExpression, _ scopes: inout [Resolver.Object]) throws -> Slot {
    switch expression {
    case .constant(let number, _):
      guard case .slot(let slot) = constants[number] else { return .null }
      return slot
    case .path(let path):
      guard let object = try follow(path.steps, from: scopes[path.scope]) else { return .null }
      switch path.terminal {
      case .attribute(let attribute): return try resolver.value(of: object, slot: attribute.slot.index)
      case .entity: return .int(Int64(resolver.entity(of: object).number))
      case .object: return .int(resolver.objectID(of: object).key)
      }
    case .groupAggregate(let number, _): return groupValues.indices.contains(number) ? groupValues[number] : .null
    case .aggregate(let aggregate): return try value(of: aggregate, &scopes)
    case .function(let function, let arguments, let type):
      var values: [Slot] = []
      for argument in arguments {
        let value = try value(of: argument, &scopes)
        if SlotComparison.isMissing(value) {
          guard function.takesMissingValues else { return .null }
        } else if function == .coalesce {
          return value
        }
        values.append(value)
      }
      return ExpressionFunctions.apply(function, values, type)
    case .conditional(let condition, let first, let second):
      return try evaluate(condition, &scopes) ? value(of: first, &scopes) : value(of: second, &scopes)
    }
  }

  private func value(of aggregate: ResolvedAggregate, _ scopes: inout [Resolver.Object]) throws -> Slot {
    let members = try members(of: aggregate.collection, &scopes)
    if case .constant(true) = aggregate.condition, aggregate.function == .count { return .int(Int64(members.count)) }
    var statistic = Statistic(aggregate.function)
    for member in members {
      scopes.append(member)
      defer { scopes.removeLast() }
      guard try evaluate(aggregate.condition, &scopes) else { continue }
      // A member counts regardless of its values.
      statistic.add(try aggregate.value.map { try value(of: $0, &scopes) } ?? .int(1))
    }
    return statistic.isEmpty ? aggregate.function.emptyResult(of: aggregate.value?.type ?? .integer) : statistic.result
  }
}
