import ObjectModel
import ObjectStore
import SQLCipherConnection

/// A join table seen from one of its two relationships. The near objects are the sources of that relationship, the far objects its
/// destinations.
///
/// This file contains all fixed SQL on join tables; no other code uses the names of their columns. SQL for fetches and batch requests on
/// links is generated in Queries, that for derived attributes over links in `StoreDerivation+Values.swift`; both use the parts defined
/// here. `BookkeepingStatements.swift` drops leftover tables.
struct JoinSide: Sendable {
  static let countOfTable = 2

  /// The number of the relationship that declares the table.
  let relationshipID: Int
  /// The table's position in the layout.
  let tableIndex: Int
  /// Whether this is the side of that relationship's inverse.
  let isReversed: Bool
  /// Whether the relationship is its own inverse. Each link is then stored in both directions.
  let isSymmetric: Bool
  let nearNumbering: EntityEncoding
  let farNumbering: EntityEncoding
  /// The entity whose objects, including those of subentities, are in the near column.
  let nearEntityNumber: Int
  /// The entity whose objects, including those of subentities, are in the far column.
  let farEntityNumber: Int
  fileprivate let table: String
  fileprivate let near: String
  fileprivate let nearEntity: String?
  fileprivate let far: String
  fileprivate let farEntity: String?
  /// The order of the far objects of one near object.
  fileprivate let farOrder: String?
  /// The order of the near objects of one far object.
  fileprivate let nearOrder: String?
}

extension JoinSide {
  /// Creates the side of a relationship from the layout of its join table.
  init(
    _ layout: TableLayout.JoinTable, at index: Int, of relationship: CompiledRelationship, source: CompiledEntity, target: CompiledEntity
  ) throws {
    func numbering(_ entity: CompiledEntity, _ column: String?) -> EntityEncoding {
      column == nil ? .fixed(entity.number) : .stored(offset: entity.root - 1, within: entity.subtree)
    }
    self.init(
      relationshipID: relationship.id, tableIndex: index, isReversed: false, isSymmetric: relationship.isItsOwnInverse,
      nearNumbering: numbering(source, layout.sourceEntityColumn), farNumbering: numbering(target, layout.targetEntityColumn),
      nearEntityNumber: source.number, farEntityNumber: target.number, table: try Identifier.quoted(layout.name),
      near: try Identifier.quoted(layout.sourceColumn), nearEntity: try layout.sourceEntityColumn.map(Identifier.quoted),
      far: try Identifier.quoted(layout.targetColumn), farEntity: try layout.targetEntityColumn.map(Identifier.quoted),
      farOrder: try layout.targetOrderColumn.map(Identifier.quoted), nearOrder: try layout.sourceOrderColumn.map(Identifier.quoted))
  }

  /// The other side of the table.
  var reversed: JoinSide {
    JoinSide(
      relationshipID: relationshipID, tableIndex: tableIndex, isReversed: !isReversed, isSymmetric: isSymmetric,
      nearNumbering: farNumbering, farNumbering: nearNumbering, nearEntityNumber: farEntityNumber, farEntityNumber: nearEntityNumber,
      table: table, near: far, nearEntity: farEntity, far: near, farEntity: nearEntity, farOrder: nearOrder, nearOrder: farOrder)
  }

  /// The number of the side among all sides of the schema's join tables.
  @inline(__always) var number: Int { tableIndex * Self.countOfTable + (isReversed ? 1 : 0) }

  /// Whether the far objects of one near object are ordered.
  var isOrdered: Bool { farOrder != nil }

  /// The columns of a link, in the order of ``bind(_:_:to:after:)``.
  private var pairColumns: [String] { [near, far] + [nearEntity, farEntity].compactMap { $0 } }

  /// Binds a link to the placeholders after a number, and returns the number of the last one.
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

  /// Binds the positions of a link to the placeholders after a number, as ``JoinStatement/positionedInsertion(side:)`` expects them.
  func bindPositions(near nearPosition: Int64?, far farPosition: Int64?, to statement: Statement, after number: Int32) throws {
    var number = number
    for (column, place) in [(nearOrder, nearPosition), (farOrder, farPosition)] where column != nil {
      number += 1
      if let place { try statement.bind(number, place) } else { try statement.bindNull(number) }
    }
  }
}

// MARK: - SQL of cached statements

