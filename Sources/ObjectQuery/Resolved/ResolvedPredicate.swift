package import ObjectModel

/// A predicate in normal form, which was checked against a model: names are numbers, constants are typed, and NOT occurs only in leaves.
/// The evaluator and SQL generators use this form.
///
/// Every leaf is true or false, never unknown, even with missing values (see `Documentation/Predicates.md`). Since nothing outside a leaf
/// negates it, a generator may let a leaf that is not negated result in NULL instead of false. A negated leaf must be true in that case.
package indirect enum ResolvedPredicate: Sendable, Hashable {
  /// A constant truth value. It occurs only as a whole predicate, a condition on members, or the condition of a conditional.
  case constant(Bool)
  /// A conjunction of two or more predicates, none of which is an `and`.
  case and([ResolvedPredicate])
  /// A disjunction of two or more predicates, none of which is an `or`.
  case or([ResolvedPredicate])
  /// A test for a missing value, or its negation.
  case isNull(ResolvedExpression, isNegated: Bool)
  /// A comparison.
  case comparison(ResolvedComparison)
  /// A test for a member of a collection that matches a condition, or its negation.
  case exists(ResolvedExists)
  /// A condition in Swift on the object of scope 0. It occurs only if the resolver allows parts that stores do not support.
  case block(BlockPredicate, isNegated: Bool)

  /// The predicates of a conjunction, or the predicate itself.
  package var conjuncts: [ResolvedPredicate] {
    if case .and(let items) = self { items } else { [self] }
  }
}

/// A comparison of values.
///
/// If an operand is missing, `==` is true if both are missing, and every other operator is false. ``isNegated`` inverts the result.
package struct ResolvedComparison: Sendable, Hashable {
  /// The left side. If only one side depends on the object, it is the left one.
  package var left: ResolvedExpression
  /// The operator. It is never `!=`, which is a negated `==`.
  package var op: ComparisonOperator
  /// The right side: a range for BETWEEN, a list for IN, otherwise an expression.
  package var right: ResolvedOperand
  /// The comparison method.
  package var domain: ResolvedDomain
  /// The options for strings: none, case or diacritic insensitive or both, or locale sensitive. `[n]` is removed, because it is equivalent
  /// to no options.
  package var options: ComparisonOptions
  /// Whether the result is inverted.
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

  /// Whether both sides are folded (``TextFolding``) before the comparison. Constants on the right are already folded, except that patterns
  /// of MATCHES are only stripped of diacritics.
  package var isFolded: Bool { !options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive]) }
}

/// The right side of a comparison.
package enum ResolvedOperand: Sendable, Hashable {
  /// A single value.
  case expression(ResolvedExpression)
  /// The bounds of BETWEEN, inclusive.
  case range(ResolvedExpression, ResolvedExpression)
  /// A list constant, by index (``ResolvedConstant/slots(_:)`` or ``ResolvedConstant/objects(_:)``); never empty.
  case list(Int)
}

/// The method of comparing two values.
package enum ResolvedDomain: Sendable, Hashable {
  /// Integers, booleans, floating-point numbers and dates, by exact numeric value across kinds.
  case number
  /// Two coded decimals, by their bytes (``DecimalCoding``).
  case decimal
  /// A coded decimal and an integer or floating-point number, by exact value (``SlotComparison``).
  case mixedDecimal
  /// Strings, by their UTF-8 bytes unless the options specify otherwise.
  case text
  /// Binary data and UUIDs, by their bytes as with `memcmp`; a prefix comes first.
  case bytes
  /// Objects, by identity.
  case object
  /// Entities, by number.
  case entity
}

/// A test for a member of a to-many relationship that matches a condition.
package struct ResolvedExists: Sendable, Hashable {
  /// The collection.
  package var collection: ResolvedCollection
  /// The condition. The member is the object of scope ``ResolvedCollection/memberScope``.
  package var condition: ResolvedPredicate
  /// Whether to test that no member matches.
  package var isNegated: Bool

  package init(collection: ResolvedCollection, condition: ResolvedPredicate, isNegated: Bool) {
    self.collection = collection
    self.condition = condition
    self.isNegated = isNegated
  }
}

