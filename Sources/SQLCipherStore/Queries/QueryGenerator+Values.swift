import ObjectModel
import ObjectQuery
import ObjectStore

extension QueryGenerator {
  /// Returns the value of an expression; NULL if it has none. The value of an object is its key.
  func value(_ expression: ResolvedExpression, _ scopes: [QueryScope]) throws -> SQLFragment {
    switch expression {
    case .constant(let number, _):
      switch constants {
      case .placeholders: return SQLFragment(.constant(number))
      // In a subquery: SQLite compares each call with constant arguments with all previous ones, which takes quadratic time.
      case .packed: return "(SELECT \(PackedConstants.function)(?1, \(number)))"
      case .literals(let values):
        if case .slot(let slot) = values[number] { return SQLFragment(SQLLiteral.text(slot)) }
        return "NULL"
      }
    case .path(let path):
      guard let text = text(of: path, scopes[path.scope]) else { return "NULL" }
      return SQLFragment(isLarge(path) ? "\(SQLFunctions.data)(\(text))" : text)
    case .groupAggregate(let number, _): return groupAggregates[number]
    case .aggregate(let aggregate):
      if let joinedCount, joinedCount.aggregate == aggregate, let column = joinedCount.column { return SQLFragment(column) }
      return try self.aggregate(aggregate, scopes)
    case .function where isIndexed(expression): return try indexedValue(expression, scopes)
    case .function(let function, let arguments, let type):
      let values = SQLFragment.joined(try arguments.map { try value($0, scopes) }, by: ", ")
      switch function {
      // The unary plus prevents the use of an index.
      case .noIndex: return "+\(values)"
      case .coalesce: return "coalesce(\(values))"
      case .random, .randomBelow: return "\(SQLFunctions.random)(\(values))"
      default: return "\(SQLFunctions.applyCall(function, type))\(values))"
      }
    case .conditional(let condition, let first, let second):
      let (first, second) = (try value(first, scopes), try value(second, scopes))
      return "(CASE WHEN \(try self.condition(condition, scopes)) THEN \(first) ELSE \(second) END)"
    }
  }

  /// Returns whether an index contains an expression.
  func isIndexed(_ expression: ResolvedExpression) -> Bool {
    if case .literals = constants { return false }
    return schema.indexedExpressions.contain(expression)
  }

  /// Returns an expression exactly as its index contains it.
  func indexedValue(_ expression: ResolvedExpression, _ scopes: [QueryScope]) throws -> SQLFragment {
    guard case .function(let function, let arguments, let type) = expression else { return try value(expression, scopes) }
    let values = SQLFragment.joined(try arguments.map { try indexedValue($0, scopes) }, by: ", ")
    return function == .coalesce ? "coalesce(\(values))" : "\(SQLFunctions.indexedCall(function, type))\(values))"
  }

  /// Returns a value that is only tested for NULL. Values in files are not read for that.
  func presence(_ expression: ResolvedExpression, _ scopes: [QueryScope]) throws -> SQLFragment {
    guard case .path(let path) = expression else { return try value(expression, scopes) }
    return SQLFragment(text(of: path, scopes[path.scope]) ?? "NULL")
  }

  private func isLarge(_ path: ResolvedPath) -> Bool {
    guard schema.hasExternalValues, case .attribute(let attribute) = path.terminal else { return false }
    return attribute.slot.canBeLarge
  }

  private func text(of path: ResolvedPath, _ scope: QueryScope) -> String? {
    switch path.terminal {
    case .attribute(let attribute):
      scope.column(path.steps, entity: attribute.slot.declaringEntity, slot: attribute.slot.index, in: self)
    case .object: scope.key(path.steps, in: self)
    case .entity: scope.entity(path.steps, in: self)
    }
  }