extension JoinStatement {
  /// Returns the SQL text, or an empty string if the table has no such order or side.
  func sql(in schema: StoreSchema) -> String {
    guard let side = schema.joinSide(place.side) else { return "" }
    switch self {
    case .members(_, let size): return side.members(size)
    case .deletion(_, let size): return side.deletion("\(size.condition)")
    case .insertion(_, let size): return side.insertion(count: size.linkCount, withPositions: false)
    case .positionedInsertion: return side.insertion(count: 1, withPositions: true)
    case .removal: return side.deletion("= ?") + " AND \(side.table).\(side.far) = ?"
    case .completion: return side.completion
    case .positions:
      return side.farOrder.map { "SELECT t.\(side.far), t.\($0) FROM \(side.table) AS t WHERE t.\(side.near) = ?" } ?? ""
    case .positioning:
      return side.farOrder.map {
        "UPDATE OR FAIL \(side.table) SET \($0) = ? WHERE \(side.table).\(side.far) = ? AND \(side.table).\(side.near) = ?"
      } ?? ""
    case .presence: return "SELECT 1 FROM \(side.table) AS t WHERE t.\(side.near) = ? AND t.\(side.far) = ?"
    case .links: return side.links
    }
  }
}

extension JoinSide {
  /// Selects the near object's key and entity and the far object's key and entity. Entities that are not stored are NULL. Each link of a
  /// symmetric relationship is selected in both directions.
  fileprivate var links: String {
    let columns = ["t.\(near)", nearEntity.map { "t.\($0)" } ?? "NULL", "t.\(far)", farEntity.map { "t.\($0)" } ?? "NULL"]
    return "SELECT \(columns.joined(separator: ", ")) FROM \(table) AS t WHERE (t.\(near), t.\(far)) > (?, ?) "
      + "ORDER BY t.\(near), t.\(far) LIMIT ?"
  }

  /// Selects owner, member, and the member's entity if it is stored, ordered by owner, then by member.
  fileprivate func members(_ size: KeyListSize) -> String {
    let order = "t.\(near)\(farOrder.map { ", t.\($0)" } ?? ""), t.\(far)"
    return
      "SELECT t.\(near), t.\(far)\(farEntity.map { ", t.\($0)" } ?? "") FROM \(table) AS t WHERE t.\(near) \(size.condition) ORDER BY \(order)"
  }

  /// Deletes the links of near objects.
  ///
  /// - Parameter keys: The comparison with the near column: `= ?` or `IN (...)`.
  fileprivate func deletion(_ keys: String) -> String { "DELETE FROM \(table) WHERE \(table).\(near) \(keys)" }

  /// Inserts links with `OR IGNORE`, since another context may have inserted the same link.
  fileprivate func insertion(count: Int, withPositions: Bool) -> String {
    let columns = pairColumns + (withPositions ? [nearOrder, farOrder].compactMap { $0 } : [])
    let row = "(" + Array(repeating: "?", count: columns.count).joined(separator: ", ") + ")"
    return "INSERT OR IGNORE INTO \(table) (\(columns.joined(separator: ", "))) VALUES "
      + Array(repeating: row, count: count).joined(separator: ", ")
  }

  fileprivate var completion: String {
    var columns = [near, far]
    var values = ["t.\(far)", "t.\(near)"]
    if let nearEntity, let farEntity {
      columns += [nearEntity, farEntity]
      values += ["t.\(farEntity)", "t.\(nearEntity)"]
    }
    return "INSERT OR IGNORE INTO \(table) (\(columns.joined(separator: ", "))) SELECT \(values.joined(separator: ", "))"
      + " FROM \(table) AS t WHERE NOT EXISTS (SELECT 1 FROM \(table) AS u WHERE u.\(near) = t.\(far) AND u.\(far) = t.\(near))"
  }
}

// MARK: - Parts of queries

extension JoinSide {
  func source(_ alias: String) -> String { "\(table) AS \(alias)" }

  func nearKey(_ alias: String) -> String { "\(alias).\(near)" }

  func farKey(_ alias: String) -> String { "\(alias).\(far)" }

  /// Returns an expression for the entity number of the far object in the model.
  func farEntityNumber(_ alias: String) -> String? {
    switch farNumbering {
    case .fixed(let number): String(number)
    case .stored(let offset, _): farEntity.map { "(\(alias).\($0) + \(offset))" }
    case .none: nil
    }
  }

