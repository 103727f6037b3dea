import Foundation
import ObjectStore
import SQLCipherConnection

/// Reads and writes stable IDs in a transaction. Errors of damaged tables are ``SideTableFailure``.
struct StableIDTable {
  let connection: Connection

  private static let component = IdentityTables.all.name

  /// Creates the tables, with a range for all keys of each table.
  func create(tables: [Int], lineage: String) throws {
    try SideTableList(connection: connection, path: connection.path).create(IdentityTables.all)
    for table in tables { try begin(StableIDRange(first: 1), table) }
    try setLineage(lineage)
  }

  private func converting<Result>(_ body: () throws -> Result) throws -> Result {
    try SideTableFailure.converting(Self.component, body)
  }

  /// Starts new ranges if the file has been copied since the last ones began, because the original assigns the same keys. Must be called
  /// before keys are reserved.
  func beginRangesIfCopied(lineage: String) throws {
    try converting {
      let known = try lineageOfRanges
      if known == lineage { return }
      if known != nil { try beginRanges() }
      try setLineage(lineage)
    }
  }

  private var lineageOfRanges: String? {
    get throws {
      let statement = try connection.statement(sql: IdentityTables.rangesOfTable)
      defer { statement.reset() }
      try statement.bind(1, 0)
      return try statement.step() ? String(decoding: statement.data(1), as: UTF8.self) : nil
    }
  }

  private func setLineage(_ lineage: String) throws {
    let statement = try connection.statement(sql: IdentityTables.range)
    try statement.bind(1, 0)
    try statement.bind(2, 0)
    try statement.bind(3, Data(lineage.utf8))
    try statement.run()
  }

  private func beginRanges() throws {
    let statement = try connection.statement(sql: IdentityTables.tables)
    var tables: [Int] = []
    while try statement.step() { tables.append(statement.int(0)) }
    statement.reset()
    for table in tables { try beginRange(table) }
  }

  /// Passes on the stable IDs of a table's rows to a new table with the same keys, whose counter has been set. Other tables can receive
  /// the same keys and assign the same new ones, so the new table starts a range of its own.
  func pass(from source: Int?, to table: Int) throws {
    try converting {
      for statement in source.map({ IdentityTables.copying(from: $0, to: table) }) ?? IdentityTables.deleting(of: table) {
        try connection.execute(statement)
      }
      try beginRange(table)
    }
  }

  /// Starts a new range for the keys of a table that are assigned from now on.
  func beginRange(_ table: Int) throws {
    let read = try connection.statement(.nextKey)
    try read.bind(1, table)
    let next = try read.step() ? read.int64(0) : 1
    read.reset()
    try begin(StableIDRange(first: next), table)
  }

  private func begin(_ range: StableIDRange, _ table: Int) throws {
    let statement = try connection.statement(sql: IdentityTables.range)
    try statement.bind(1, table)
    try statement.bind(2, range.first)
    try statement.bind(3, Data(range.base.bytes))
    try statement.run()
  }

  func ranges(of table: Int) throws -> StableIDRanges {
    try converting {
      let statement = try connection.statement(sql: IdentityTables.rangesOfTable)
      defer { statement.reset() }
      try statement.bind(1, table)
      var found: [StableIDRange] = []
      while try statement.step() {
        let range = StableIDRange(first: statement.int64(0), base: try id(statement, 1))
        guard range.isValid else { throw SideTableFailure(component: Self.component, error: nil) }
        found.append(range)
      }
      return StableIDRanges(found)
    }
  }

  private func id(_ statement: Statement, _ column: Int32) throws -> UUID {
    let bytes = statement.data(column)
    guard statement.type(column) == .blob, bytes.count == 16 else { throw SideTableFailure(component: Self.component, error: nil) }
    return UUID(bytes: Array(bytes))
  }

  /// Returns the stable ID that another store has assigned to a row.
  func other(_ key: Int64, of table: Int) throws -> UUID? {
    try converting {
      let statement = try connection.statement(sql: IdentityTables.other)
      defer { statement.reset() }
      try statement.bind(1, table)
      try statement.bind(2, key)
      return try statement.step() ? try id(statement, 0) : nil
    }
  }

  /// Returns the rows to which other stores have assigned a stable ID, by table.
  func objects(with id: UUID) throws -> [(table: Int, key: Int64)] {
    try converting {
      let statement = try connection.statement(sql: IdentityTables.objects)
      defer { statement.reset() }
      try statement.bind(1, Data(id.bytes))
      var found: [(table: Int, key: Int64)] = []
      while try statement.step() { found.append((statement.int(0), statement.int64(1))) }
      return found
    }
  }

  func set(_ id: UUID, _ key: Int64, of table: Int) throws {
    try converting {
      for sql in [IdentityTables.adding, IdentityTables.setting] {
        let statement = try connection.statement(sql: sql)
        try statement.bind(1, table)
        try statement.bind(2, key)
        try statement.bind(3, Data(id.bytes))
        try statement.run()
        if connection.changes > 0 { return }
      }
    }
  }

  /// Removes the stable IDs that other stores have assigned to rows of a table that no longer exist.
  func purge(_ table: EntityTable) throws -> Int {
    try converting {
      try connection.statement(sql: IdentityTables.purging(table)).run()
      return connection.changes
    }
  }

  /// Returns descriptions of rows that are not valid.
  func damage() throws -> [String] {
    try converting {
      var found: [String] = []
      for (sql, name) in [(IdentityTables.invalidRanges, IdentityTables.ranges), (IdentityTables.invalidOthers, IdentityTables.others)] {
        let count = try connection.number(sql)
        if count > 0 { found.append("\(count) row\(count == 1 ? "" : "s") of \(name) cannot be read") }
      }
      return found
    }
  }
}
