package import ObjectModel

/// The columns, groups and group condition of a dictionary fetch.
///
/// In a grouped fetch every expression, including those of sort keys, has one value for each group: it consists of group keys, aggregates
/// and constants.
package struct ResolvedProjection: Sendable, Hashable {
  /// The columns, in order.
  package var columns: [ResolvedColumn]
  /// The group keys.
  package var groupKeys: [ResolvedExpression]
  /// The aggregates of each group. `groupAggregate` expressions refer to them by index.
  package var aggregates: [ResolvedGroupAggregate]
  /// The condition on groups.
  package var having: ResolvedPredicate
  /// Whether duplicate rows are removed.
  package var isDistinct: Bool

  /// Whether a row represents a group. Without keys, all objects form one group, even if there are no objects.
  package var isGrouped: Bool { !groupKeys.isEmpty || !aggregates.isEmpty }
  /// Whether there is at most one row, because all objects form one group.
  package var isSingleRow: Bool { groupKeys.isEmpty && !aggregates.isEmpty }
}

/// A column of dictionary results.
package struct ResolvedColumn: Sendable, Hashable {
  /// The kind of a column's values.
  package enum Content: Sendable, Hashable {
    /// Values of an attribute.
    case attribute(ResolvedAttribute)
    /// Computed values, in the representation of an attribute type.
    case value(AttributeType)
    /// Objects.
    case object
    /// Entities, by number.
    case entity
  }
  /// The key in the dictionaries.
  package var name: String
  /// The expression that computes the values.
  package var expression: ResolvedExpression
  /// The kind of the values, after conversion to the requested type.
  package var content: Content
}

/// An aggregate over a group of objects.
package struct ResolvedGroupAggregate: Sendable, Hashable {
  /// The function. Missing values are ignored.
  package var function: ResolvedAggregate.Function
  /// The value of each object; nil for the number of objects.
  package var value: ResolvedExpression?
  /// Whether duplicate values are ignored.
  package var isDistinct: Bool

  /// The result without any values.
  package var emptyResult: Slot { function.emptyResult(of: value?.type ?? .integer) }

  /// Returns whether a function over groups supports a type.
  static func accepts(_ type: ResolvedType, in function: ResolvedAggregate.Function) -> Bool {
    function.accepts(type) || (type == .uuid && (function == .minimum || function == .maximum))
  }
}

/// Determines whether expressions have one value for each group.
struct GroupCoverage {
  /// The expressions that have one value.
  let keys: Set<ResolvedExpression>
  /// Whether aggregates have one value.
  let coversAggregates: Bool
  /// The paths of the objects among the keys. All values read from such an object have one value too.
  private let objects: [[ResolvedStep]]

  init(_ keys: [ResolvedExpression], coversAggregates: Bool) {
    self.keys = Set(keys)
    self.coversAggregates = coversAggregates
    objects = keys.compactMap { key in
      guard case .path(let path) = key, path.scope == 0, path.terminal == .object else { return nil }
      return path.steps
    }
  }

  /// Returns a part that may have several values in a group, as a key path; nil if no part does. The limit of predicate nesting bounds the
  /// recursion.
  func firstUncovered(_ expression: ResolvedExpression) -> String? {
    if keys.contains(expression) { return nil }
    switch expression {
    case .constant: return nil
    case .groupAggregate: return coversAggregates ? nil : "an aggregate"
    case .path(let path): return path.scope > 0 || isCovered(path.steps) ? nil : path.keyPath
    case .aggregate(let aggregate):
      let uncovered = firstUncovered(aggregate.collection) ?? firstUncovered(aggregate.condition) ?? aggregate.value.flatMap(firstUncovered)
      return uncovered.map { aggregate.keyPath ?? $0 }
    case .function(_, let arguments, _): return arguments.lazy.compactMap(firstUncovered).first
    case .conditional(let condition, let first, let second):
      return firstUncovered(condition) ?? firstUncovered(first) ?? firstUncovered(second)
    }
  }

  /// Returns such a part of a condition.
  func firstUncovered(_ predicate: ResolvedPredicate) -> String? {
    switch predicate {
    case .constant: return nil
    case .block(let block, _): return block.name
    case .and(let items), .or(let items): return items.lazy.compactMap(firstUncovered).first
    case .isNull(let expression, _): return firstUncovered(expression)
    case .exists(let exists): return firstUncovered(exists.collection) ?? firstUncovered(exists.condition)
    case .comparison(let comparison):
      if let left = firstUncovered(comparison.left) { return left }
      switch comparison.right {
      case .list: return nil
      case .range(let low, let high): return firstUncovered(low) ?? firstUncovered(high)
      case .expression(let right): return firstUncovered(right)
      }
    }
  }

  private func firstUncovered(_ collection: ResolvedCollection) -> String? {
    if collection.scope > 0 || isCovered(collection.steps) { return nil }
    return (collection.steps + [collection.relationship]).map(\.relationship.name).joined(separator: ".")
  }

  private func isCovered(_ steps: [ResolvedStep]) -> Bool { objects.contains { steps.starts(with: $0) } }
}

extension ResolvedPath {
  var keyPath: String {
    var names = steps.map(\.relationship.name)
    switch terminal {
    case .attribute(let attribute): names.append(attribute.slot.name)
    case .entity: names.append("entity")
    case .object: if names.isEmpty { names.append("SELF") }
    }
    return names.joined(separator: ".")
  }
}

extension ResolvedAggregate {
  /// The aggregate as a key path that a group's aggregate can take, such as `orders.@sum.total`; nil if there is none.
  fileprivate var keyPath: String? {
    guard condition == .constant(true), collection.scope == 0, collection.position == nil else { return nil }
    let path = (collection.steps + [collection.relationship]).map(\.relationship.name).joined(separator: ".")
    if function == .count, value == nil { return "\(path).@count" }
    let operators: [Function: String] = [.sum: "@sum", .average: "@avg", .minimum: "@min", .maximum: "@max"]
    guard let name = operators[function], case .path(let value)? = value, case .attribute = value.terminal else { return nil }
    return "\(path).\(name).\(value.keyPath)"
  }
}
