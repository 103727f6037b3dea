import ObjectModel
import ObjectQuery
import ObjectStore

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
