import ObjectModel
import ObjectQuery

/// The properties that a predicate compares in a way that an index could answer, without duplicates, in order.
struct ComparedProperties {
  private var found: [(entity: Int, name: String)] = []
  private var searched: [CompiledSlot] = []

  init(of predicate: ResolvedPredicate) { visit(predicate) }

  /// Returns the compared properties of a table's entities.
  func names(in table: EntityTable, _ schema: StoreSchema) -> [String] {
    found.filter { schema.model.entities[$0.entity].root == table.root.number }.map(\.name)
  }

  /// Returns the searched attributes of a table's entities that are not in a full-text index.
  func searched(in table: EntityTable, _ schema: StoreSchema) -> [String] {
    searched.filter { schema.model.entities[$0.declaringEntity].root == table.root.number && !schema.fullText.contain($0) }.map(\.name)
  }

  private mutating func visit(_ predicate: ResolvedPredicate) {
    switch predicate {
    case .constant, .block: break
    case .and(let items), .or(let items): for item in items { visit(item) }
    case .isNull(let expression, let isNegated): if !isNegated { record(expression) }
    case .exists(let exists): visit(exists.condition)
    case .comparison(let comparison):
      guard !comparison.isNegated, !comparison.options.contains(.localeSensitive) else { return }
      if comparison.op == .search, case .path(let path) = comparison.left, case .attribute(let attribute) = path.terminal,
        !searched.contains(where: { $0.index == attribute.slot.index && $0.declaringEntity == attribute.slot.declaringEntity })
      {
        searched.append(attribute.slot)
      }
      if comparison.op.isAnsweredByIndex { record(comparison.left, comparison.options.foldingMark) }
    }
  }

  private mutating func record(_ expression: ResolvedExpression, _ mark: String = "") {
    guard case .path(let path) = expression else { return }
    switch path.terminal {
    case .attribute(let attribute): add(attribute.slot.declaringEntity, attribute.slot.name + mark)
    case .object: if let last = path.steps.last?.relationship { add(last.sourceEntity, last.name) }
    case .entity: break
    }
  }

  private mutating func add(_ entity: Int, _ name: String) {
    if !found.contains(where: { $0.entity == entity && $0.name == name }) { found.append((entity, name)) }
  }
}
