import ObjectModel
import SQLCipherConnection

/// Determines the layout of Core Data's SQLite store: entities from `Z_PRIMARYKEY`, and tables named after root entities. Names are looked
/// up in the database rather than computed.
struct AppleLayout {
  let schema: SourceSchema
  let connection: Connection
  let model: CompiledModel
  let entityNumbers: [Int]
  /// The source's entity numbers, by the model's.
  private(set) var numbers: [Int: Int64] = [:]
  /// The entities of `Z_PRIMARYKEY` that are not in the model.
  private var unknownEntities: [(number: Int64, name: String)] = []
  private var usedTables: Set<String> = []

  init(schema: SourceSchema, connection: Connection, model: CompiledModel, entityNumbers: [Int]) throws {
    self.schema = schema
    self.connection = connection
    self.model = model
    self.entityNumbers = entityNumbers
    let statement = try connection.statement(sql: "SELECT Z_ENT, Z_NAME FROM Z_PRIMARYKEY ORDER BY Z_ENT")
    defer { statement.reset() }
    while try statement.step() {
      let (number, name) = (statement.int64(0), statement.text(1))
      if let entity = model.entity(named: name) { numbers[entity.number] = number } else { unknownEntities.append((number, name)) }
    }
  }

  mutating func build(_ findings: inout LayoutFindings) throws -> SourceLayout {
    var tables: [SourceTable] = []
    let roots = Set(entityNumbers.map { model.entities[$0].root })
    // In the source's order, in which clashing names were disambiguated.
    for number in roots.sorted(by: { (numbers[$0] ?? .max, $0) < (numbers[$1] ?? .max, $1) }) {
      let root = model.entities[number]
      let absent = root.subtree.filter { numbers[$0] == nil }.map { model.entities[$0].name }
      guard absent.isEmpty else {
        findings.addMissing("the store has no \(absent.count == 1 ? "entity" : "entities") \(absent.joined(separator: ", "))")
        continue
      }
      if let table = try table(of: root, &findings) { tables.append(table) }
    }
    tables.sort { $0.root.number < $1.root.number }
    var joins: [SourceJoin] = []
    for relationship in SourceLayout.joined(in: model, entityNumbers: entityNumbers) {
      if let join = try followed(relationship, in: tables) {
        joins.append(join)
      } else if let join = try join(of: relationship, &findings) {
        joins.append(join)
      }
    }
    try checkUnknownEntities(&findings)
    return SourceLayout(
      coding: .coreData, model: model, tables: tables, joins: joins, warnings: [],
      unknownEntities: findings.ignoresUnknown ? Set(unknownEntities.map(\.number)) : [])
  }

  // MARK: Tables

  private mutating func table(of root: CompiledEntity, _ findings: inout LayoutFindings) throws -> SourceTable? {
    guard let table = AppleName.first("Z" + root.name.uppercased(), isTaken: { usedTables.contains($0) }, in: schema) else {
      findings.addMissing("the table Z\(root.name.uppercased()) of “\(root.name)” is missing")
      return nil
    }
    usedTables.insert(table.name.uppercased())
    guard let key = table.column("Z_PK"), let entity = table.column("Z_ENT") else {
      findings.addMissing("the table \(table.name) has no Z_PK or no Z_ENT")
      return nil
    }
    var assigner = AppleColumns(table: table, root: root, model: model, numbers: numbers)
    let columns = try assigner.assign(connection, &findings)
    var orders: [SourceOrder] = []
    for (relationship, inverse) in SourceLayout.ordered(in: model, membersBelow: root) {
      guard let column = assigner.take("Z_FOK_" + inverse.name.uppercased()) else {
        findings.addMissing(
          "the column Z_FOK_\(inverse.name.uppercased()) of \(table.name) is missing, which orders “\(relationship.name)”")
        continue
      }
      orders.append(SourceOrder(name: try Identifier.quoted(column), relationship: relationship, inverse: inverse))
    }
    for column in assigner.rest where try SourceLayout.hasValues(column, in: table.name, connection) {
      findings.addUnknown("the column \(column) of \(table.name), which has values, is not in the model")
    }
    var entities: [Int64: Int] = [:]
    for number in root.subtree { if let known = numbers[number] { entities[known] = number } }
    return SourceTable(
      root: root, name: try Identifier.quoted(table.name), key: try Identifier.quoted(key.name),
      entityColumn: try Identifier.quoted(entity.name), entities: entities, columns: columns, orders: orders)
  }

