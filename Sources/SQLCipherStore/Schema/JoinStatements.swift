//
// Fetches and batch requests that ask about links are generated in Queries/, derived attributes over links in StoreDerivation+Values.swift, both out of the
// parts that stand here. A table that a removed relationship has left over is dropped like any other (BookkeepingStatements.swift). Copies and checks of whole
// files (SQLCipherConnection) name no table.
import ObjectModel
import ObjectStore
import SQLCipherConnection

/// A join table seen from one of its two relationships: the near objects are those whose relationship it is.
struct JoinSide: Sendable {
  /// The sides of a table.
  static let countOfTable = 2

  /// The number of the relationship under which the table was declared.
  let relationshipID: Int
  /// The table's position in the layout.
  let tableIndex: Int
  /// Whether it is seen from the inverse of that relationship.
  let isReversed: Bool
  /// Whether the relationship is its own inverse: each link is then kept in both directions.
  let isSymmetric: Bool
  let nearNumbering: EntityEncoding
  let farNumbering: EntityEncoding
  /// The entity whose objects, and those below it, stand in the near column.
  let nearEntityNumber: Int
  /// The entity whose objects stand in the far column.
  let farEntityNumber: Int
  /// The quoted names.
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
  /// The join table of a relationship, by its layout.
  init(
    _ layout: TableLayout.JoinTable, at index: Int, of relationship: CompiledRelationship, source: CompiledEntity, target: CompiledEntity
  ) throws {
    func numbering(_ entity: CompiledEntity, _ column: String?) -> EntityEncoding {
      column == nil ? .fixed(entity.number) : .stored(offset: entity.root - 1, within: entity.subtree)
    }
    self.init(
      relationshipID: relationship.id, tableIndex: index, isReversed: false, isSymmetric: relationship.inverseID == relationship.id,
      nearNumbering: numbering(source, layout.sourceEntityColumn), farNumbering: numbering(target, layout.targetEntityColumn),
      nearEntityNumber: source.number, farEntityNumber: target.number, table: try Identifier.quoted(layout.name),
      near: try Identifier.quoted(layout.sourceColumn), nearEntity: try layout.sourceEntityColumn.map(Identifier.quoted),
      far: try Identifier.quoted(layout.targetColumn), farEntity: try layout.targetEntityColumn.map(Identifier.quoted),
      farOrder: try layout.targetOrderColumn.map(Identifier.quoted), nearOrder: try layout.sourceOrderColumn.map(Identifier.quoted))
  }

  /// The same table from the other side.
  var reversed: JoinSide {
    JoinSide(
      relationshipID: relationshipID, tableIndex: tableIndex, isReversed: !isReversed, isSymmetric: isSymmetric,
      nearNumbering: farNumbering, farNumbering: nearNumbering, nearEntityNumber: farEntityNumber, farEntityNumber: nearEntityNumber,
      table: table, near: far, nearEntity: farEntity, far: near, farEntity: nearEntity, farOrder: nearOrder, nearOrder: farOrder)
  }

  /// The number of the side among all sides of the schema's join tables.
  @inline(__always) var number: Int { tableIndex * Self.countOfTable + (isReversed ? 1 : 0) }

  /// Whether the far objects of one near object have an order.
  var isOrdered: Bool { farOrder != nil }

  /// The columns of a pair, as ``bind(_:_:to:after:)`` takes them.
  private var pairColumns: [String] { [near, far] + [nearEntity, farEntity].compactMap { $0 } }

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

  /// Binds the places of a pair behind the parameter with a number, as ``JoinStatement/placedInsertion(side:)`` takes them.
  func bindPlaces(near nearPlace: Int64?, far farPlace: Int64?, to statement: Statement, after number: Int32) throws {
    var number = number
    for (column, place) in [(nearOrder, nearPlace), (farOrder, farPlace)] where column != nil {
      number += 1
      if let place { try statement.bind(number, place) } else { try statement.bindNull(number) }
    }
  }
}