  /// Returns the columns that order the far objects of one near object.
  func farOrder(_ alias: String) -> [String] { [farOrder, far].compactMap { $0 }.map { "\(alias).\($0)" } }

  /// Selects the near objects of far ones.
  ///
  /// - Parameter keys: The comparison with the far column: `= ?` or `IN (...)`.
  func owners(ofMembers keys: String) -> String { "SELECT o.\(near) FROM \(table) AS o WHERE o.\(far) \(keys)" }
}

// MARK: - Batch requests

extension JoinSide {
  /// Selects the rows that are linked to rows of a generation.
  func cascade(of destination: EntityTable, _ sources: BatchTable) -> String {
    destination.cascade + "\(table) AS s JOIN \(destination.name) AS d ON d.\(destination.key) = s.\(far)"
      + " WHERE s.\(near) IN \(sources.keysOfGeneration)"
  }

  /// A condition that the row `t` is linked to a row that is not deleted.
  func linkExists(of source: EntityTable, besides toDelete: BatchRows?) -> String {
    "EXISTS (SELECT 1 FROM \(table) AS d WHERE d.\(near) = t.\(source.key)\(toDelete?.lacks("d.\(far)") ?? ""))"
  }

  /// A condition that the near object to which a table's column refers is linked to the table's row.
  func leads(to other: EntityTable, from column: TableColumn) -> String {
    "EXISTS (SELECT 1 FROM \(table) AS s WHERE s.\(near) = \(other.name).\(column.name) AND s.\(far) = \(other.name).\(other.key))"
  }

  /// Selects the links with an object in a set, each once and ordered by near object: its key and entity, the far object's key and
  /// entity. Entities that are not stored are NULL. Returns `nil` if there is no set.
  func links(withNearIn nearRows: BatchRows?, orFarIn farRows: BatchRows?) -> String? {
    let conditions = [nearRows?.contains("s.\(near)"), farRows?.contains("s.\(far)")].compactMap { $0 }
    if conditions.isEmpty { return nil }
    let columns = ["s.\(near)", nearEntity.map { "s.\($0)" } ?? "NULL", "s.\(far)", farEntity.map { "s.\($0)" } ?? "NULL"]
    return "SELECT \(columns.joined(separator: ", ")) FROM \(table) AS s WHERE (\(conditions.joined(separator: " OR ")))"
      + (isSymmetric ? " AND s.\(near) <= s.\(far)" : "") + " ORDER BY s.\(near)"
  }

  /// Selects the links of near objects whose keys are in a range, in the order of each one's far objects: the near object's key and entity,
  /// the far object's key and entity. Entities that are not stored are NULL.
  var orderedLinks: String {
    let columns = ["s.\(near)", entityNumber("s", nearEntity, nearNumbering), "s.\(far)", entityNumber("s", farEntity, farNumbering)]
    return "SELECT \(columns.joined(separator: ", ")) FROM \(table) AS s WHERE s.\(near) BETWEEN ? AND ? ORDER BY "
      + (["s.\(near)"] + farOrder("s")).joined(separator: ", ")
  }

  private func entityNumber(_ alias: String, _ column: String?, _ numbering: EntityEncoding) -> String {
    if case .stored(let offset, _) = numbering, let column { "\(alias).\(column) + \(offset)" } else { "NULL" }
  }

  /// Deletes the links of the near objects in a batch table.
  func deletion(in batch: BatchTable) -> String { deletion("IN \(batch.keys)") }
}

// MARK: - Defining the table

extension JoinSide {
  /// Returns the statement that creates the table, under another quoted name while a migration fills it.
  ///
  /// - Parameter tables: The tables of the near and the far objects, if the store contains them.
  func creation(named name: String? = nil, tables: (near: EntityTable?, far: EntityTable?)) -> String {
    func column(_ name: String, _ table: EntityTable?) -> String {
      "\(name) INTEGER NOT NULL" + (table.map { " REFERENCES \($0.name) (\($0.key)) DEFERRABLE INITIALLY DEFERRED" } ?? "")
    }
    var columns = [column(near, tables.near), column(far, tables.far)]
    for name in [nearEntity, farEntity, farOrder, nearOrder].compactMap({ $0 }) { columns.append("\(name) INTEGER") }
    columns.append("PRIMARY KEY (\(near), \(far))")
    return "CREATE TABLE \(name ?? table) (\(columns.joined(separator: ", "))) WITHOUT ROWID"
  }

