// SchemaAuxiliaries: what of a file follows from its model and tables alone (indexes, triggers, full-text tables): made, dropped, kept in step.
import ObjectModel
import SQLCipherConnection

/// The auxiliaries that a schema is to have.
///
/// Version hashes leave them out, so a store fits before and after they change; opening it for writing brings them in step.
struct SchemaAuxiliaries {
  let schema: StoreSchema

  /// Ours have these prefixes; nobody else's are touched.
  private static let prefixes: [SchemaAuxiliary.Kind: [String]] = [
    .index: ["i_", "u_"], .trigger: ["t_"], .table: ["f_"], .view: ["v_"],
  ]

  /// All of them, in the order in which they are made.
  func wanted() throws -> [SchemaAuxiliary] {
    // Triggers come last: filling one attribute reads indexes, and is to be noted by no other's.
    try SchemaGenerator(schema: schema).indexes().map { SchemaAuxiliary(kind: .index, name: $0.name, sql: $0.sql) }
      + schema.fullText.auxiliaries + DerivationTriggers(schema: schema).auxiliaries()
  }

  /// All of them for a file, with the triggers of large values where it has such, or may get them; the table of these is made.
  private func wanted(_ connection: Connection) throws -> [SchemaAuxiliary] {
    guard try schema.hasExternalValues || ExternalTable.exists(connection) else { return try wanted() }
    for statement in BookkeepingTables.creationOfExternals { try connection.execute(statement) }
    return try wanted() + schema.tables.flatMap(ExternalSchema.triggers)
  }

  /// Makes and fills all of them, in a file that has none.
  func makeAll(_ connection: Connection) throws {
    for auxiliary in try wanted(connection) { try make(auxiliary, connection) }
  }

  /// Makes what the file lacks and drops what the model does not have. The time is that of making the new ones.
  func bringInStep(_ connection: Connection) throws {
    let hadExternals = try ExternalTable.exists(connection)
    let wanted = try wanted(connection)
    let sqlByName = Dictionary(wanted.map { ($0.name, $0.sql) }, uniquingKeysWith: { first, _ in first })
    let inFile = try Self.inFile(connection)
    var kept = Set(inFile.filter { sqlByName[$0.name] == $0.sql }.map(\.name))
    for auxiliary in wanted { if let source = auxiliary.source, !kept.contains(source) { kept.remove(auxiliary.name) } }
    for found in inFile where !kept.contains(found.name) { try Self.drop(found, connection) }
    for auxiliary in wanted where !kept.contains(auxiliary.name) { try make(auxiliary, connection) }
    // A migration may have taken values away while there was no trigger.
    if hadExternals { try ExternalSchema.collect(schema, connection) }
  }

  /// Drops the indexes that the schema does not have; the others stay where the tables under them do.
  func dropUnwanted(_ connection: Connection) throws {
    let wanted = Dictionary(try wanted().map { ($0.name, $0.sql) }, uniquingKeysWith: { first, _ in first })
    for found in try Self.inFile(connection) where found.kind == .index && wanted[found.name] != found.sql {
      try Self.drop(found, connection)
    }
  }

  /// Drops what follows the rows as they change, so that rows can be moved about; it is made and filled again from the rows in the end.
  static func dropFollowers(_ connection: Connection) throws {
    for found in try inFile(connection) where found.kind != .index { try drop(found, connection) }
  }

  /// Drops all of them, as before the tables under them change.
  static func dropAll(_ connection: Connection) throws {
    for found in try inFile(connection) { try drop(found, connection) }
  }

  /// Drops triggers and what they keep in step, as before many rows are written at once; ``bringInStep(_:)`` makes and fills them anew.
  static func dropTriggered(_ connection: Connection) throws {
    for found in try inFile(connection) where found.kind != .index { try drop(found, connection) }
  }

  /// What a file has of this sort. Views and triggers come first: they name the tables.
  private static func inFile(_ connection: Connection) throws -> [SchemaAuxiliary] {
    let statement = try connection.statement(.auxiliaries)
    defer { statement.reset() }
    var result: [SchemaAuxiliary] = []
    while try statement.step() {
      guard let kind = SchemaAuxiliary.Kind(rawValue: statement.text(0)) else { continue }
      let name = statement.text(1)
      guard prefixes[kind, default: []].contains(where: name.hasPrefix) else { continue }
      result.append(SchemaAuxiliary(kind: kind, name: name, sql: statement.text(2)))
    }
    return result
  }

  private func make(_ auxiliary: SchemaAuxiliary, _ connection: Connection) throws {
    try connection.execute(auxiliary.sql)
    for statement in auxiliary.fill { try connection.execute(statement) }
  }

  private static func drop(_ auxiliary: SchemaAuxiliary, _ connection: Connection) throws {
    try connection.execute("DROP \(auxiliary.kind.rawValue.uppercased()) \(try Identifier.quoted(auxiliary.name))")
  }
}