// MARK: - Numbers

/// A statement that connections keep: the case is its number (``StatementNumbers``), with the number of the side that it is of.
enum JoinStatement: Hashable, Sendable {
  /// Reads the far objects of near ones.
  case members(side: Int, KeyListSize)
  /// Deletes all links of near objects.
  case deletion(side: Int, KeyListSize)
  /// Makes links, where they are not there yet.
  case insertion(side: Int, LinkInsertionSize)
  /// Makes a link with its places in orders.
  case placedInsertion(side: Int)
  /// Deletes one link.
  case removal(side: Int)
  /// Gives every link the other direction too.
  case completion(side: Int)
  /// Reads the places of the far objects of one near object.
  case places(side: Int)
  /// Writes the place of one far object of a near object.
  case placing(side: Int)

  /// Where the numbers of each case begin: behind those of the case before.
  private enum First {
    static var members: Int { 0 }
    static var deletion: Int { members + KeyListSize.count }
    static var insertion: Int { deletion + KeyListSize.count }
    static var placedInsertion: Int { insertion + LinkInsertionSize.count }
    static var removal: Int { placedInsertion + 1 }
    static var completion: Int { removal + 1 }
    static var places: Int { completion + 1 }
    static var placing: Int { places + 1 }
    static var end: Int { placing + 1 }
  }

  /// How many statements each side has.
  @inline(__always) static var countOfSide: Int { First.end }

  /// The side, and the place among its numbers.
  @inline(__always) var place: (side: Int, offset: Int) {
    switch self {
    case .members(let side, let size): (side, First.members + size.position)
    case .deletion(let side, let size): (side, First.deletion + size.position)
    case .insertion(let side, let size): (side, First.insertion + size.rawValue)
    case .placedInsertion(let side): (side, First.placedInsertion)
    case .removal(let side): (side, First.removal)
    case .completion(let side): (side, First.completion)
    case .places(let side): (side, First.places)
    case .placing(let side): (side, First.placing)
    }
  }

  /// All statements of a schema, whether its tables can use them or not.
  static func all(of schema: StoreSchema) -> [JoinStatement] {
    (0..<(schema.layout.joinTables.count * JoinSide.countOfTable)).flatMap { side -> [JoinStatement] in
      KeyListSize.allCases.map { .members(side: side, $0) } + KeyListSize.allCases.map { .deletion(side: side, $0) }
        + LinkInsertionSize.allCases.map { .insertion(side: side, $0) }
        + [.placedInsertion(side: side), .removal(side: side), .completion(side: side), .places(side: side), .placing(side: side)]
    }
  }
}

/// How many links one statement inserts.
enum LinkInsertionSize: Int, CaseIterable, Sendable {
  case most, many, few, one

  /// How many there are: statements that are kept in every size have so many numbers.
  @inline(__always) static var count: Int { LinkInsertionSize.one.rawValue + 1 }

  /// The greatest that a number of links fills.
  init(for count: Int) {
    self = Self.most.linkCount <= count ? .most : Self.many.linkCount <= count ? .many : Self.few.linkCount <= count ? .few : .one
  }

  /// The links that a statement makes.
  var linkCount: Int {
    switch self {
    case .most: 100
    case .many: 20
    case .few: 4
    case .one: 1
    }
  }
}

// MARK: - Texts that connections keep

extension JoinStatement {
  /// The text; empty where the table has no such order, or no such side.
  func sql(in schema: StoreSchema) -> String {
    guard let side = schema.joinSide(place.side) else { return "" }
    switch self {
    case .members(_, let size): return side.members(size)
    case .deletion(_, let size): return side.deletion("\(size.condition)")
    case .insertion(_, let size): return side.insertion(count: size.linkCount, withPlaces: false)
    case .placedInsertion: return side.insertion(count: 1, withPlaces: true)
    case .removal: return side.deletion("= ?") + " AND \(side.table).\(side.far) = ?"
    case .completion: return side.completion
    case .places:
      return side.farOrder.map { "SELECT t.\(side.far), t.\($0) FROM \(side.table) AS t WHERE t.\(side.near) = ?" } ?? ""
    case .placing:
      return side.farOrder.map {
        "UPDATE OR FAIL \(side.table) SET \($0) = ? WHERE \(side.table).\(side.far) = ? AND \(side.table).\(side.near) = ?"
      } ?? ""
    }
  }
}