  /// Returns the index of the far objects. The table itself is ordered by near object, and its primary key is part of every index.
  ///
  /// - Parameters:
  ///   - name: Its unquoted name.
  ///   - meaning: The index in terms of the model.
  func index(named name: String, _ meaning: FetchExplanation.Index) throws -> StoreIndex {
    StoreIndex(
      name: name, sql: "CREATE INDEX \(try Identifier.quoted(name)) ON \(table) (\(far))", table: table, elements: [far], condition: "",
      meaning: meaning, rowCount: "SELECT count(*) FROM \(table)")
  }

  /// The trigger events for the insertion and deletion of links, and the row that contains the link in each.
  static let events = [(event: "INSERT", row: "NEW"), (event: "DELETE", row: "OLD")]

  /// Returns the key of the near object in a trigger.
  func nearKey(of row: String) -> String { "\(row).\(near)" }

  /// Returns a trigger of the table.
  ///
  /// - Parameters:
  ///   - name: Its unquoted name.
  ///   - event: One of ``events``.
  ///   - body: The statements that it runs, each with its semicolon.
  func trigger(named name: String, after event: String, _ body: String) throws -> SchemaAuxiliary {
    SchemaAuxiliary(
      kind: .trigger, name: name, sql: "CREATE TRIGGER \(try Identifier.quoted(name)) AFTER \(event) ON \(table) BEGIN \(body) END")
  }

  /// Returns whether a statement reads the table with an alias.
  func isRead(by sql: String, as alias: String) -> Bool { sql.contains("\(source(alias)) ") }
}

// MARK: - Migrating links

/// The location of links during a migration: in a join table, or in the column of a to-one relationship.
///
/// Names are quoted. Columns have a prefix: the alias `f` in a SELECT, the table's name in statements that change its rows.
struct LinkColumns {
  let table: String
  /// The column that defines the batches of the table.
  private let walk: String
  let prefix: String
  /// The keys of the near and the far objects, and the numbers of their entities if columns hold them; with the prefix.
  let near, far: String
  let nearEntity, farEntity: String?
  /// The order of the near objects of one far object, and of the far objects of one near object; with the prefix.
  let nearOrder, farOrder: String?

  /// Creates the columns for the links of a join table.
  init(_ side: JoinSide, alias: String?) {
    let prefix = alias ?? side.table
    func name(_ column: String) -> String { "\(prefix).\(column)" }
    self.init(
      table: side.table, walk: side.isReversed ? side.far : side.near, prefix: prefix, near: name(side.near), far: name(side.far),
      nearEntity: side.nearEntity.map(name), farEntity: side.farEntity.map(name), nearOrder: side.nearOrder.map(name),
      farOrder: side.farOrder.map(name))
  }

  /// Creates the columns for the links of a to-one column. The near objects are those that have the column.
  init(_ column: TableColumn, in table: EntityTable, order: String?, alias: String?) {
    let prefix = alias ?? table.name
    func name(_ column: String) -> String { "\(prefix).\(column)" }
    self.init(
      table: table.name, walk: table.key, prefix: prefix, near: name(table.key), far: name(column.name), nearEntity: table.entity.map(name),
      farEntity: column.entityColumn.map(name), nearOrder: order.map(name), farOrder: nil)
  }

  private init(
    table: String, walk: String, prefix: String, near: String, far: String, nearEntity: String?, farEntity: String?, nearOrder: String?,
    farOrder: String?
  ) {
    self.table = table
    self.walk = walk
    self.prefix = prefix
    self.near = near
    self.far = far
    self.nearEntity = nearEntity
    self.farEntity = farEntity
    self.nearOrder = nearOrder
    self.farOrder = farOrder
  }

  /// The same links seen from the other side.
  var reversed: LinkColumns {
    LinkColumns(
      table: table, walk: walk, prefix: prefix, near: far, far: near, nearEntity: farEntity, farEntity: nearEntity, nearOrder: farOrder,
      farOrder: nearOrder)
  }

  /// Returns a statement that processes the table in batches.
  func batches(_ sql: String) -> Batches {
    Batches(
      table: table, end: "SELECT t.\(walk) FROM \(table) AS t WHERE t.\(walk) > ? ORDER BY t.\(walk) LIMIT 1 OFFSET ?", sql: sql)
  }

