import ObjectModel
import ObjectQuery

/// The expressions that a model's indexes contain.
///
/// An index can contain functions of an entity's own and inherited attributes, but no constants: a query has placeholders instead, which
/// SQLite does not match with an index. The name of the indexed function contains the version of the functions' results, as for folded
/// indexes (``StoredFunctionIndexes``).
struct IndexedExpressions: Sendable {
  private var expressions: Set<ResolvedExpression> = []

  init(_ model: CompiledModel) {
    guard model.hasExpressionIndexes else { return }
    for entity in model.entities {
      for element in entity.entityDescription.indexes.flatMap(\.elements) {
        if let expression = Self.resolved(element, of: entity, model) { expressions.insert(expression) }
      }
    }
  }

  /// Returns whether an index contains an expression of one object, whatever its scope.
  func contain(_ expression: ResolvedExpression) -> Bool {
    guard !expressions.isEmpty else { return false }
    var scope: Int?
    return Self.moved(expression, from: &scope).map(expressions.contains) ?? false
  }

  /// Returns the expression of an element, or `nil` if it has none or none that can be indexed.
  static func resolved(_ element: FetchIndexElement, of entity: CompiledEntity, _ model: CompiledModel) -> ResolvedExpression? {
    guard element.kind == .binary, let format = element.expression, let parsed = try? FetchExpression(format: format),
      let fetch = try? FetchResolver(model: model).resolve(nil, sortDescriptors: [FetchSortDescriptor(expression: parsed)], entity: entity),
      let expression = fetch.sortKeys.first?.expression, case .function = expression
    else { return nil }
    var scope: Int?
    return moved(expression, from: &scope)
  }

  /// Returns the same expression in scope 0, or `nil` if it cannot be indexed.
  private static func moved(_ expression: ResolvedExpression, from scope: inout Int?) -> ResolvedExpression? {
    switch expression {
    case .path(var path):
      guard path.steps.isEmpty, case .attribute = path.terminal, scope ?? path.scope == path.scope else { return nil }
      scope = path.scope
      path.scope = 0
      return .path(path)
    case .function(let function, let arguments, let type):
      guard !function.isRandom, function != .noIndex, function != .relevance, !arguments.isEmpty else { return nil }
      var result: [ResolvedExpression] = []
      for argument in arguments {
        guard let argument = moved(argument, from: &scope) else { return nil }
        result.append(argument)
      }
      return .function(function, result, type)
    case .constant, .aggregate, .groupAggregate, .conditional: return nil
    }
  }
}
