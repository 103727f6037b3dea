// RelationshipStorage: where the members of a relationship are kept.
import ObjectModel
import ObjectStore
import SQLCipherConnection

/// Where a relationship is kept.
enum RelationshipStorage: Sendable {
  /// A to-one: a column of the source's table.
  case column(table: Int, column: TableColumn)
  /// A to-many whose inverse is to-one: the inverse's column in the members' table.
  case inverse(InverseSide)
  /// A table of its own.
  case join(JoinSide)
  /// Nothing is stored: transient, or not in this store.
  case none
}

/// A to-many read through the members' to-one column.
struct InverseSide: Sendable {
  /// The index of the members' table.
  let table: Int
  /// The column that refers to the source.
  let column: TableColumn
  /// The quoted column of the order, if there is one.
  let order: String?
  /// How a member's entity is known; `stored` reads the entity column of its own table.
  let members: EntityNumbering
}

/// A join table seen from one of its two relationships: the near columns are the source's.
struct JoinSide: Sendable {
  /// The number of the relationship under which the table was declared.
  let relationshipID: Int
  /// Whether it is seen from the inverse of that relationship.
  let isReversed: Bool
  /// Whether the relationship is its own inverse: each link is then kept in both directions.
  let isSymmetric: Bool
  /// The quoted name.
  let table: String
  let near: String
  let nearEntity: String?
  let far: String
  let farEntity: String?
  /// The order of the far objects of one near object.
  let farOrder: String?
  /// The order of the near objects of one far object.
  let nearOrder: String?
  let nearNumbering: EntityNumbering
  let farNumbering: EntityNumbering
  /// The entity whose objects, and those below it, stand in the near column.
  let nearEntityNumber: Int
  /// The entity whose objects stand in the far column.
  let farEntityNumber: Int

  /// The same table from the other side.
  var reversed: JoinSide {
    JoinSide(
      relationshipID: relationshipID, isReversed: !isReversed, isSymmetric: isSymmetric, table: table, near: far, nearEntity: farEntity,
      far: near, farEntity: nearEntity, farOrder: nearOrder, nearOrder: farOrder, nearNumbering: farNumbering, farNumbering: nearNumbering,
      nearEntityNumber: farEntityNumber, farEntityNumber: nearEntityNumber)
  }

  /// The columns of a pair, as ``bind(_:_:to:after:)`` takes them.
  var pairColumns: [String] { [near, far] + [nearEntity, farEntity].compactMap { $0 } }

  /// Binds a pair behind the parameter with a number, and gives the number of its last one.
  func bind(_ nearEnd: ObjectReference, _ farEnd: ObjectReference, to statement: Statement, after number: Int32) throws -> Int32 {
    try statement.bind(number + 1, nearEnd.key)
    try statement.bind(number + 2, farEnd.key)
    var number = number + 2
    if case .stored(let offset, _) = nearNumbering {
      number += 1
      try statement.bind(number, nearEnd.entity - offset)
    }
    if case .stored(let offset, _) = farNumbering {
      number += 1
      try statement.bind(number, farEnd.entity - offset)
    }
    return number
  }
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
      // A new store has the table under the lower number; after a migration it may be under the other.
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
    guard let join = layout.joinTables.first(where: { $0.entity == source.name && $0.property == relationship.name }) else { return nil }
    let target = model.entities[relationship.destinationEntity]
    func numbering(_ entity: CompiledEntity, _ column: String?) -> EntityNumbering {
      column == nil ? .fixed(entity.number) : .stored(offset: entity.root - 1, within: entity.subtree)
    }
    return JoinSide(
      relationshipID: relationship.id, isReversed: false, isSymmetric: relationship.inverseID == relationship.id,
      table: try Identifier.quoted(join.name), near: try Identifier.quoted(join.sourceColumn),
      nearEntity: try join.sourceEntityColumn.map(Identifier.quoted), far: try Identifier.quoted(join.targetColumn),
      farEntity: try join.targetEntityColumn.map(Identifier.quoted), farOrder: try join.targetOrderColumn.map(Identifier.quoted),
      nearOrder: try join.sourceOrderColumn.map(Identifier.quoted), nearNumbering: numbering(source, join.sourceEntityColumn),
      farNumbering: numbering(target, join.targetEntityColumn), nearEntityNumber: source.number, farEntityNumber: target.number)
  }

  /// For each entity the sides of join tables in whose near column its objects may stand.
  func joinSides(_ storages: [RelationshipStorage]) -> [[JoinSide]] {
    var sides: [JoinSide] = []
    for case .join(let side) in storages where !side.isReversed {
      sides.append(side)
      sides.append(side.reversed)
    }
    return model.entities.map { entity in
      sides.filter { tableIndexes[entity.number] >= 0 && model.entities[$0.nearEntityNumber].subtree.contains(entity.number) }
    }
  }
}