extension JoinSide {
  /// Owner, member, and the member's entity if it has to be read; in the order of the owners, then of the members.
  fileprivate func members(_ size: KeyListSize) -> String {
    let order = "t.\(near)\(farOrder.map { ", t.\($0)" } ?? ""), t.\(far)"
    return
      "SELECT t.\(near), t.\(far)\(farEntity.map { ", t.\($0)" } ?? "") FROM \(table) AS t WHERE t.\(near) \(size.condition) ORDER BY \(order)"
  }

  /// Deletes the links of near objects.
  ///
  /// - Parameter keys: What stands behind the column: `= ?`, `IN (...)`.
  fileprivate func deletion(_ keys: String) -> String { "DELETE FROM \(table) WHERE \(table).\(near) \(keys)" }

  /// `OR IGNORE`: another context may have made the same link.
  fileprivate func insertion(count: Int, withPlaces: Bool) -> String {
    let columns = pairColumns + (withPlaces ? [nearOrder, farOrder].compactMap { $0 } : [])
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
  /// The table under an alias.
  func source(_ alias: String) -> String { "\(table) AS \(alias)" }

  /// The key of the near object.
  func nearKey(_ alias: String) -> String { "\(alias).\(near)" }

  /// The key of the far object.
  func farKey(_ alias: String) -> String { "\(alias).\(far)" }

  /// The far object's number in the model.
  func farEntityNumber(_ alias: String) -> String? {
    switch farNumbering {
    case .fixed(let number): String(number)
    case .stored(let offset, _): farEntity.map { "(\(alias).\($0) + \(offset))" }
    case .none: nil
    }
  }

  /// What the far objects of one near object are ordered by.
  func farOrder(_ alias: String) -> [String] { [farOrder, far].compactMap { $0 }.map { "\(alias).\($0)" } }

  /// The near objects of far ones.
  ///
  /// - Parameter keys: What stands behind the column: `= ?`, `IN (...)`.
  func owners(ofMembers keys: String) -> String { "SELECT o.\(near) FROM \(table) AS o WHERE o.\(far) \(keys)" }
}

// MARK: - Batch requests

extension JoinSide {
  /// Notes the rows that rows of a generation have links to.
  func cascade(into batch: BatchTable, of destination: EntityTable, _ sources: BatchTable) -> String {
    destination.cascade(into: batch) + "\(table) AS s JOIN \(destination.name) AS d ON d.\(destination.key) = s.\(far)"
      + " WHERE s.\(near) IN \(sources.keysOfGeneration)"
  }

  /// The condition that a row, `t`, has a link to one that stays.
  func linkExists(of source: EntityTable, besides doomed: BatchTable?) -> String {
    "EXISTS (SELECT 1 FROM \(table) AS d WHERE d.\(near) = t.\(source.key)\(doomed?.lacks("d.\(far)") ?? ""))"
  }

  /// The condition that the near object to which a table's column refers has a link to the table's row.
  func leads(to other: EntityTable, from column: TableColumn) -> String {
    "EXISTS (SELECT 1 FROM \(table) AS s WHERE s.\(near) = \(other.name).\(column.name) AND s.\(far) = \(other.name).\(other.key))"
  }

