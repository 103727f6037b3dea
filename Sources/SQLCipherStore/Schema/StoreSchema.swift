import ObjectModel
import ObjectStore
import SQLCipherConnection

/// The tables and columns of a store's file by the numbers of the compiled model: a layout combined with a model. Immutable.
final class StoreSchema: Sendable {
  let model: CompiledModel
  let layout: TableLayout
  let tables: [EntityTable]
  /// The index of each entity's table; -1 if the store does not contain the entity.
  private let tableIndexes: [Int]
  /// The storage of each relationship, by its number.
  let relationships: [RelationshipStorage]
  /// The join tables, each seen from the relationship that declares it.
  let joins: [JoinSide]
  /// The join-table sides that can contain objects of an entity, by the entity's number.
  let joinSides: [[JoinSide]]
  let indexed: IndexedForms
  let indexedExpressions: IndexedExpressions
  let fullText: FullTextIndexes
  /// The derived attributes, in the order in which they are computed.
  let derivations: [StoreDerivation]
  /// Whether values can be in files, because the current model or an earlier one allows it.
  let hasExternalValues: Bool

  /// - Parameters:
  ///   - hasFullText: Whether the file has the model's full-text indexes. A read-only file can have different ones.
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

  func isDerived(over relationship: CompiledRelationship) -> Bool {
    derivations.contains { $0.derivation.steps.contains { $0 === relationship } }
  }

  func joinSide(_ number: Int) -> JoinSide? {
    let side = joins.first { $0.tableIndex == number / JoinSide.countOfTable }
    return number % JoinSide.countOfTable == 0 ? side : side?.reversed
  }

  func table(of entityNumber: Int) throws -> EntityTable {
    guard let table = tableIfStored(entityNumber) else {
      let name = entityNumber < model.entities.count ? model.entities[entityNumber].name : "?"
      throw StoreError(.entityNotInStore(name))
    }
    return table
  }

  /// Returns the reference to a row, and checks that its key and entity are valid.
  func reference(key: Int64, entity: Int) throws -> ObjectReference {
    guard RowKey.isKey(key) else { throw StoreError.invalidKey }
    guard tableIfStored(entity) != nil else { throw StoreError.invalidEntity }
    return ObjectReference(entity: entity, key: key)
  }

  /// Returns the table of an entity, or `nil` if the store does not contain it.
  func tableIfStored(_ entityNumber: Int) -> EntityTable? {
    guard tableIndexes.indices.contains(entityNumber), tableIndexes[entityNumber] >= 0 else { return nil }
    return tables[tableIndexes[entityNumber]]
  }
}
