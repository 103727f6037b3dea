import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys

/// The tables that a component of the package owns in a store, in addition to those of the model: the history, the stable IDs, and those of
/// modules above.
///
/// The metadata list the components of a store. Backups, key changes, compactions, replacements and migrations of the model keep all side
/// tables, also those of components that the program does not have. Damage in them never prevents reading or saving objects.
package struct SideTables: Sendable {
  /// A table and its indexes.
  package struct Table: Sendable {
    /// The name: `cipherdata_`, followed by the component's name, and more if there are several tables.
    package let name: String
    /// The columns and constraints in parentheses, and table options.
    package let definition: String
    /// The columns of each index in parentheses.
    package let indexes: [String]

    package init(_ name: String, _ definition: String, indexes: [String] = []) {
      (self.name, self.definition, self.indexes) = (name, definition, indexes)
    }

    var creation: String { "CREATE TABLE \(name) \(definition)" }

    /// Returns whether an object of a file is the table.
    func isCreated(_ object: (name: String, sql: String)) -> Bool { object.name == name && object.sql == creation }

    /// Returns the statement that creates an index.
    ///
    /// - Parameter suffix: A text that makes the name unique, since tables that cannot be dropped keep their indexes.
    func creation(ofIndex position: Int, suffix: String = "") -> String {
      "CREATE INDEX \(name)_\(position + 1)\(suffix) ON \(name) \(indexes[position])"
    }
  }

  /// The name of the component.
  package let name: String
  /// The version of the tables. Tables of another version are not used, and not changed until they are created again.
  package let format: Int
  /// Whether a program that writes to the store must have the component. Others can only read the store then.
  package let isRequiredByWriters: Bool
  package let tables: [Table]

  package init(name: String, format: Int, isRequiredByWriters: Bool = false, tables: [Table]) {
    (self.name, self.format, self.isRequiredByWriters, self.tables) = (name, format, isRequiredByWriters, tables)
    assert(tables.allSatisfy { $0.name == "cipherdata_\(name)" || $0.name.hasPrefix("cipherdata_\(name)_") })
  }

  var creation: [String] { tables.flatMap { table in [table.creation] + table.indexes.indices.map { table.creation(ofIndex: $0) } } }
}

/// The entry of a component in the metadata of a store that has its tables.
struct SideTableRecord: Sendable, Hashable, Codable {
  var name: String
  var format: Int
  /// The names of the tables, for programs without the component.
  var tables: [String]
  /// The statements that created the tables, for verification by programs without the component; omitted for components of this module.
  var definitions: [String]?
  /// See ``SideTables/isRequiredByWriters``; omitted if false.
  var isRequired: Bool?
  /// Whether a transaction has left the tables out because of damage, so that they may lack its changes; omitted if false.
  var isDamaged: Bool?
  /// The settings of the component; omitted if it has none.
  var settings: [String: String]?

  init(_ tables: SideTables, settings: [String: String]? = nil) {
    (name, format, self.tables, self.settings) = (tables.name, tables.format, tables.tables.map(\.name), settings)
    isRequired = tables.isRequiredByWriters ? true : nil
    if ![HistoryTables.all.name, IdentityTables.all.name].contains(name) { definitions = tables.tables.map(\.creation) }
  }
}

extension [SideTableRecord] {
  subscript(name: String) -> SideTableRecord? { first { $0.name == name } }
  var isRequiredByWriters: Bool { contains { $0.isRequired ?? false } }

  mutating func replace(_ name: String, by record: SideTableRecord?) {
    removeAll { $0.name == name }
    if let record { append(record) }
  }
}

// MARK: - Failures

/// The damage that a statement on a component's tables met. Write requests are repeated without the component; for all others, it is
/// converted to a ``StoreError``.
struct SideTableFailure: ConvertibleToStoreError {
  let component: String
  let error: StoreAccessError?

  /// Runs statements on the tables of a component, and converts their errors if the tables are damaged.
  static func converting<Result>(_ component: String, _ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as StoreAccessError where error.isDamageOfTables {
      throw SideTableFailure(component: component, error: error)
    }
  }

  /// Runs a transaction. If the tables of components are damaged, runs it again without them.
  static func retrying<Result>(_ body: (_ excluded: Set<String>) throws -> Result) throws -> Result {
    var excluded: Set<String> = []
    while true {
      do { return try body(excluded) } catch let failure as SideTableFailure where excluded.insert(failure.component).inserted {}
    }
  }

  /// The error for callers that asked for the content of the tables.
  var storeError: StoreError { StoreError(.damagedSideTables(component), operation: .read, path: error?.path, underlying: error) }
}

extension StoreAccessError {
  /// Whether the error of a correct statement means that its tables are missing, have other columns, or cannot be read.
  var isDamageOfTables: Bool {
    switch kind {
    case .storeCorrupt(let part): part != .externalFile && part != .value
    case .noSuchTable: true
    // A statement that fails while it runs can have other reasons. Columns are also missed when the schema has changed.
    case .sql(let message): operation == .prepare || ["no such column", "has no column", " columns but "].contains(where: message.contains)
    default: false
    }
  }
}

extension StoreError.Reason {
  static func damagedSideTables(_ component: String) -> Self {
    let (subject, remedy) =
      switch component {
      case HistoryTables.all.name: ("The tables of the history are", "disable and enable the history")
      case IdentityTables.all.name: ("The tables of the stable IDs are", "set tracksObjectIdentity to false and to true")
      case LineageTable.component: ("The table of the lineage is", "opening it for writing assigns another lineage when one is needed")
      default: ("The side tables “\(component)” are", "create them again")
      }
    return Self(
      .storeCorrupt,
      "\(subject) damaged, or lack changes because they were damaged. Objects are not affected: \(remedy), or restore the store from a backup.",
      includesUnderlyingError: false)
  }

