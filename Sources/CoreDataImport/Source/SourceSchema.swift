import SQLCipherConnection

/// The tables of a database, by uppercase name, because SQLite names are case-insensitive.
struct SourceSchema {
  struct Column {
    let name: String
    /// The declared type in upper case; empty if there is no type.
    let type: String
  }
  struct Table {
    let name: String
    let columns: [Column]
    private let byName: [String: Column]

    init(name: String, columns: [Column]) {
      self.name = name
      self.columns = columns
      byName = Dictionary(columns.map { ($0.name.uppercased(), $0) }, uniquingKeysWith: { first, _ in first })
    }

    func column(_ name: String) -> Column? { byName[name.uppercased()] }
  }

  let tables: [String: Table]

  /// Reads the declarations. Views and virtual tables are omitted: neither layout has rows in them.
  init(_ connection: Connection) throws {
    var names: [String] = []
    let list = try connection.statement(
      sql: "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
    while try list.step() {
      if !list.text(1).uppercased().hasPrefix("CREATE VIRTUAL") { names.append(list.text(0)) }
    }
    list.reset()
    var tables: [String: Table] = [:]
    for name in names {
      let info = try connection.statement(sql: "PRAGMA table_info(\(try Identifier.quoted(name)))")
      var columns: [Column] = []
      while try info.step() { columns.append(Column(name: info.text(1), type: info.text(2).uppercased())) }
      info.reset()
      tables[name.uppercased()] = Table(name: name, columns: columns)
    }
    self.tables = tables
  }

  func table(_ name: String) -> Table? { tables[name.uppercased()] }
}

/// Determines the layout of a database.
enum SourceRecognition {
  static func layout(of schema: SourceSchema, path: String) throws -> CoreDataStore.Layout {
    if schema.table("Z_PRIMARYKEY") != nil, schema.table("Z_METADATA") != nil { return .coreData }
    if schema.table("meta")?.column("plist") != nil, schema.tables.keys.contains(where: { $0.hasPrefix("ECD") }) {
      return .encryptedCoreData
    }
    let reason: CoreDataImportError.Reason =
      if schema.tables.isEmpty {
        .noTables
      } else if schema.table("cipherdata_metadata") != nil {
        .plainCopy
      } else {
        .otherTables(schema.tables.values.map(\.name).sorted())
      }
    throw CoreDataImportError(reason, path: path)
  }
}
