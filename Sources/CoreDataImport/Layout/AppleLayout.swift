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