/// The members of a to-many relationship of an object, or one of them. Empty if a to-one relationship on the path is nil.
package struct ResolvedCollection: Sendable, Hashable {
  /// The scope of the object that the path starts from: 0 is the evaluated object, others are members of enclosing collections.
  package var scope: Int
  /// The to-one relationships from that object.
  package var steps: [ResolvedStep]
  /// The to-many relationship.
  package var relationship: ResolvedStep
  /// The scope of a member: one more than the innermost enclosing scope.
  package var memberScope: Int
  /// The position of a single member of an ordered relationship; nil for all members.
  package var position: Position?

  /// A position in an ordered relationship.
  package enum Position: Sendable, Hashable {
    case first
    case last
    /// The zero-based position in a constant, by the constant's index. There may be no such member.
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

/// A relationship on a path. Steps are equal if their relationship numbers are.
package struct ResolvedStep: Sendable, Hashable {
  package let relationship: CompiledRelationship

  package init(_ relationship: CompiledRelationship) { self.relationship = relationship }

  package static func == (left: ResolvedStep, right: ResolvedStep) -> Bool { left.relationship.id == right.relationship.id }
  package func hash(into hasher: inout Hasher) { hasher.combine(relationship.id) }
}

/// The meaning of a LIKE or MATCHES pattern, as a simpler comparison that can use an index.
enum SimplifiedPattern: Equatable {
  /// The pattern is equivalent to an operator with a text.
  case comparison(ComparisonOperator, String)
  /// The pattern requires a prefix, among other conditions.
  case beginning(String)
  /// The pattern has no simpler equivalent.
  case pattern

  init(like pattern: String) {
    var literals = [String.UnicodeScalarView()]
    var (starts, ends, hasOthers) = (false, false, false)
    var isEscaped = false
    for scalar in pattern.unicodeScalars {
      let isWildcard = !isEscaped && (scalar == "*" || scalar == "?")
      guard isWildcard || isEscaped || scalar != "\\" else {
        isEscaped = true
        continue
      }
      isEscaped = false
      if isWildcard {
        if scalar == "?" { hasOthers = true }
        if literals.count == 1, literals[0].isEmpty { starts = true }
        ends = true
        literals.append(String.UnicodeScalarView())
      } else {
        ends = false
        literals[literals.count - 1].append(scalar)
      }
    }
    // A trailing backslash is literal.
    if isEscaped {
      literals[literals.count - 1].append("\\")
      ends = false
    }
    let texts = literals.filter { !$0.isEmpty }.map { String($0) }
    if !hasOthers, texts.count <= 1 {
      let text = texts.first ?? ""
      switch (starts, ends) {
      case (false, false): self = .comparison(.equal, text)
      case (false, true): self = .comparison(.beginsWith, text)
      case (true, false): self = .comparison(.endsWith, text)
      case (true, true): self = text.isEmpty ? .comparison(.beginsWith, "") : .comparison(.contains, text)
      }
    } else {
      self = literals[0].isEmpty ? .pattern : .beginning(String(literals[0]))
    }
  }

  /// Creates the meaning of a regular expression for the whole text, as far as literal characters at its beginning determine it.
  init(matches pattern: String) {
    // An alternative may begin differently, and flags change the meaning of letters.
    guard !pattern.unicodeScalars.contains("|"), !pattern.unicodeScalars.starts(with: "(?".unicodeScalars) else {
      self = .pattern
      return
    }
    var literal = String.UnicodeScalarView()
    var next: Unicode.Scalar?
    for scalar in pattern.unicodeScalars {
      next = scalar
      guard SimplifiedPattern.isPlain(scalar) else { break }
      literal.append(scalar)
      next = nil
    }
    // The next character may be a quantifier for the last letter, or a combining mark.
    if let next, "*+?{".unicodeScalars.contains(next) || next.value >= 0x80 { literal.removeLast(min(1, literal.count)) }
    self = literal.isEmpty ? .pattern : .beginning(String(literal))
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", " ", "-", "_", ":", "/", "@", ",": true
    default: false
    }
  }
}
