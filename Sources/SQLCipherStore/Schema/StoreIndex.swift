import ObjectModel
import ObjectQuery
import ObjectStore

/// An index of a store's file.
struct StoreIndex: Sendable {
  /// The unquoted name in the file.
  let name: String
  let sql: String
  /// The quoted name of its table.
  let table: String
  /// The columns and expressions, as SQL text.
  let elements: [String]
  /// The condition of a partial index, including ` WHERE `; empty if there is none.
  let condition: String
  /// The index in terms of the model.
  let meaning: FetchExplanation.Index
  /// The query that counts the rows of its table.
  let rowCount: String
}

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

/// The attributes in a model's indexes, by how the index folds them.
struct IndexedForms: Sendable {
  private struct Form: Hashable {
    let entity: Int
    let slot: Int
    let folding: ComparisonOptions
  }
  /// The first elements of indexes.
  private var leading: Set<Form> = []
  /// The folded elements of indexes, at any position.
  private var folded: Set<Form> = []
  /// The unfolded elements of indexes, at any position.
  private var plain: Set<Form> = []

  init(_ model: CompiledModel) {
    for entity in model.entities {
      for constraint in entity.entityDescription.uniquenessConstraints {
        for name in constraint { if let slot = Self.slot(name, of: entity) { plain.insert(Self.form(slot, [])) } }
        // The index of a constraint on an inherited attribute contains only rows of the subentity.
        guard let slot = constraint.first.flatMap({ Self.slot($0, of: entity) }), slot.declaringEntity == entity.number else { continue }
        leading.insert(Self.form(slot, []))
      }
      for index in entity.entityDescription.indexes {
        for (position, element) in index.elements.enumerated() {
          guard element.kind == .binary, let name = element.propertyName, let slot = Self.slot(name, of: entity) else { continue }
          let form = Self.form(slot, element.folding)
          if position == 0, index.partialIndexPredicate == nil { leading.insert(form) }
          if element.folding.isEmpty { plain.insert(form) } else { folded.insert(form) }
        }
      }
    }
  }

  /// Returns whether an index starts with an attribute in a folding.
  func begins(with slot: CompiledSlot, folding: ComparisonOptions) -> Bool { leading.contains(Self.form(slot, folding)) }

  /// Returns whether an index contains an attribute in a folding.
  func contains(_ slot: CompiledSlot, folding: ComparisonOptions) -> Bool { !folded.isEmpty && folded.contains(Self.form(slot, folding)) }

  /// Returns whether an index contains an attribute unfolded, at any position.
  func containsPlain(_ slot: CompiledSlot) -> Bool { plain.contains(Self.form(slot, [])) }

  private static func form(_ slot: CompiledSlot, _ folding: ComparisonOptions) -> Form {
    Form(entity: slot.declaringEntity, slot: slot.index, folding: folding)
  }

  private static func slot(_ name: String, of entity: CompiledEntity) -> CompiledSlot? { entity.slots.first { $0.name == name } }
}

extension FetchIndexElement {
  /// The comparison options that the element supports.
  var folding: ComparisonOptions {
    switch collation {
    case .binary: []
    case .caseInsensitive: .caseInsensitive
    case .diacriticInsensitive: .diacriticInsensitive
    case .caseAndDiacriticInsensitive: [.caseInsensitive, .diacriticInsensitive]
    }
  }
}

extension ComparisonOptions {
  /// The folding options in the brackets of the predicate format; empty if there are none.
  var foldingMark: String {
    let letters = (contains(.caseInsensitive) ? "c" : "") + (contains(.diacriticInsensitive) ? "d" : "")
    return letters.isEmpty ? "" : "[\(letters)]"
  }
}