  /// Deletes the links of the near objects that a batch's table notes.
  func deletion(in batch: BatchTable) -> String { deletion("IN \(batch.keys)") }
}

// MARK: - The table in the file

extension JoinSide {
  /// The statement that makes the table, under another quoted name while a migration fills it.
  ///
  /// - Parameter tables: The tables of the near and the far objects, where the store holds them.
  func creation(named name: String? = nil, tables: (near: EntityTable?, far: EntityTable?)) -> String {
    func column(_ name: String, _ table: EntityTable?) -> String {
      "\(name) INTEGER NOT NULL" + (table.map { " REFERENCES \($0.name) (\($0.key)) DEFERRABLE INITIALLY DEFERRED" } ?? "")
    }
    var columns = [column(near, tables.near), column(far, tables.far)]
    for name in [nearEntity, farEntity, farOrder, nearOrder].compactMap({ $0 }) { columns.append("\(name) INTEGER") }
    columns.append("PRIMARY KEY (\(near), \(far))")
    return "CREATE TABLE \(name ?? table) (\(columns.joined(separator: ", "))) WITHOUT ROWID"
  }

  /// The index of the far objects. The table itself is ordered by the near side; its key stands at the end of every index.
  ///
  /// - Parameters:
  ///   - name: Its name, not quoted.
  ///   - meaning: What the model knows it as.
  func index(named name: String, _ meaning: FetchExplanation.Index) throws -> StoreIndex {
    StoreIndex(
      name: name, sql: "CREATE INDEX \(try Identifier.quoted(name)) ON \(table) (\(far))", table: table, elements: [far], condition: "",
      meaning: meaning, rowCount: "SELECT count(*) FROM \(table)")
  }

  /// What triggers watch in order to know when a link comes or goes, and the key of its near object in them.
  static let events = [(event: "INSERT", row: "NEW"), (event: "DELETE", row: "OLD")]

  /// The key of the near object in a trigger.
  func nearKey(of row: String) -> String { "\(row).\(near)" }

  /// A trigger of the table.
  ///
  /// - Parameters:
  ///   - name: Its name, not quoted.
  ///   - event: One of ``events``.
  ///   - body: The statements that it runs, each with its semicolon.
  func trigger(named name: String, after event: String, _ body: String) throws -> SchemaAuxiliary {
    SchemaAuxiliary(
      kind: .trigger, name: name, sql: "CREATE TRIGGER \(try Identifier.quoted(name)) AFTER \(event) ON \(table) BEGIN \(body) END")
  }

  /// Whether a statement reads the table under an alias.
  func isRead(by sql: String, as alias: String) -> Bool { sql.contains("\(source(alias)) ") }
}

// MARK: - Migration

/// Where links stand, for a migration: in a join table, or in the column of a to-one relationship. Names are quoted; columns are read with a prefix: the
/// alias `f` in a SELECT, the table's name where its rows are changed.
struct LinkColumns {
  let table: String
  /// The column by which the table is gone through in portions.
  private let walk: String
  let prefix: String
  /// The keys of the near and the far objects, and the numbers of their entities where a column holds them; with the prefix.
  let near, far: String
  let nearEntity, farEntity: String?
  /// The order of the near objects of one far object, and of the far objects of one near object; with the prefix.
  let nearOrder, farOrder: String?

  /// The links of a join table.
  init(_ side: JoinSide, alias: String?) {
    let prefix = alias ?? side.table
    func name(_ column: String) -> String { "\(prefix).\(column)" }
    self.init(
      table: side.table, walk: side.isReversed ? side.far : side.near, prefix: prefix, near: name(side.near), far: name(side.far),
      nearEntity: side.nearEntity.map(name), farEntity: side.farEntity.map(name), nearOrder: side.nearOrder.map(name),
      farOrder: side.farOrder.map(name))
  }

  /// The links of a to-one column, seen from the objects that have it.
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

  /// The same links from the other side.
  var reversed: LinkColumns {
    LinkColumns(
      table: table, walk: walk, prefix: prefix, near: far, far: near, nearEntity: farEntity, farEntity: nearEntity, nearOrder: farOrder,
      farOrder: nearOrder)
  }

