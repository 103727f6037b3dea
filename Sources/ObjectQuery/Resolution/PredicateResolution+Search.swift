package import ObjectModel

extension PredicateResolution {
  /// Resolves `text SEARCH "quick -slow"`. Each word is a separate comparison, so that AND, OR and NOT of a query become those of
  /// predicates.
  ///
  /// The right side of such a comparison is a text in FTS4's syntax, which is also valid in this library's (``TextPhrase/quoted``).
  mutating func resolveSearch(_ comparison: FetchComparison, isNegated: Bool) throws(FetchPredicateError) -> ResolvedPredicate {
    guard comparison.modifier != .direct else {
      let found = try search(in: try texts(of: comparison.left), for: comparison.right, of: comparison.left)
      return isNegated ? PredicateResolution.opposite(found) : found
    }
    guard let path = try toManyPath(comparison.left) else {
      throw .modifierNeedsToManyKey(modifier: comparison.modifier.rawValue, expression: describe(comparison.left))
    }
    var found = try search(in: try texts(path.value, name: describe(comparison.left)), for: comparison.right, of: comparison.left)
    if comparison.modifier == .all { found = PredicateResolution.opposite(found) }
    return wrap(found, in: path.collections, isNegated: (comparison.modifier != .any) != isNegated)
  }

  /// Resolves `relevance(text, "query")`. In the result, the query precedes the texts.
  mutating func relevance(_ arguments: [FetchExpression], name: String) throws(FetchPredicateError) -> ResolvedExpression {
    guard arguments.count == 2 else {
      throw .unsupported(
        part: "\(arguments.count) arguments of the function \(name)",
        advice: "It takes two: a text, a list of texts or an object, and a query.")
    }
    let texts = try texts(of: arguments[0])
    guard texts.count <= PredicateResolution.maximumArgumentCount else {
      throw .unsupported(
        part: "The relevance of \(texts.count) texts", advice: "Give it at most \(PredicateResolution.maximumArgumentCount).")
    }
    switch try operand(arguments[1]) {
    case .constant(let value) where value.text != nil:
      let query = TextQuery(typed: value.text ?? "").text
      return .function(.relevance, [.constant(add(.slot(.text(query))), .text)] + texts, .real)
    case .expression(let query, let described):
      try check(.search, query, described)
      return .function(.relevance, [query] + texts, .real)
    default: throw .invalidRightSide(op: "The function \(name)", expression: describe(arguments[0]), expected: "a query, which is a text,")
    }
  }

  // MARK: Texts

  /// Returns the texts of an expression: a single one, those of a list, or those in the full-text indexes of an object.
  private mutating func texts(of expression: FetchExpression) throws(FetchPredicateError) -> [ResolvedExpression] {
    switch try operand(expression) {
    case .list(let items):
      var result: [ResolvedExpression] = []
      guard !items.isEmpty else { throw .unsupported(part: "SEARCH in an empty list", advice: "List the attributes to be searched.") }
      for item in items { result += try texts(item) }
      return result
    case let single: return try texts(single)
    }
  }

  private mutating func texts(_ operand: Operand) throws(FetchPredicateError) -> [ResolvedExpression] {
    switch operand {
    case .expression(let expression, let name): return try texts(expression, name: name)
    case .constant(let value):
      // A missing text has no words.
      if value.isNull { return [] }
      let expression = try constantExpression(value)
      try check(.search, expression, value.typeName)
      return [expression]
    case .list: throw .unsupported(part: "SEARCH in a list of lists", advice: "List the attributes to be searched.")
    }
  }

  private func texts(_ expression: ResolvedExpression, name: String) throws(FetchPredicateError) -> [ResolvedExpression] {
    guard expression.type == .object else {
      try check(.search, expression, name)
      return [expression]
    }
    guard case .path(let path) = expression, path.terminal == .object else {
      throw .unsupported(part: "SEARCH in \(name) as a whole", advice: "Name an attribute.")
    }
    let entity = path.steps.last.map { model.entities[$0.relationship.destinationEntity] } ?? scopes[path.scope]
    let slots = model.fullTextSlots(of: entity)
    guard !slots.isEmpty else {
      throw .unsupported(
        part: "SEARCH in \(name) as a whole",
        advice: "Give \(entity.name) a full-text index, or name the attributes, as in {title, summary} SEARCH \"words\".")
    }
    return slots.map { .path(ResolvedPath(scope: path.scope, steps: path.steps, terminal: .attribute(ResolvedAttribute($0)))) }
  }

  // MARK: Queries

  private mutating func search(
    in texts: [ResolvedExpression], for right: FetchExpression, of left: FetchExpression
  ) throws(FetchPredicateError) -> ResolvedPredicate {
    switch try operand(right) {
    case .constant(.null): return .constant(false)
    case .constant(let value):
      guard let text = value.text else {
        throw .typeMismatch(expression: describe(left), type: "text", other: "\(value.typeName) by SEARCH")
      }
      guard !texts.isEmpty else { return .constant(false) }
      let query = TextQuery(typed: text).root
      let found = condition(query, texts)
      guard query.matchesNothing else { return found }
      // An object without any text does not match a query that only excludes words.
      let isPresent = PredicateResolution.join(texts.map { makeIsNull($0, isNegated: true) }, isConjunction: false)
      return PredicateResolution.join([found, isPresent], isConjunction: true)
    case .expression(let query, let name):
      try check(.search, query, name)
      guard !texts.isEmpty else { return .constant(false) }
      guard texts.count == 1 else {
        throw .unsupported(
          part: "SEARCH in several texts for the value of \(name)", advice: "Search one text, or use a constant query.")
      }
      return finish(ResolvedComparison(left: texts[0], op: .search, right: .expression(query), domain: .text))
    case .list: throw .invalidRightSide(op: "SEARCH", expression: describe(left), expected: "one query, not a list")
    }
  }

  /// The query parser bounds the recursion.
  private mutating func condition(_ node: TextQuery.Node, _ texts: [ResolvedExpression]) -> ResolvedPredicate {
    switch node {
    case .not(let node): return PredicateResolution.opposite(condition(node, texts))
    case .all(let nodes): return PredicateResolution.join(nodes.map { condition($0, texts) }, isConjunction: true)
    case .any(let nodes): return PredicateResolution.join(nodes.map { condition($0, texts) }, isConjunction: false)
    case .phrase(let phrase):
      let constant = ResolvedExpression.constant(add(.slot(.text(phrase.quoted))), .text)
      let leaves = texts.map { text in
        finish(ResolvedComparison(left: text, op: .search, right: .expression(constant), domain: .text))
      }
      return PredicateResolution.join(leaves, isConjunction: false)
    }
  }
}

extension CompiledModel {
  /// Returns the attributes in the full-text indexes of an entity, including inherited ones, without duplicates.
  package func fullTextSlots(of entity: CompiledEntity) -> [CompiledSlot] {
    guard hasFullTextIndexes else { return [] }
    var slots: [CompiledSlot] = []
    var next: CompiledEntity? = entity
    while let declaring = next {
      for index in declaring.entityDescription.indexes where index.isFullText {
        for element in index.elements {
          guard case .attribute(let slot)? = element.propertyName.flatMap(entity.property),
            !slots.contains(where: { $0.index == slot.index })
          else { continue }
          slots.append(slot)
        }
      }
      next = declaring.parent.map { entities[$0] }
    }
    return slots
  }
}
