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
  private func wanted(_ transaction: WriteTransaction) throws -> [SchemaAuxiliary] {
    guard try schema.hasExternalValues || ExternalTable.exists(transaction.connection) else { return try wanted() }
    for statement in BookkeepingTables.creationOfExternals { try transaction.connection.execute(statement) }
    return try wanted() + schema.tables.flatMap(ExternalSchema.triggers)
  }

  /// Makes and fills all of them, in a file that has none.
  func makeAll(_ transaction: WriteTransaction) throws {
    for auxiliary in try wanted(transaction) { try make(auxiliary, transaction) }
  }

  /// Whether a file of the schema has any.
  var areWanted: Bool { get throws { try !wanted().isEmpty } }

  /// Makes what the file lacks and drops what the model does not have. The time is that of making the new ones.
  ///
  /// - Parameter made: Is told how many of those that were missing are made.
  /// - Returns: Whether derived values of objects may have been changed by it.
  @discardableResult
  func bringInStep(_ transaction: WriteTransaction, made: (_ done: Int, _ total: Int) throws -> Void = { _, _ in }) throws -> Bool {
    let hadExternals = try ExternalTable.exists(transaction.connection)
    let wanted = try wanted(transaction)
    let sqlByName = Dictionary(wanted.map { ($0.name, $0.sql) }, uniquingKeysWith: { first, _ in first })
    let inFile = try Self.inFile(transaction.reading)
    var kept = Set(inFile.filter { sqlByName[$0.name] == $0.sql }.map(\.name))
    for auxiliary in wanted { if let source = auxiliary.source, !kept.contains(source) { kept.remove(auxiliary.name) } }
    for found in inFile where !kept.contains(found.name) { try Self.drop(found, transaction) }
    let missing = wanted.filter { !kept.contains($0.name) }
    for (position, auxiliary) in missing.enumerated() {
      try make(auxiliary, transaction)
      try made(position + 1, missing.count)
    }
    // A migration may have taken values away while there was no trigger.
    if hadExternals { try ExternalSchema.collect(schema, transaction) }
    return missing.contains { $0.kind == .trigger && !$0.fill.isEmpty }
  }

  /// Drops the indexes that the schema does not have; the others stay where the tables under them do.
  func dropUnwanted(_ transaction: WriteTransaction) throws {
    let wanted = Dictionary(try wanted().map { ($0.name, $0.sql) }, uniquingKeysWith: { first, _ in first })
    for found in try Self.inFile(transaction.reading) where found.kind == .index && wanted[found.name] != found.sql {
      try Self.drop(found, transaction)
    }
  }

  /// Drops triggers and what they keep in step, so that many rows can be written or moved about; ``bringInStep(_:)`` makes and fills them anew.
  static func dropFollowers(_ transaction: WriteTransaction) throws {
    for found in try inFile(transaction.reading) where found.kind != .index { try drop(found, transaction) }
  }

  /// What a file has of this sort. Views and triggers come first: they name the tables.
  private static func inFile(_ transaction: ReadTransaction) throws -> [SchemaAuxiliary] {
    let statement = try transaction.connection.statement(.auxiliaries)
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

  private func make(_ auxiliary: SchemaAuxiliary, _ transaction: WriteTransaction) throws {
    try transaction.connection.execute(auxiliary.sql)
    for statement in auxiliary.fill { try transaction.connection.execute(statement) }
  }

  private static func drop(_ auxiliary: SchemaAuxiliary, _ transaction: WriteTransaction) throws {
    try transaction.connection.execute(SchemaAuxiliary.dropping(auxiliary.kind, auxiliary.name))
  }
}
