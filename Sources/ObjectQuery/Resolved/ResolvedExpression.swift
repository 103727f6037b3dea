package import ObjectModel

/// An expression with resolved names and a known type.
package indirect enum ResolvedExpression: Sendable, Hashable {
  /// A constant, by its index in ``ResolvedFetch/constants``.
  case constant(Int, ResolvedType)
  /// A value at the end of to-one relationships.
  case path(ResolvedPath)
  /// An aggregate over a collection.
  case aggregate(ResolvedAggregate)
  /// An aggregate of the current group, by its index in ``ResolvedProjection/aggregates``.
  case groupAggregate(Int, ResolvedType)
  /// A function call. If an argument is missing, so is the result, unless ``ResolvedFunction/takesMissingValues`` is true.
  case function(ResolvedFunction, [ResolvedExpression], ResolvedType)
  /// One of two expressions of the same type.
  case conditional(ResolvedPredicate, ResolvedExpression, ResolvedExpression)

  /// The type of the value.
  package var type: ResolvedType {
    switch self {
    case .constant(_, let type), .function(_, _, let type), .groupAggregate(_, let type): type
    case .path(let path): path.type
    case .aggregate(let aggregate): aggregate.type
    case .conditional(_, let first, _): first.type
    }
  }
}

/// A path through to-one relationships. The value is missing if one of them is nil.
package struct ResolvedPath: Sendable, Hashable {
  /// The scope of the object that the path starts from (see ``ResolvedCollection/scope``).
  package var scope: Int
  /// The to-one relationships, in order.
  package var steps: [ResolvedStep]
  /// The value at the end of the path.
  package var terminal: Terminal

  /// The kinds of values at the end of a path.
  package enum Terminal: Sendable, Hashable {
    /// The value of an attribute.
    case attribute(ResolvedAttribute)
    /// The destination of the last step; without steps, the object itself.
    case object
    /// The entity number of the object.
    case entity
  }

  package init(scope: Int, steps: [ResolvedStep], terminal: Terminal) {
    self.scope = scope
    self.steps = steps
    self.terminal = terminal
  }

  /// The type of the value.
  package var type: ResolvedType {
    switch terminal {
    case .attribute(let attribute): attribute.type
    case .object: .object
    case .entity: .entity
    }
  }
}

/// An attribute at the end of a path. Attributes are equal if their entity and slot are.
package struct ResolvedAttribute: Sendable, Hashable {
  package let slot: CompiledSlot
  package let type: ResolvedType

  package init(_ slot: CompiledSlot) {
    self.slot = slot
    type = slot.attributeType?.traits.resolvedType ?? .opaque
  }

  package static func == (left: ResolvedAttribute, right: ResolvedAttribute) -> Bool {
    left.slot.index == right.slot.index && left.slot.declaringEntity == right.slot.declaringEntity
  }
  package func hash(into hasher: inout Hasher) {
    hasher.combine(slot.index)
    hasher.combine(slot.declaringEntity)
  }
}

/// An aggregate over the members of a collection that match a condition.
package struct ResolvedAggregate: Sendable, Hashable {
  /// The function of an aggregate.
  package enum Function: Sendable, Hashable {
    /// The number of members; 0 if there are no members.
    case count
    /// The sum of the values; 0 if there are no values. The sum of integers is an integer if it fits in 64 bits; the sum of decimals is a
    /// decimal.
    case sum
    /// The mean, a double or, for decimals, a decimal; missing if there are no values.
    case average
    /// The minimum; missing if there are no values.
    case minimum
    /// The maximum; missing if there are no values.
    case maximum
    /// The median, which for an even number of values is the mean of the middle two; missing if there are no values.
    case median
    /// The most frequent value, or the smallest of several; missing if there are no values.
    case mode
    /// The population standard deviation, a double; missing if there are no values.
    case standardDeviation
    /// The value, of any type, or object of the only member of a collection with a ``ResolvedCollection/position``.
    case only
  }
  package var function: Function
  package var collection: ResolvedCollection
  /// The condition on members; `constant(true)` for all.
  package var condition: ResolvedPredicate
  /// The value of each member; nil for ``Function/count``.
  package var value: ResolvedExpression?

  package init(
    function: Function, collection: ResolvedCollection, condition: ResolvedPredicate = .constant(true), value: ResolvedExpression? = nil
  ) {
    self.function = function
    self.collection = collection
    self.condition = condition
    self.value = value
  }

  /// The type of the result. A sum of integers that exceeds 64 bits is nevertheless a double.
  package var type: ResolvedType {
    value.map { function.type(of: $0.type) } ?? .integer
  }
}