  private var batchRange: String { "\(prefix).\(walk) > ? AND \(prefix).\(walk) <= ?" }
  private var source: String { "\(table) AS \(prefix)" }

  /// Selects values of the links of a batch.
  func values(_ values: [String], where condition: String?) -> String {
    "SELECT \(values.joined(separator: ", ")) FROM \(source) WHERE \(batchRange)" + (condition.map { " AND \($0)" } ?? "")
  }

  func count(where condition: String?) -> String { "SELECT count(*) FROM \(source)" + (condition.map { " WHERE \($0)" } ?? "") }

  /// Counts the near objects with more than one link.
  func countOfSeveral(where condition: String?) -> String {
    "SELECT count(*) FROM (SELECT \(near) FROM \(source)" + (condition.map { " WHERE \($0)" } ?? "")
      + " GROUP BY \(near) HAVING count(*) > 1)"
  }

  /// Counts the near objects that are linked to different far objects by links in several locations.
  static func countOfContradictions(among sources: [(links: LinkColumns, condition: String?)]) -> String {
    let pairs = sources.map { source in
      "SELECT \(source.links.near) AS near, \(source.links.far) AS far FROM \(source.links.source)"
        + (source.condition.map { " WHERE \($0)" } ?? "")
    }
    return
      "SELECT count(*) FROM (SELECT p.near FROM (\(CompoundSelect.joined(pairs, by: "UNION"))) AS p GROUP BY p.near HAVING count(*) > 1)"
  }

  /// Changes or deletes the links of a batch in place.
  ///
  /// - Parameter assignments: Unquoted columns and their values; empty for a deletion.
  /// - Returns: The statement, and a query that counts the affected links.
  func change(_ assignments: [(column: String, value: String)], where condition: String?) throws -> (sql: String, count: String) {
    let texts = try assignments.map { "\(try Identifier.quoted($0.column)) = \($0.value)" }
    let head = texts.isEmpty ? "DELETE FROM \(table)" : "UPDATE OR FAIL \(table) SET \(texts.joined(separator: ", "))"
    return (
      "\(head) WHERE \(batchRange)" + (condition.map { " AND (\($0))" } ?? ""),
      "SELECT count(*) FROM \(table)" + (condition.map { " WHERE \($0)" } ?? "")
    )
  }
}

extension TableLayout.JoinTable {
  /// Copies the links of a batch into the table.
  ///
  /// - Parameters:
  ///   - working: The table's unquoted name during the migration.
  ///   - nearEntity: The new numbers of the near objects' entities in their trees.
  ///   - farEntity: The new numbers of the far objects' entities.
  func filling(
    named working: String, from links: LinkColumns, nearEntity: String, farEntity: String, where condition: String?
  ) throws -> String {
    let pairs: [(column: String?, value: String?)] = [
      (sourceColumn, links.near), (targetColumn, links.far), (sourceEntityColumn, nearEntity), (targetEntityColumn, farEntity),
      (targetOrderColumn, links.farOrder), (sourceOrderColumn, links.nearOrder),
    ]
    let known = pairs.compactMap { pair in pair.column.flatMap { column in pair.value.map { (column: column, value: $0) } } }
    let names = try known.map { try Identifier.quoted($0.column) }.joined(separator: ", ")
    return "INSERT OR IGNORE INTO \(try Identifier.quoted(working)) (\(names)) "
      + links.values(known.map(\.value), where: condition)
  }

  func adding(_ column: String) throws -> String {
    "ALTER TABLE \(try Identifier.quoted(name)) ADD COLUMN \(try Identifier.quoted(column)) INTEGER"
  }

  /// Replaces the table with the one that has a working name.
  func replacing(with working: String) throws -> [String] {
    [try dropping(), "ALTER TABLE \(try Identifier.quoted(working)) RENAME TO \(try Identifier.quoted(name))"]
  }

  func dropping() throws -> String { "DROP TABLE \(try Identifier.quoted(name))" }

  /// The names of all columns of the table in the file.
  var physicalColumns: [String] {
    [sourceColumn, targetColumn]
      + [sourceEntityColumn, targetEntityColumn, targetOrderColumn, sourceOrderColumn].compactMap { $0 } + (leftovers ?? [])
  }

  func count() throws -> String { "SELECT count(*) FROM \(try Identifier.quoted(name))" }
}