  /// Returns the root entity of an object expression, or `nil` if the expression is not a path.
  func root(of expression: ResolvedExpression, _ scopes: [QueryScope]) -> Int? {
    switch expression {
    case .path(let path):
      guard let last = path.steps.last else { return scopes[path.scope].table.root.number }
      return schema.model.entities[last.relationship.destinationEntity].root
    case .conditional(_, let first, let second): return root(of: first, scopes) ?? root(of: second, scopes)
    case .function(_, let arguments, _): return arguments.lazy.compactMap { self.root(of: $0, scopes) }.first
    case .aggregate(let aggregate):
      guard let value = aggregate.value else { return nil }
      if case .path(let path) = value, path.steps.isEmpty, path.scope == aggregate.collection.memberScope {
        return schema.model.entities[aggregate.collection.relationship.relationship.destinationEntity].root
      }
      return root(of: value, scopes)
    case .constant, .groupAggregate: return nil
    }
  }

  private func aggregate(_ aggregate: ResolvedAggregate, _ scopes: [QueryScope]) throws -> SQLFragment {
    let collection = aggregate.collection
    let required = aggregate.value.map { Self.requiredSteps(of: $0, scope: collection.memberScope) } ?? []
    let query = try members(
      of: collection, where: aggregate.condition, scopes, required: required,
      select: { inner in
        guard let expression = aggregate.value else { return "count(*)" }
        guard aggregate.function != .only else { return try self.value(expression, inner) }
        return try self.aggregate(aggregate.function, of: expression, inner)
      })
    let empty = aggregate.function.emptyResult(of: aggregate.value?.type ?? .integer)
    guard let query else { return SQLFragment(SQLLiteral.text(empty)) }
    guard let value = aggregate.value, !empty.isNull, !SQLFunctions.returnsEmptyResult(aggregate.function, value.type) else {
      return "(\(query.text))"
    }
    return "coalesce((\(query.text)), \(SQLLiteral.text(empty)))"
  }

  /// Returns an aggregate over the objects of a group.
  func groupAggregate(_ aggregate: ResolvedGroupAggregate, _ scopes: [QueryScope]) throws -> SQLFragment {
    guard let expression = aggregate.value else { return "count(*)" }
    let result = try self.aggregate(aggregate.function, of: expression, isDistinct: aggregate.isDistinct, scopes)
    let empty = aggregate.emptyResult
    let isWhole = aggregate.function == .count || SQLFunctions.returnsEmptyResult(aggregate.function, expression.type)
    return isWhole || empty.isNull ? result : "coalesce(\(result), \(SQLLiteral.text(empty)))"
  }

  private func aggregate(
    _ function: ResolvedAggregate.Function, of expression: ResolvedExpression, isDistinct: Bool = false, _ scopes: [QueryScope]
  ) throws -> SQLFragment {
    let isColumn: Bool
    if case .path = expression { isColumn = true } else { isColumn = false }
    let value = try self.value(expression, scopes)
    return SQLFunctions.aggregate(function, value, expression.type, isColumn: isColumn, isDistinct: isDistinct, sums: sums)
  }
}

// MARK: - Full-text search

extension QueryGenerator {
  /// An attribute in a full-text index that a comparison searches, and the key of its object.
  private struct IndexedText {
    let key: String
    let column: (index: FullTextIndex, column: String)
    /// The index of the searched constant.
    let constant: Int
  }

  /// Returns a text search that uses a full-text index, or `nil` if there is none.
  func search(_ comparison: ResolvedComparison, _ right: ResolvedExpression, _ scopes: [QueryScope]) throws -> SQLFragment? {
    guard let text = indexedText(comparison, scopes) else { return nil }
    return "\(text.key) IN (\(documents(in: text.column, try value(right, scopes))))"
  }

