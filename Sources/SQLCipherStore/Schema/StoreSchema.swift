import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Where everything of a model lies in a store's file. Immutable.
final class StoreSchema: Sendable {
  let model: CompiledModel
  let layout: TableLayout
  let tables: [EntityTable]
  /// The index of each entity's table; -1 where the store does not hold it.
  private let tableIndexes: [Int]
  /// Where each relationship is kept, by its number.
  let relationships: [RelationshipStorage]
  /// The join tables, each from the side of the relationship under which it was declared.
  let joins: [JoinSide]
  /// The sides of join tables in which objects of an entity take part, by the entity's number.
  let joinSides: [[JoinSide]]
  /// The attributes that have an index.
  let indexed: IndexedForms
  /// The expressions that have an index.
  let indexedExpressions: IndexedExpressions
  /// The full-text indexes that the file has.
  let fullText: FullTextIndexes
  /// How derived attributes are computed, in the order in which it is done.
  let derivations: [StoreDerivation]
  /// Whether values may be outside their rows, since the model allows it or an earlier one did.
  let hasExternalValues: Bool

  /// - Parameters:
  ///   - hasFullText: Whether the file has the model's full-text indexes; one that is only read may have others.
  ///   - hasExternalTable: Whether the file has the table of large values.
  init(model: CompiledModel, layout: TableLayout, hasFullText: Bool = true, hasExternalTable: Bool = false) throws {
    hasExternalValues = hasExternalTable || model.hasExternalAttributes
    self.model = model
    self.layout = layout
    indexed = IndexedForms(model)
    indexedExpressions = IndexedExpressions(model)
    var tables: [EntityTable] = []
    var indexes = [Int](repeating: -1, count: model.entities.count)
    for table in layout.tables {
      let built = try EntityTable(table, index: tables.count, model: model)
      for number in built.root.subtree { indexes[number] = tables.count }
      tables.append(built)
    }
    self.tables = tables
    fullText = FullTextIndexes(hasFullText ? try FullTextIndex.all(of: tables, layout: layout, model: model) : [])
    tableIndexes = indexes
    let resolver = StorageResolver(model: model, layout: layout, tables: tables, tableIndexes: indexes)
    relationships = try model.relationships.map { try resolver.storage(of: $0) }
    joins = relationships.compactMap { if case .join(let side) = $0, !side.isReversed { side } else { nil } }
      .sorted { $0.tableIndex < $1.tableIndex }
    joinSides = resolver.joinSides(of: joins)
    derivations = try StoreDerivation.derivations(
      model: model, relationships: relationships,
      table: { [tables, indexes] in
        indexes[$0] < 0 ? nil : tables[indexes[$0]]
      })
  }

  /// Whether some derived attribute's path leads over a relationship.
  func isDerived(over relationship: CompiledRelationship) -> Bool {
    derivations.contains { $0.derivation.steps.contains { $0 === relationship } }
  }

  /// A side of a join table by its number.
  func joinSide(_ number: Int) -> JoinSide? {
    let side = joins.first { $0.tableIndex == number / JoinSide.countOfTable }
    return number % JoinSide.countOfTable == 0 ? side : side?.reversed
  }

  /// The table of an entity.
  func table(of entityNumber: Int) throws -> EntityTable {
    guard let table = tableIfHeld(entityNumber) else {
      let name = entityNumber < model.entities.count ? model.entities[entityNumber].name : "?"
      throw StoreError(.entityNotInStore(name))
    }
    return table
  }

  /// The reference to a row whose entity was read as the model's number.
  func reference(key: Int64, entity: Int) throws -> ObjectReference {
    guard RowKey.isKey(key) else { throw StoreError.strangeKey }
    guard tableIfHeld(entity) != nil else { throw StoreError.strangeEntity }
    return ObjectReference(entity: entity, key: key)
  }

  /// The table of an entity; nil where the store does not hold it.
  func tableIfHeld(_ entityNumber: Int) -> EntityTable? {
    guard tableIndexes.indices.contains(entityNumber), tableIndexes[entityNumber] >= 0 else { return nil }
    return tables[tableIndexes[entityNumber]]
  }
}