  /// Checks for entities that are not in the model, except those of Core Data's own services.
  private func checkUnknownEntities(_ findings: inout LayoutFindings) throws {
    for (number, name) in unknownEntities {
      // Persistent history uses numbers from 16001, and CloudKit mirroring a name prefix.
      if number > 16_000 || name.hasPrefix("NSCK") { continue }
      // A root entity has its own table. Rows of other entities are in one of the tables that are read.
      var places: [(table: String, condition: String?)] = usedTables.sorted().map { ($0, "t.Z_ENT = \(number)") }
      if let own = schema.table("Z" + name.uppercased()), own.column("Z_PK") != nil, !usedTables.contains(own.name.uppercased()) {
        places.append((own.name, nil))
      }
      for place in places where try SourceLayout.hasValues("Z_PK", in: place.table, where: place.condition, connection) {
        findings.addUnknown("the entity \(name) has objects and is not in the model")
        break
      }
    }
    for (names, what) in [(["ACHANGE", "ATRANSACTION"], "persistent history"), (["ANSCKRECORDMETADATA"], "state of mirroring")] {
      if names.contains(where: { schema.table($0) != nil }) { findings.addWarning("Core Data's \(what) is left behind") }
    }
  }
}

/// Names that Core Data disambiguates with a numeric suffix.
enum AppleName {
  /// Returns the first available table with a name, or with the name and a numeric suffix.
  static func first(_ name: String, isTaken: (String) -> Bool, in schema: SourceSchema) -> SourceSchema.Table? {
    for suffix in [""] + (1...8).map(String.init) {
      guard let table = schema.table(name + suffix) else { return nil }
      if !isTaken(table.name.uppercased()) { return table }
    }
    return nil
  }

  /// Returns whether a name equals another one, or that name with a numeric suffix.
  static func isNumbered(_ name: Substring, _ base: String) -> Bool {
    name.hasPrefix(base) && name.dropFirst(base.count).allSatisfy { $0.isASCII && $0.isNumber }
  }
}

// MARK: - Join tables

// Join tables of many-to-many relationships, such as Z_26ASSETS with the columns Z_26ALBUMS, Z_34ASSETS and Z_FOK_34ASSETS.

extension AppleLayout {
  /// Returns the join table of a relationship and its inverse. The table is named after one of them: the entity number and the
  /// relationship's name.
  func join(of relationship: CompiledRelationship, _ findings: inout LayoutFindings) throws -> SourceJoin? {
    let inverse = model.inverse(of: relationship)
    var names: [String] = []
    for side in [relationship, inverse].compactMap({ $0 }) {
      guard let number = numbers[side.sourceEntity] else { return nil }
      let name = "Z_\(number)\(side.name.uppercased())"
      if !names.contains(name) { names.append(name) }
    }
    for name in names {
      for suffix in [""] + (1...8).map(String.init) {
        guard let table = schema.table(name + suffix) else { continue }
        if let join = try columns(of: relationship, inverse, in: table) { return join }
      }
    }
    findings.addMissing(
      "the table \(names.joined(separator: " or ")) of “\(model.entities[relationship.sourceEntity].name).\(relationship.name)” is missing or has "
        + "other columns")
    return nil
  }