  /// A statement that goes through the table.
  func portions(_ sql: String) -> Portions {
    Portions(
      table: table, end: "SELECT t.\(walk) FROM \(table) AS t WHERE t.\(walk) > ? ORDER BY t.\(walk) LIMIT 1 OFFSET ?", sql: sql)
  }

  private var portion: String { "\(prefix).\(walk) > ? AND \(prefix).\(walk) <= ?" }
  private var source: String { "\(table) AS \(prefix)" }

  /// Reads values of the links of a portion.
  func values(_ values: [String], where condition: String?) -> String {
    "SELECT \(values.joined(separator: ", ")) FROM \(source) WHERE \(portion)" + (condition.map { " AND \($0)" } ?? "")
  }

  /// Counts links.
  func count(where condition: String?) -> String { "SELECT count(*) FROM \(source)" + (condition.map { " WHERE \($0)" } ?? "") }

  /// Counts the near objects that have several links.
  func countOfSeveral(where condition: String?) -> String {
    "SELECT count(*) FROM (SELECT \(near) FROM \(source)" + (condition.map { " WHERE \($0)" } ?? "")
      + " GROUP BY \(near) HAVING count(*) > 1)"
  }

  /// Counts the near objects that have several far objects in links from several places.
  static func countOfContradictions(among sources: [(links: LinkColumns, condition: String?)]) -> String {
    let pairs = sources.map { source in
      "SELECT \(source.links.near) AS near, \(source.links.far) AS far FROM \(source.links.source)"
        + (source.condition.map { " WHERE \($0)" } ?? "")
    }
    return
      "SELECT count(*) FROM (SELECT p.near FROM (\(CompoundSelect.joined(pairs, by: "UNION"))) AS p GROUP BY p.near HAVING count(*) > 1)"
  }

  /// Changes the links of a portion that stay where they are; and the count of all of them.
  ///
  /// - Parameter assignments: Not quoted columns and their values; none for a deletion.
  func change(_ assignments: [(column: String, value: String)], where condition: String?) throws -> (sql: String, count: String) {
    let texts = try assignments.map { "\(try Identifier.quoted($0.column)) = \($0.value)" }
    let head = texts.isEmpty ? "DELETE FROM \(table)" : "UPDATE OR FAIL \(table) SET \(texts.joined(separator: ", "))"
    return (
      "\(head) WHERE \(portion)" + (condition.map { " AND (\($0))" } ?? ""),
      "SELECT count(*) FROM \(table)" + (condition.map { " WHERE \($0)" } ?? "")
    )
  }
}

extension TableLayout.JoinTable {
  /// Copies the links of a portion into the table.
  ///
  /// - Parameters:
  ///   - working: The name that the table has meanwhile, not quoted.
  ///   - nearEntity: The newer numbers of the near objects' entities within their trees.
  ///   - farEntity: Those of the far objects.
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

  /// Adds a column.
  func adding(_ column: String) throws -> String {
    "ALTER TABLE \(try Identifier.quoted(name)) ADD COLUMN \(try Identifier.quoted(column)) INTEGER"
  }

  /// Puts the table with a working name in the place of the one with its name.
  func replacing(with working: String) throws -> [String] {
    [try dropping(), "ALTER TABLE \(try Identifier.quoted(working)) RENAME TO \(try Identifier.quoted(name))"]
  }

  /// Drops the table.
  func dropping() throws -> String { "DROP TABLE \(try Identifier.quoted(name))" }

  /// The names of all columns that the file's table has.
  var physicalColumns: [String] {
    [sourceColumn, targetColumn]
      + [sourceEntityColumn, targetEntityColumn, targetOrderColumn, sourceOrderColumn].compactMap { $0 } + (leftovers ?? [])
  }

  /// Counts the links.
  func count() throws -> String { "SELECT count(*) FROM \(try Identifier.quoted(name))" }
}
