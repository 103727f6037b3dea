// ResolvedProjection: what a fetch of dictionaries makes of the objects it finds: columns, groups, and the condition on groups.
package import ObjectModel

/// The columns of dictionary results and how objects are grouped into them.
///
/// In a grouped fetch every expression, those of the order included, has one value a group: it is made of group keys, aggregates and constants only.
package struct ResolvedProjection: Sendable, Hashable {
  /// The columns, in order.
  package var columns: [ResolvedColumn]
  /// What the objects of a group have in common.
  package var groupKeys: [ResolvedExpression]
  /// What is computed of each group: `groupAggregate` expressions name them by number.
  package var aggregates: [ResolvedGroupAggregate]
  /// The condition on groups.
  package var having: ResolvedPredicate
  /// Whether equal rows are returned once.
  package var isDistinct: Bool

  /// Whether a row stands for a group; without keys all objects are one, also when there are none.
  package var isGrouped: Bool { !groupKeys.isEmpty || !aggregates.isEmpty }
  /// Whether all objects are one group, so that there is one row at most.
  package var isSingleRow: Bool { groupKeys.isEmpty && !aggregates.isEmpty }
}

/// A column of dictionary results.
package struct ResolvedColumn: Sendable, Hashable {
  /// What the values of a column are.
  package enum Content: Sendable, Hashable {
    /// An attribute's.
    case attribute(ResolvedAttribute)
    /// Computed, in the form of attributes of a type.
    case value(AttributeType)
    /// Objects.
    case object
    /// Entities, by number.
    case entity
  }
  /// The key in the dictionaries.
  package var name: String
  /// What is computed.
  package var expression: ResolvedExpression
  /// What the values are, after they were brought into the type that was asked for.
  package var content: Content
}

/// A value computed of a group of objects.
package struct ResolvedGroupAggregate: Sendable, Hashable {
  /// What is computed. Objects without a value do not count.
  package var function: ResolvedAggregate.Function
  /// What is taken of each object; nil for the number of objects.
  package var value: ResolvedExpression?
  /// Whether equal values count once.
  package var isDistinct: Bool

  /// The result for no values.
  package var emptyResult: Slot { function.emptyResult(of: value?.type ?? .integer) }

  /// Whether a function of groups takes values of a type.
  static func accepts(_ type: ResolvedType, in function: ResolvedAggregate.Function) -> Bool {
    function.accepts(type) || (type == .uuid && (function == .minimum || function == .maximum))
  }
}

/// Whether expressions have one value a group.
struct GroupCoverage {
  /// What has one value.
  let keys: Set<ResolvedExpression>
  /// Whether aggregates have.
  let coversAggregates: Bool
  /// The paths of the objects among the keys: all that is read from such an object has one value too.
  private let objects: [[ResolvedStep]]

  init(_ keys: [ResolvedExpression], coversAggregates: Bool) {
    self.keys = Set(keys)
    self.coversAggregates = coversAggregates
    objects = keys.compactMap { key in
      guard case .path(let path) = key, path.scope == 0, path.terminal == .object else { return nil }
      return path.steps
    }
  }

  /// A part that may have several values in a group, as a key path; nil when there is none. Recursion is bounded as the predicate's nesting is.
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

  /// The same of a condition.
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
  /// The path as keys.
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
