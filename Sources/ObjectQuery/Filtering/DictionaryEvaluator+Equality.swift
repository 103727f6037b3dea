// Equality of values of all types, as predicates have it that are evaluated in memory without a model.

extension DictionaryEvaluator {
  /// Answers a comparison for equality or membership, in which values of different types are unequal; nil for other comparisons.
  func compareAnything(_ comparison: FetchComparison) throws -> Bool? {
    switch comparison.op {
    case .equal, .notEqual:
      guard let left = try operand(comparison.left), let right = try operand(comparison.right) else { return nil }
      return areEqual(left, right, comparison.options) == (comparison.op == .equal)
    case .in, .contains:
      let (item, collection) =
        comparison.op == .in ? (comparison.left, comparison.right) : (comparison.right, comparison.left)
      guard case .many(let members, _)? = try operand(collection), let item = try operand(item) else { return nil }
      return isMember(item, of: members, comparison.options)
    default: return nil
    }
  }

  /// The value of an expression; nil if only the query language computes it.
  private func operand(_ expression: FetchExpression) throws -> DictionaryValue? {
    if let value = try value(of: expression) { return value }
    switch expression {
    case .constant(let constant): return DictionaryValue(constant)
    case .aggregate(let items):
      let values = try items.compactMap(operand)
      return values.count == items.count ? .many(values, isOrdered: true) : nil
    default:
      guard case .constant(let constant) = try reduced(expression) else { return nil }
      return DictionaryValue(constant)
    }
  }

  private func isMember(_ item: DictionaryValue, of members: [DictionaryValue], _ options: ComparisonOptions) -> Bool {
    if case .missing = item { return false }
    if let item = item.comparable {
      // One comparison with the whole list, unless it has values of other types.
      let list = members.compactMap(\.comparable)
      if list.isEmpty { return false }
      if let answer = try? compare(.constant(item), .in, .constant(.list(list)), options) { return answer }
    }
    return members.contains { areEqual(item, $0, options) }
  }

  private func areEqual(_ left: DictionaryValue, _ right: DictionaryValue, _ options: ComparisonOptions) -> Bool {
    switch (left, right) {
    case (.missing, .missing): return true
    case (.missing, _), (_, .missing): return false
    case (.many(let left, let isLeftOrdered), .many(let right, let isRightOrdered)):
      guard left.count == right.count else { return false }
      if isLeftOrdered && isRightOrdered { return zip(left, right).allSatisfy { areEqual($0, $1, options) } }
      var rest = right
      return left.allSatisfy { member in
        guard let place = rest.firstIndex(where: { areEqual(member, $0, options) }) else { return false }
        rest.remove(at: place)
        return true
      }
    case (.many, _), (_, .many): return false
    default: break
    }
    if let left = left.comparable, let right = right.comparable {
      // Values of types that do not compare are unequal.
      return (try? compare(.constant(left), .equal, .constant(right), options)) ?? false
    }
    guard let left = left.whole, let right = right.whole else { return false }
    return left == right
  }
}

extension DictionaryValue {
  /// A constant that the query language compares; nil for everything else.
  fileprivate var comparable: FetchConstant? {
    switch self {
    case .value(.object), .value(.entity), .value(.inMemory): nil
    case .value(let constant): constant
    case .missing, .object, .many: nil
    }
  }

  /// The value, or the object as a whole; nil for a collection.
  fileprivate var whole: FetchConstant? {
    switch self {
    case .value(let constant): constant
    case .object(let object): object.constant
    case .missing, .many: nil
    }
  }
}

extension DictionaryEvaluator {
  /// A value as a constant: where types are not checked, an object and a collection, too.
  ///
  /// - Throws: ``FetchPredicateError`` for a value that cannot be compared.
  func constant(_ value: DictionaryValue, _ expression: FetchExpression) throws -> FetchConstant {
    guard reading != nil else { return try value.constant(of: expression) }
    switch value {
    case .object(let object):
      if let constant = object.constant { return constant }
    case .many(let members, _): return .list(try members.map { try constant($0, expression) })
    case .missing, .value: break
    }
    return try value.constant(of: expression)
  }
}