  /// Combines searches for the same text in several attributes of one object, such as `{title, summary} SEARCH "word"`, into one lookup per
  /// word.
  ///
  /// - Returns: The operands of the OR, or `nil` if nothing can be combined.
  func searchInSeveral(_ items: [ResolvedPredicate], _ scopes: [QueryScope]) throws -> [SQLFragment]? {
    guard !schema.fullText.isEmpty else { return nil }
    var runs: [[(item: ResolvedPredicate, text: IndexedText?)]] = []
    for item in items {
      var text: IndexedText?
      if case .comparison(let comparison) = item, !comparison.isNegated { text = indexedText(comparison, scopes) }
      if let text, let last = runs.last?.last?.text, last.key == text.key, last.constant == text.constant {
        runs[runs.count - 1].append((item, text))
      } else {
        runs.append([(item, text)])
      }
    }
    guard runs.count < items.count else { return nil }
    return try runs.map { run in
      let texts = run.compactMap(\.text)
      guard texts.count > 1 else { return try condition(run[0].item, scopes).parenthesized }
      let query = try value(.constant(texts[0].constant, .text), scopes)
      let index = texts[0].column.index
      if texts.allSatisfy({ $0.column.index.name == index.name }), Set(texts.map(\.column.column)).count == index.slots.count {
        return "\(texts[0].key) IN (\(documents(in: (index, index.name), query)))"
      }
      return "\(texts[0].key) IN (\(SQLFragment.union(texts.map { documents(in: $0.column, query) })))"
    }
  }

  private func documents(in column: (index: FullTextIndex, column: String), _ query: SQLFragment) -> SQLFragment {
    "SELECT docid FROM \(column.index.name) WHERE \(column.column) MATCH \(query)"
  }

  private func indexedText(_ comparison: ResolvedComparison, _ scopes: [QueryScope]) -> IndexedText? {
    guard comparison.op == .search, case .expression(.constant(let constant, _)) = comparison.right, case .path(let path) = comparison.left
    else { return nil }
    if case .literals = constants { return nil }
    let scope = scopes[path.scope]
    guard let column = fullTextColumn(of: path, entity: schema.model.entities[scope.entityNumber]),
      let key = scope.key(path.steps, in: self)
    else { return nil }
    return IndexedText(key: key, column: column, constant: constant)
  }

  /// Returns the index that contains the attribute at the end of a path, and its column.
  ///
  /// - Parameter entity: The entity of the object at the start of the path, or `nil` if it is unknown.
  private func fullTextColumn(of path: ResolvedPath, entity: CompiledEntity?) -> (index: FullTextIndex, column: String)? {
    guard !schema.fullText.isEmpty, case .attribute(let attribute) = path.terminal else { return nil }
    let owner = path.steps.last.map { schema.model.entities[$0.relationship.destinationEntity] } ?? entity
    return schema.fullText.indexes(
      over: attribute.slot, of: owner ?? schema.model.entities[attribute.slot.declaringEntity], model: schema.model
    ).first
  }

  /// Returns whether a full-text index answers a comparison on the fetched object or on an object that it refers to.
  func isAnsweredByFullText(_ comparison: ResolvedComparison, of entity: CompiledEntity) -> Bool {
    guard comparison.op == .search, !comparison.isNegated, comparison.hasConstantRight, case .path(let path) = comparison.left else {
      return false
    }
    return path.scope == 0 && fullTextColumn(of: path, entity: entity) != nil
  }

  /// Returns whether a full-text index finds the objects of a scope that meet a comparison.
  func isAnsweredByFullText(_ comparison: ResolvedComparison, scope: Int) -> Bool {
    guard !comparison.isNegated, comparison.hasConstantRight, case .path(let path) = comparison.left, path.scope == scope,
      path.steps.allSatisfy({ $0.relationship.inverseID != nil })
    else { return false }
    return fullTextColumn(of: path, entity: nil) != nil
  }
}

extension SQLFragment {
  /// Returns a `UNION ALL` of queries.
  static func union(_ queries: [SQLFragment]) -> SQLFragment {
    var result = SQLFragment("")
    for (index, query) in queries.enumerated() {
      if index > 0 { result.text += " UNION ALL " }
      result.append(query)
    }
    return result
  }
}
