import ObjectModel
import SQLCipherConnection

/// The indexes, triggers, views and full-text tables that a file should have for its schema. They follow from the model and its tables
/// alone.
///
/// Version hashes do not include them, so a store does not need a migration when they change. Opening it for writing updates them.
struct SchemaAuxiliaries {
  let schema: StoreSchema

  /// The name prefixes of this library's auxiliaries. Others are not changed.
  private static let prefixes: [SchemaAuxiliary.Kind: [String]] = [
    .index: ["i_", "u_"], .trigger: ["t_"], .table: ["f_"], .view: ["v_"],
  ]

  /// Returns the auxiliaries in the order of their creation.
  func expected() throws -> [SchemaAuxiliary] {
    // Triggers come last: filling a derived attribute uses indexes, and must not fire the triggers of others.
    try SchemaGenerator(schema: schema).indexes().map { SchemaAuxiliary(kind: .index, name: $0.name, sql: $0.sql) }
      + schema.fullText.auxiliaries + DerivationTriggers(schema: schema).auxiliaries()
  }

  /// Returns the auxiliaries for a file, including the triggers of large values if it has or can have any. Creates their table.
  private func expected(_ transaction: WriteTransaction) throws -> [SchemaAuxiliary] {
    guard try schema.hasExternalValues || ExternalTable.exists(transaction.connection) else { return try expected() }
    for statement in BookkeepingTables.creationOfExternals { try transaction.connection.execute(statement) }
    return try expected() + schema.tables.flatMap(ExternalSchema.triggers)
  }

  /// Creates and fills all auxiliaries in a new file.
  func makeAll(_ transaction: WriteTransaction) throws {
    for auxiliary in try expected(transaction) { try make(auxiliary, transaction) }
  }

  /// Whether a file with the schema has any auxiliaries.
  var hasAuxiliaries: Bool { get throws { try !expected().isEmpty } }

  /// Creates missing auxiliaries, and drops those that the model does not have. The time depends on the new ones.
  ///
  /// - Parameter made: Called with the number of missing auxiliaries created so far, and their total number.
  /// - Returns: Whether derived values of objects may have changed.
  @discardableResult
  func update(_ transaction: WriteTransaction, made: (_ done: Int, _ total: Int) throws -> Void = { _, _ in }) throws -> Bool {
    let hadExternals = try ExternalTable.exists(transaction.connection)
    let expected = try expected(transaction)
    let sqlByName = Dictionary(expected.map { ($0.name, $0.sql) }, uniquingKeysWith: { first, _ in first })
    let inFile = try Self.inFile(transaction.reading)
    var kept = Set(inFile.filter { sqlByName[$0.name] == $0.sql }.map(\.name))
    for auxiliary in expected { if let source = auxiliary.source, !kept.contains(source) { kept.remove(auxiliary.name) } }
    for found in inFile where !kept.contains(found.name) { try Self.drop(found, transaction) }
    let missing = expected.filter { !kept.contains($0.name) }
    for (position, auxiliary) in missing.enumerated() {
      try make(auxiliary, transaction)
      try made(position + 1, missing.count)
    }
    // A migration may have dropped values while there were no triggers.
    if hadExternals { try ExternalSchema.collect(schema, transaction) }
    return missing.contains { $0.kind == .trigger && !$0.fill.isEmpty }
  }

  /// Drops the indexes that the schema does not have. Others remain if their tables do.
  func dropUnexpected(_ transaction: WriteTransaction) throws {
    let expected = Dictionary(try expected().map { ($0.name, $0.sql) }, uniquingKeysWith: { first, _ in first })
    for found in try Self.inFile(transaction.reading) where found.kind == .index && expected[found.name] != found.sql {
      try Self.drop(found, transaction)
    }
  }

  /// Drops triggers and the tables that they update, before many rows are written or moved. ``update(_:made:)`` recreates and fills
  /// them.
  static func dropFollowers(_ transaction: WriteTransaction) throws {
    for found in try inFile(transaction.reading) where found.kind != .index { try drop(found, transaction) }
  }

  /// Reads the auxiliaries in the file. Views and triggers come first, since they refer to tables.
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
