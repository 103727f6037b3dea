// ResolvedExpression: one side of a resolved comparison, a sort key or a projection.
package import ObjectModel

/// An expression whose names are numbers and whose type is known.
package indirect enum ResolvedExpression: Sendable, Hashable {
  /// The constant of a number in ``ResolvedFetch/constants``.
  case constant(Int, ResolvedType)
  /// A value at the end of to-one relationships.
  case path(ResolvedPath)
  /// A number computed over a collection.
  case aggregate(ResolvedAggregate)
  /// The aggregate of a number in ``ResolvedProjection/aggregates``, of the group at hand.
  case groupAggregate(Int, ResolvedType)
  /// A function of arguments. An argument without a value makes a result without one, unless ``ResolvedFunction/takesMissingValues`` says otherwise.
  case function(ResolvedFunction, [ResolvedExpression], ResolvedType)
  /// One of two expressions of one type.
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

/// The type of an expression's value, as far as it decides how values compare.
package enum ResolvedType: Sendable, Hashable {
  /// `Slot.int`.
  case integer, boolean
  /// `Slot.real`.
  case real, date
  /// `Slot.bytes`, a coded decimal.
  case decimal
  /// `Slot.text`.
  case text, uri
  /// `Slot.bytes`.
  case uuid, binary
  /// An object.
  case object
  /// An entity's number, `Slot.int`.
  case entity
  /// A value that can only be asked whether it is there.
  case opaque

  /// Whether it is a number that arithmetic takes.
  package var isNumeric: Bool {
    switch self {
    case .integer, .boolean, .real, .decimal: true
    default: false
    }
  }
}

/// A path through to-one relationships; without a value where one of them is nil.
package struct ResolvedPath: Sendable, Hashable {
  /// The scope of the object that the path starts from (see ``ResolvedCollection/scope``).
  package var scope: Int
  /// To-one relationships, in order.
  package var steps: [ResolvedStep]
  /// What is taken at their end.
  package var terminal: Terminal

  /// What a path takes at its end.
  package enum Terminal: Sendable, Hashable {
    /// An attribute's value.
    case attribute(ResolvedAttribute)
    /// The object that the steps lead to: with steps, what the last of them refers to; without, the object itself.
    case object
    /// The number of the object's own entity.
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

/// An attribute at the end of a path. Equal when entity and slot are.
package struct ResolvedAttribute: Sendable, Hashable {
  package let slot: CompiledSlot
  package let type: ResolvedType

  package init(_ slot: CompiledSlot) {
    self.slot = slot
    type = ResolvedType(slot.attributeType ?? .undefined)
  }

  package static func == (left: ResolvedAttribute, right: ResolvedAttribute) -> Bool {
    left.slot.index == right.slot.index && left.slot.declaringEntity == right.slot.declaringEntity
  }
  package func hash(into hasher: inout Hasher) {
    hasher.combine(slot.index)
    hasher.combine(slot.declaringEntity)
  }
}

extension ResolvedType {
  /// The type of an attribute's values.
  package init(_ type: AttributeType) {
    self =
      switch type {
      case .integer16, .integer32, .integer64: .integer
      case .boolean: .boolean
      case .double, .float: .real
      case .date: .date
      case .decimal: .decimal
      case .string: .text
      case .uri: .uri
      case .uuid: .uuid
      case .binary: .binary
      case .transformable, .undefined, .composite: .opaque
      }
  }
}

/// A number computed over the members of a collection that meet a condition.
package struct ResolvedAggregate: Sendable, Hashable {
  /// What is computed.
  package enum Function: Sendable, Hashable {
    /// The number of members; 0 for none.
    case count
    /// The sum of the values that are there; 0 for none. Integers stay integers while they fit in 64 bits, decimals stay decimals.
    case sum
    /// Their mean, a double (for decimals a decimal); no value for none.
    case average
    /// The least; no value for none.
    case minimum
    /// The greatest; no value for none.
    case maximum
    /// The middle one, or the mean of the two in the middle; no value for none.
    case median
    /// The one that occurs most, of several the least; no value for none.
    case mode
    /// The standard deviation of the whole population, a double; no value for none.
    case standardDeviation
    /// What is taken of the only member of a collection with a ``ResolvedCollection/position``: a value of any type, or an object.
    case only
  }
  package var function: Function
  package var collection: ResolvedCollection
  /// Which members count; `constant(true)` for all.
  package var condition: ResolvedPredicate
  /// What is taken of each member; nil for ``Function/count``.
  package var value: ResolvedExpression?

  package init(
    function: Function, collection: ResolvedCollection, condition: ResolvedPredicate = .constant(true), value: ResolvedExpression? = nil
  ) {
    self.function = function
    self.collection = collection
    self.condition = condition
    self.value = value
  }

  /// The type of the result. A sum of integers beyond 64 bits is a double all the same.
  package var type: ResolvedType {
    value.map { function.type(of: $0.type) } ?? .integer
  }
}