  static func sideTableFormat(_ component: String, found: Int, expected: Int) -> Self {
    Self(
      .unsupportedFormat,
      "The side tables “\(component)” have the version \(found); this program uses the version \(expected). Objects are not affected.")
  }

  static func missingComponents(_ names: [String]) -> Self {
    let list = names.map { "“\($0)”" }.joined(separator: ", ")
    return Self(
      .unsupportedFormat,
      "Programs that write to the store must have the \(names.count == 1 ? "component" : "components") \(list). Open it read-only, or with a program that has them."
    )
  }

  static var sideTablesReadOnly: Self { Self(.readOnly, "This transaction only reads side tables.") }

  static func sideTableStatement(_ component: String) -> Self {
    Self(.internalInconsistency, "A statement of the component “\(component)” does not read or write rows of its own tables only.")
  }
}

// MARK: - Creating and dropping

/// Creates, drops and checks the tables of components, and lists them in the metadata.
struct SideTableList {
  let connection: Connection
  let path: String

  /// Creates the tables of a component.
  func create(_ tables: SideTables, settings: [String: String]? = nil) throws {
    let names = try objects().map(\.name)
    for table in tables.tables {
      try connection.execute(table.creation)
      for position in table.indexes.indices {
        var (statement, number) = (table.creation(ofIndex: position), 1)
        while names.contains(where: { statement.hasPrefix("CREATE INDEX \($0) ON") }) {
          number += 1
          statement = table.creation(ofIndex: position, suffix: "_\(number)")
        }
        try connection.execute(statement)
      }
    }
    var records = try MetadataTable.readSideTables(connection, path: path)
    records.replace(tables.name, by: SideTableRecord(tables, settings: settings))
    try MetadataTable.write(sideTables: records, connection)
  }

  /// Removes the tables of a component.
  ///
  /// - Parameter keepsPages: Whether tables are renamed instead of dropped, since dropping reads all pages, which may be damaged. The pages
  ///   stay in use.
  func remove(_ component: String, keepsPages: Bool = false) throws {
    var records = try MetadataTable.readSideTables(connection, path: path)
    guard let record = records[component] else { return }
    for table in record.tables { try remove(table: table, keepsPages: keepsPages) }
    records.replace(component, by: nil)
    try MetadataTable.write(sideTables: records, connection)
  }

  /// Removes a table if it exists.
  func remove(table: String, keepsPages: Bool) throws {
    let names = Set(try objects().map(\.name))
    guard names.contains(table) else { return }
    if !keepsPages { return try connection.execute(try BookkeepingTables.droppingTable(table)) }
    let free = (1...).lazy.map { "cipherdata_damaged_\($0)" }.first { !names.contains($0) } ?? table
    try connection.execute("ALTER TABLE \(try Identifier.quoted(table)) RENAME TO \(free)")
  }

  /// Records that the tables of components lack changes.
  func markDamaged(_ components: Set<String>) throws {
    var records = try MetadataTable.readSideTables(connection, path: path)
    var isChanged = false
    for index in records.indices where components.contains(records[index].name) && !(records[index].isDamaged ?? false) {
      records[index].isDamaged = true
      isChanged = true
    }
    if isChanged { try MetadataTable.write(sideTables: records, connection) }
  }

  /// Throws ``SideTableFailure`` unless the tables of a component have their columns and indexes.
  func check(_ tables: SideTables) throws {
    let objects = try objects()
    for table in tables.tables {
      let isComplete =
        objects.contains(where: table.isCreated)
        && table.indexes.allSatisfy { columns in
          objects.contains { $0.sql.hasPrefix("CREATE INDEX ") && $0.sql.hasSuffix(" ON \(table.name) \(columns)") }
        }
      if !isComplete { throw SideTableFailure(component: tables.name, error: nil) }
    }
  }

  /// Throws ``SideTableFailure`` unless the tables of a component that this program may not have were created by the recorded statements.
  func checkDefinitions(of record: SideTableRecord) throws {
    let found = Set(try objects().map(\.sql))
    if !found.isSuperset(of: record.definitions ?? []) { throw SideTableFailure(component: record.name, error: nil) }
  }

  func objects() throws -> [(name: String, sql: String)] { try connection.objects(.sideObjects) }

  /// Count the rows of a table: once by its smallest index, which can be the table itself, and once without other indexes.
  static func rowCounts(of table: String) throws -> [String] {
    let name = try Identifier.quoted(table)
    return ["SELECT count(*) FROM \(name)", "SELECT sum(1) FROM \(name) NOT INDEXED"]
  }

  /// Returns the statements that remove components from an attached copy, except for those in `kept`.
  static func removal(from connection: Connection, schema: String, keeping kept: Set<String>) throws -> [String] {
    let records = try MetadataTable.readSideTables(ofAnyDatabase: connection)
    let removed = records.filter { !kept.contains($0.name) }
    if removed.isEmpty { return [] }
    return try removed.flatMap { try $0.tables.map { "DROP TABLE IF EXISTS \(schema).\(try Identifier.quoted($0))" } }
      + [try MetadataTable.writing(sideTables: records.filter { kept.contains($0.name) }, schema: schema)]
  }
}
