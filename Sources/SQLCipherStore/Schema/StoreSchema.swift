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

/// Where a relationship is stored.
enum RelationshipStorage: Sendable {
  /// A to-one relationship: a column of the source's table.
  case column(table: Int, column: TableColumn)
  /// A to-many relationship with a to-one inverse: the inverse's column in the members' table.
  case inverse(InverseSide)
  case join(JoinSide)
  /// Nothing is stored, since the relationship is transient or not in this store.
  case none
}

/// A to-many relationship that is read through its members' to-one column.
struct InverseSide: Sendable {
  /// The index of the members' table.
  let table: Int
  /// The column that refers to the source.
  let column: TableColumn
  /// The quoted column of the order, if there is one.
  let order: String?
  /// How a member's entity is determined. `stored` refers to the entity column of the members' table.
  let members: EntityEncoding
}

/// Finds the storage of each relationship in a layout.
struct StorageResolver {
  let model: CompiledModel
  let layout: TableLayout
  let tables: [EntityTable]
  let tableIndexes: [Int]

  func storage(of relationship: CompiledRelationship) throws -> RelationshipStorage {
    let sourceTable = tableIndexes[relationship.sourceEntity]
    guard !relationship.isTransient, sourceTable >= 0 else { return .none }
    if !relationship.isToMany {
      guard let column = tables[sourceTable].column(entity: relationship.sourceEntity, slot: relationship.index) else { return .none }
      return .column(table: sourceTable, column: column)
    }
    if let inverse = model.inverse(of: relationship), !inverse.isTransient {
      if !inverse.isToMany { return try inverseSide(relationship, inverse: inverse) }
      // In a new store, the relationship with the lower number declares the table. After a migration, it can be the other one.
      if let own = try join(of: relationship) { return .join(own) }
      return try join(of: inverse).map { .join($0.reversed) } ?? .none
    }
    return try join(of: relationship).map { .join($0) } ?? .none
  }

  private func inverseSide(_ relationship: CompiledRelationship, inverse: CompiledRelationship) throws -> RelationshipStorage {
    let index = tableIndexes[inverse.sourceEntity]
    guard index >= 0, let column = tables[index].column(entity: inverse.sourceEntity, slot: inverse.index) else { return .none }
    let source = model.entities[relationship.sourceEntity].name
    let tableLayout = layout.tables[index]
    let order = tableLayout.orderColumns.first { $0.entity == source && $0.property == relationship.name }
    let members = model.entities[relationship.destinationEntity]
    return .inverse(
      InverseSide(
        table: index, column: column, order: try order.map { try Identifier.quoted($0.name) },
        members: members.subtree.count > 1 ? .stored(offset: tables[index].entityOffset, within: members.subtree) : .fixed(members.number)))
  }

  private func join(of relationship: CompiledRelationship) throws -> JoinSide? {
    let source = model.entities[relationship.sourceEntity]
    guard let index = layout.joinTables.firstIndex(where: { $0.entity == source.name && $0.property == relationship.name }) else {
      return nil
    }
    let target = model.entities[relationship.destinationEntity]
    return try JoinSide(layout.joinTables[index], at: index, of: relationship, source: source, target: target)
  }

  /// Returns, for each entity, the join-table sides whose near column can contain its objects.
  func joinSides(of joins: [JoinSide]) -> [[JoinSide]] {
    let sides = joins.flatMap { [$0, $0.reversed] }
    return model.entities.map { entity in
      sides.filter { tableIndexes[entity.number] >= 0 && model.entities[$0.nearEntityNumber].subtree.contains(entity.number) }
    }
  }
}
