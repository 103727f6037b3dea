// ResolvedPredicate: a predicate checked against a model, in the one normal form that the evaluator and SQL generators work from.
package import ObjectModel

/// A predicate in normal form: names are numbers, constants are typed, NOT stands at the leaves only.
///
/// Every leaf is true or false, never unknown, whatever is missing (see `Documentation/Predicates.md`). Since nothing negates a leaf from outside,
/// a generator may let a leaf that is not negated be SQL's NULL where it should be false; a negated leaf has to be made true.
package indirect enum ResolvedPredicate: Sendable, Hashable {
  /// Always true, or always false; only the whole predicate, a member's condition or a conditional's condition can be one.
  case constant(Bool)
  /// All of two or more, none of them an `and`.
  case and([ResolvedPredicate])
  /// Some of two or more, none of them an `or`.
  case or([ResolvedPredicate])
  /// Whether an expression has no value, or has one.
  case isNull(ResolvedExpression, isNegated: Bool)
  /// A comparison.
  case comparison(ResolvedComparison)
  /// Whether a collection has a member that meets a condition, or has none.
  case exists(ResolvedExists)
  /// A condition in Swift on the object of scope 0; only where the resolver allows what no store can answer.
  case block(BlockPredicate, isNegated: Bool)

  /// The conditions that all have to hold.
  package var conjuncts: [ResolvedPredicate] {
    if case .and(let items) = self { items } else { [self] }
  }
}

/// A comparison of values.
///
/// Where an operand has no value, `==` is true if both have none, else false; every other operator is false. ``isNegated`` turns the result.
package struct ResolvedComparison: Sendable, Hashable {
  /// The left side; where only one side depends on the object, it is this one.
  package var left: ResolvedExpression
  /// The operator, never `!=` (which is a negated `==`).
  package var op: ComparisonOperator
  /// The right side: a range for BETWEEN, a list for IN, else an expression.
  package var right: ResolvedOperand
  /// How the two sides compare.
  package var domain: ResolvedDomain
  /// For text: none, case and/or diacritic insensitive, or locale sensitive. `[n]` has been dropped: it asks for what `[]` does.
  package var options: ComparisonOptions
  /// Whether the result is turned.
  package var isNegated: Bool

  package init(
    left: ResolvedExpression, op: ComparisonOperator, right: ResolvedOperand, domain: ResolvedDomain, options: ComparisonOptions = [],
    isNegated: Bool = false
  ) {
    self.left = left
    self.op = op
    self.right = right
    self.domain = domain
    self.options = options
    self.isNegated = isNegated
  }

  /// Whether both sides are folded (``TextFolding``) before they are compared. Constants on the right are folded already, except MATCHES' patterns,
  /// which lose their diacritics only.
  package var isFolded: Bool { !options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive]) }
}

/// The right side of a comparison.
package enum ResolvedOperand: Sendable, Hashable {
  /// One value.
  case expression(ResolvedExpression)
  /// The two ends of BETWEEN, both included.
  case range(ResolvedExpression, ResolvedExpression)
  /// The number of a constant that is a list (``ResolvedConstant/slots(_:)`` or ``ResolvedConstant/objects(_:)``), never empty.
  case list(Int)
}

/// How two values compare.
package enum ResolvedDomain: Sendable, Hashable {
  /// Integers, booleans, floating-point numbers and dates, by exact numeric value whatever the slot's kind.
  case number
  /// Two coded decimals, by their bytes (``DecimalCoding``).
  case decimal
  /// A coded decimal with an integer or floating-point number, by exact value (``SlotComparison``).
  case mixedDecimal
  /// Text, by its UTF-8 bytes unless the options say otherwise.
  case text
  /// Bytes (`memcmp`, a prefix first): binary data and UUIDs.
  case bytes
  /// Objects, by identity.
  case object
  /// Entities, by number.
  case entity
}

/// Whether a to-many relationship has a member that meets a condition.
package struct ResolvedExists: Sendable, Hashable {
  /// The collection.
  package var collection: ResolvedCollection
  /// The condition; inside it the member is the object of scope ``ResolvedCollection/memberScope``.
  package var condition: ResolvedPredicate
  /// Whether it is asked that there is none.
  package var isNegated: Bool

  package init(collection: ResolvedCollection, condition: ResolvedPredicate, isNegated: Bool) {
    self.collection = collection
    self.condition = condition
    self.isNegated = isNegated
  }
}

/// The members of a to-many relationship of an object, or one of them; none where a to-one on the way there is nil.
package struct ResolvedCollection: Sendable, Hashable {
  /// The scope of the object that the path starts from: 0 is the object asked about, others are members of enclosing collections.
  package var scope: Int
  /// To-one relationships from there.
  package var steps: [ResolvedStep]
  /// The to-many relationship.
  package var relationship: ResolvedStep
  /// The scope of a member: one more than the innermost scope around.
  package var memberScope: Int
  /// Which one member is meant, if not all are; the relationship is ordered then.
  package var position: Position?

  /// A place in an ordered relationship.
  package enum Position: Sendable, Hashable {
    case first
    case last
    /// The place, from 0, in the constant of a number. There may be no such member.
    case at(Int)
  }

  package init(scope: Int, steps: [ResolvedStep], relationship: ResolvedStep, memberScope: Int, position: Position? = nil) {
    self.scope = scope
    self.steps = steps
    self.relationship = relationship
    self.memberScope = memberScope
    self.position = position
  }
}

/// A relationship on a path. Equal when the relationship's number is.
package struct ResolvedStep: Sendable, Hashable {
  package let relationship: CompiledRelationship

  package init(_ relationship: CompiledRelationship) { self.relationship = relationship }

  package static func == (left: ResolvedStep, right: ResolvedStep) -> Bool { left.relationship.id == right.relationship.id }
  package func hash(into hasher: inout Hasher) { hasher.combine(relationship.id) }
}
