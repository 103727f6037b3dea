import Foundation
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
  /// - Returns: The derived attributes that were computed again.
  @discardableResult
  func update(_ transaction: WriteTransaction, made: (_ done: Int, _ total: Int) throws -> Void = { _, _ in }) throws
    -> [SchemaAuxiliary.ComputedSlot]
  {
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
    return missing.compactMap(\.computedSlot)
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

/// The indexes of a file that call functions of this library.
///
/// The function's name contains the version of the folding, such as `cd_fold_1_16_0`. An index of another version is never used for a
/// condition, and the store cannot write rows while it exists, since its function is not registered. Opening the store for writing replaces
/// it.
enum StoredFunctionIndexes {
  private static let prefix = SQLFunctions.fold + "_"

  /// Returns the names of indexes with folded texts and expressions, and the names of their functions.
  static func inFile(_ connection: Connection) throws -> [(index: String, function: String)] {
    var result: [(index: String, function: String)] = []
    for found in try connection.objects(.functionIndexes) {
      for prefix in [prefix, SQLFunctions.indexedPrefix] {
        var rest = Substring(found.sql)
        while let start = rest.range(of: prefix) {
          rest = rest[start.upperBound...]
          let version = rest.prefix { ("0"..."9").contains($0) || $0 == "_" }
          if rest.dropFirst(version.count).first == "(" { result.append((found.name, prefix + version)) }
        }
      }
    }
    return result
  }

  /// Registers all functions on a connection that copies or checks a file, including those of its indexes of any version.
  static func register(on connection: Connection) throws {
    try SQLFunctions.register(on: connection)
    for function in Set(try inFile(connection).map(\.function)) {
      if function.hasPrefix(prefix) {
        try SQLFunctions.registerFold(function, on: connection)
      } else {
        try SQLFunctions.registerIndexed(function, on: connection)
      }
    }
    for function in Set(try StoredFullTextIndexes.indexes(connection).map(\.function)) {
      try SQLFunctions.registerWords(function, on: connection)
    }
  }

  /// Returns the statements that remove indexes and triggers with functions of this library from a copy for other programs, which could not
  /// write rows with them.
  ///
  /// They also clear the layout basis, so that the store recreates the indexes and triggers once the copy is encrypted and opened.
  static func removal(from connection: Connection, schema: String) throws -> [String] {
    let indexes = Set(try inFile(connection).map(\.index))
    let statements =
      try indexes.sorted().map { try SchemaAuxiliary.dropping(.index, $0, in: schema) }
      + StoredFullTextIndexes.removal(from: connection, schema: schema) + DerivationTriggers.removal(from: connection, schema: schema)
    guard !statements.isEmpty else { return [] }
    return statements + [BookkeepingTables.clearingLayoutBasis(in: schema)]
  }
}

/// The full-text indexes that a file contains, for copies, checks and other programs.
///
/// The name of the function that extracts words contains the version of its rules, such as `cd_words_1_1_16_0`, as with folded indexes
/// (``StoredFunctionIndexes``).
enum StoredFullTextIndexes {
  /// Returns the FTS4 tables with their views and the functions of these.
  static func indexes(_ connection: Connection) throws -> [(table: String, view: String, function: String)] {
    var views: [(name: String, function: String)] = []
    for view in try connection.objects(.wordViews) {
      guard let start = view.sql.range(of: SQLFunctions.wordsPrefix) else { continue }
      let version = view.sql[start.upperBound...].prefix { ("0"..."9").contains($0) || $0 == "_" }
      views.append((view.name, SQLFunctions.wordsPrefix + version))
    }
    guard !views.isEmpty else { return [] }
    return try connection.objects(.fullTextTables).compactMap { table in
      let view = try views.first { table.sql.contains("content=\(try Identifier.quoted($0.name))") }
      return view.map { (table.name, $0.name, $0.function) }
    }
  }

  /// Returns the statements that remove the indexes from a copy, with the triggers that update them.
  static func removal(from connection: Connection, schema: String) throws -> [String] {
    try indexes(connection).flatMap { index in
      let table = try Identifier.quoted(index.table)
      let triggers = try connection.objects(.triggers).filter { FullTextIndex.isKept(table, by: $0.sql) }
      let dropped: [(SchemaAuxiliary.Kind, String)] = triggers.map { (.trigger, $0.name) } + [(.table, index.table), (.view, index.view)]
      return try dropped.map { try SchemaAuxiliary.dropping($0.0, $0.1, in: schema) }
    }
  }
}