  /// Returns the links of a to-many relationship whose declared inverse is a to-one relationship with a different inverse. Core Data reads
  /// them from the column of that relationship.
  func followed(_ relationship: CompiledRelationship, in tables: [SourceTable]) throws -> SourceJoin? {
    guard let inverse = model.followedInverse(of: relationship), !inverse.isToMany, !inverse.isTransient,
      let table = tables.first(where: { $0.root.subtree.contains(inverse.sourceEntity) }),
      let column = table.columns.first(where: { $0.slot.relationship?.id == inverse.id }),
      let owners = tables.first(where: { $0.root.subtree.contains(relationship.sourceEntity) })
    else { return nil }
    // The inverse may belong to more entities than the two of the relationship.
    func condition(_ table: SourceTable, _ entity: Int) -> String {
      let known = model.entities[entity].subtree.compactMap { numbers[$0] }.map(String.init).joined(separator: ", ")
      return table.entityColumn.map { "\($0) IN (\(known))" } ?? "1"
    }
    let links =
      "(SELECT \(table.key) AS member, \(column.name) AS owner FROM \(table.name) WHERE \(condition(table, relationship.destinationEntity)) "
      + "AND \(column.name) IN (SELECT \(owners.key) FROM \(owners.name) WHERE \(condition(owners, relationship.sourceEntity))))"
    return SourceJoin(relationship: relationship, name: links, near: "owner", far: "member", nearOrder: nil, farOrder: nil)
  }

  /// Determines the columns of both ends. A column is named after the number of the entity that it refers to, and the relationship whose
  /// members it contains.
  private func columns(
    of relationship: CompiledRelationship, _ inverse: CompiledRelationship?, in table: SourceSchema.Table
  ) throws -> SourceJoin? {
    let names = table.columns.map(\.name)
    var ends = names.filter { !$0.uppercased().hasPrefix("Z_FOK_") }
    guard ends.count == 2, let far = end(relationship, among: ends) else { return nil }
    ends.removeAll { $0 == far }
    let near = ends[0]
    let isReflexive = inverse?.id == relationship.id
    if let inverse, !isReflexive, end(inverse, among: [near]) == nil { return nil }
    // A relationship that is its own inverse has a column REFLEXIVE for its other end.
    if isReflexive, near.uppercased() != "REFLEXIVE", end(relationship, among: [near]) == nil { return nil }
    var farOrder: String?
    if relationship.isOrdered {
      guard let column = order(of: far, among: names) else { return nil }
      farOrder = column
    }
    var nearOrder: String?
    if let inverse, inverse.isOrdered, !isReflexive {
      guard let column = order(of: near, among: names) else { return nil }
      nearOrder = column
    }
    return SourceJoin(
      relationship: relationship, name: try Identifier.quoted(table.name), near: try Identifier.quoted(near),
      far: try Identifier.quoted(far), nearOrder: try nearOrder.map { "j.\(try Identifier.quoted($0))" },
      farOrder: try farOrder.map { "j.\(try Identifier.quoted($0))" })
  }

  /// Returns the column that contains a relationship's members.
  private func end(_ relationship: CompiledRelationship, among columns: [String]) -> String? {
    guard let number = numbers[relationship.destinationEntity] else { return nil }
    let name = relationship.name.uppercased()
    let exact = columns.first { AppleName.isNumbered(Substring($0.uppercased()), "Z_\(number)\(name)") }
    return exact
      ?? columns.first { column in
        let column = column.uppercased()
        guard column.hasPrefix("Z_") else { return false }
        let rest = column.dropFirst(2).drop { $0.isASCII && $0.isNumber }
        return AppleName.isNumbered(rest, name)
      }
  }

  /// Returns the column with the positions of the objects in a column.
  private func order(of column: String, among columns: [String]) -> String? {
    let upper = column.uppercased()
    let tail = upper.hasPrefix("Z_") ? String(upper.dropFirst(2)) : upper
    let wanted = ["Z_FOK_" + tail, "Z_FOK_" + tail.drop { $0.isASCII && $0.isNumber }]
    let orders = columns.filter { $0.uppercased().hasPrefix("Z_FOK_") }
    return orders.first { wanted.contains($0.uppercased()) } ?? (orders.count == 1 && columns.count == 3 ? orders[0] : nil)
  }
}
