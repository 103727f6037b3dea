import ObjectModel
import ObjectStore
import SQLCipherConnection

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
