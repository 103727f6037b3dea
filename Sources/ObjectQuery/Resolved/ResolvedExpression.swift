import Foundation
@_spi(Generated) package import ObjectModel

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

// MARK: - Names, domains and properties

extension ResolvedType {
  var name: String {
    switch self {
    case .integer: "integer"
    case .boolean: "boolean"
    case .real: "floating-point number"
    case .date: "date"
    case .decimal: "decimal"
    case .text: "string"
    case .uri: "URI"
    case .uuid: "UUID"
    case .binary: "binary data"
    case .object: "object"
    case .entity: "entity"
    case .opaque: "transformable or undefined"
    }
  }
}

extension ResolvedDomain {
  /// Creates the comparison method for two types; nil if they cannot be compared.
  init?(_ left: ResolvedType, _ right: ResolvedType) {
    switch (left, right) {
    case (.decimal, .decimal): self = .decimal
    case (.decimal, _) where right.isNumeric, (_, .decimal) where left.isNumeric: self = .mixedDecimal
    case (_, _) where left.isNumeric && right.isNumeric, (.date, .date): self = .number
    case (.text, .text), (.text, .uri), (.uri, .text), (.uri, .uri): self = .text
    case (.uuid, .uuid), (.binary, .binary): self = .bytes
    case (.object, .object): self = .object
    case (.entity, .entity): self = .entity
    default: return nil
    }
  }
}

extension ResolvedExpression {
  /// Whether the expression is a single-precision attribute. Constants compared with it are rounded like its values.
  var isSinglePrecision: Bool {
    guard case .path(let path) = self, case .attribute(let attribute) = path.terminal else { return false }
    return attribute.slot.attributeType?.traits.number == .single
  }

  /// Whether the expression is an integer that becomes a double if it does not fit in 64 bits.
  package var mayOverflow: Bool {
    guard type == .integer else { return false }
    switch self {
    case .constant, .path: return false
    case .groupAggregate: return true
    case .aggregate(let aggregate):
      return aggregate.function == .sum || aggregate.value.map { $0.mayOverflow } ?? false
    case .function(let function, let arguments, _):
      switch function {
      case .add, .subtract, .multiply, .divide, .absolute, .sumOfList: return true
      default: return arguments.contains { $0.mayOverflow }
      }
    case .conditional(_, let first, let second): return first.mayOverflow || second.mayOverflow
    }
  }

  /// Whether the value depends on an object or is random. The limit of predicate nesting bounds the recursion.
  package var dependsOnObjects: Bool {
    switch self {
    case .constant: false
    case .path, .aggregate, .groupAggregate: true
    case .function(let function, let arguments, _): function.isRandom || arguments.contains { $0.dependsOnObjects }
    case .conditional(let condition, let first, let second):
      condition.dependsOnObjects || first.dependsOnObjects || second.dependsOnObjects
    }
  }
}

extension ResolvedPredicate {
  var dependsOnObjects: Bool {
    switch self {
    case .constant: false
    case .and(let items), .or(let items): items.contains { $0.dependsOnObjects }
    case .isNull(let expression, _): expression.dependsOnObjects
    case .comparison(let comparison): comparison.dependsOnObjects
    case .exists, .block: true
    }
  }
}

extension ResolvedComparison {
  var dependsOnObjects: Bool {
    switch right {
    case .expression(let expression): left.dependsOnObjects || expression.dependsOnObjects
    case .range(let low, let high): left.dependsOnObjects || low.dependsOnObjects || high.dependsOnObjects
    case .list: left.dependsOnObjects
    }
  }
}

extension FetchConstant {
  var isNull: Bool {
    if case .null = self { return true }
    return false
  }

  var isNumber: Bool {
    switch self {
    case .bool, .int, .real, .decimal: true
    default: false
    }
  }

  var isNotANumber: Bool {
    switch self {
    case .real(let value): value.isNaN
    case .decimal(let value): value.isNaN
    case .date(let value): value.timeIntervalSinceReferenceDate.isNaN
    default: false
    }
  }

  var text: String? {
    switch self {
    case .string(let value): value
    case .url(let value): value.absoluteString
    default: nil
    }
  }

  /// The description in errors: the type, never the value.
  var typeName: String {
    switch self {
    case .null: "nil"
    case .bool: "a boolean"
    case .int: "an integer"
    case .real(let value): value.isNaN ? "a value that is not a number" : "a floating-point number"
    case .decimal(let value): value.isNaN ? "a value that is not a number" : "a decimal"
    case .string: "a string"
    case .date: "a date"
    case .data: "binary data"
    case .uuid: "a UUID"
    case .url: "a URL"
    case .object: "an object"
    case .entity: "an entity"
    case .list: "a list"
    case .inMemory(let value): "a \(value.typeName)"
    }
  }

  /// The value as a slot of its own type; nil for objects, entities, lists and values of other types.
  package var natural: (Slot, ResolvedType)? {
    switch self {
    case .null: (.null, .opaque)
    case .bool(let value): (value.slot, .boolean)
    case .int(let value): (value.slot, .integer)
    case .real(let value): (value.slot, .real)
    case .decimal(let value): (value.slot, .decimal)
    case .string(let value): (value.slot, .text)
    case .date(let value): (value.slot, .date)
    case .data(let value): (value.slot, .binary)
    case .uuid(let value): (value.slot, .uuid)
    case .url(let value): (value.slot, .uri)
    case .object, .entity, .list, .inMemory: nil
    }
  }
}
