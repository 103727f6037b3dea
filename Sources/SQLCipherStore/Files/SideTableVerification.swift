import ObjectStore
import SQLCipherConnection

/// Verifies the side tables of a store's components, in a read transaction.
struct SideTableVerification {
  let connection: Connection
  let path: String
  /// The maximum number of records of the history that are listed individually.
  private static let limit = 20

  /// Returns the damage in the tables of a component.
  ///
  /// - Throws: ``SideTableFailure`` if the tables are missing, have other columns, or cannot be read.
  func findings(of record: SideTableRecord) throws -> [StoreFinding] {
    if record.isDamaged ?? false { throw SideTableFailure(component: record.name, error: nil) }
    return try SideTableFailure.converting(record.name) {
      let list = SideTableList(connection: connection, path: path)
      for tables in [HistoryTables.all, IdentityTables.all] where tables.name == record.name { try list.check(tables) }
      try list.checkDefinitions(of: record)
      for table in record.tables { for sql in try SideTableList.rowCounts(of: table) { _ = try connection.number(sql) } }
      switch record.name {
      case HistoryTables.all.name: return try historyFindings()
      case IdentityTables.all.name:
        return try StableIDTable(connection: connection).damage().map { StoreFinding(.damage, "\($0); stable IDs are missing") }
      default: return []
      }
    }
  }

  /// Returns the damage of the lineage's table.
  ///
  /// - Parameter reading: Runs its argument in a read transaction of a new connection.
  static func lineageFindings(_ reading: ((Connection) throws -> Bool) throws -> Bool) throws -> [StoreFinding] {
    let failure = SideTableFailure(component: LineageTable.component, error: nil)
    do {
      let isIntact = try SideTableFailure.converting(LineageTable.component) { try reading(LineageTable.isIntact) }
      return isIntact ? [] : [StoreFinding(.damage, failure.storeError.message)]
    } catch is SideTableFailure {
      return [StoreFinding(.damage, failure.storeError.message)]
    }
  }

  /// Returns the records of the history that cannot be read.
  private func historyFindings() throws -> [StoreFinding] {
    let ids = HistoryIDs(try MetadataTable.readLayout(connection, path: path), of: try StoredSchema.read(connection, path: path).model)
    let statement = try connection.statement(.records)
    defer { statement.reset() }
    var bad: [Int64] = []
    var (last, start): (Int64, Int64?) = (0, nil)
    while try statement.step() {
      let number = statement.int64(0)
      // The rows of a transaction are contiguous. The first rows of the oldest transaction may be deleted.
      let isInOrder = statement.isNull(1) || last == 0 || statement.int64(1) == start
      start = statement.isNull(1) ? number : statement.int64(1)
      last = number
      guard isInOrder, HistoryKind(rawValue: statement.int(2)) != nil, (try? HistoryTables.checked(number)) != nil,
        (try? HistoryTables.checked(statement.int64(4))) != nil, Self.isReadable(Array(statement.data(3)), number, ids)
      else {
        bad.append(number)
        continue
      }
    }
    return bad.prefix(Self.limit).map { StoreFinding(.damage, "the record \($0) of the history cannot be read") }
      + (bad.count > Self.limit ? [StoreFinding(.damage, "\(bad.count - Self.limit) more records of the history cannot be read")] : [])
  }

  private static func isReadable(_ bytes: [UInt8], _ number: Int64, _ ids: HistoryIDs) -> Bool {
    var decoder = HistoryDecoder(bytes, number: number)
    do {
      while let record = try decoder.next() { if !ids.resolves(record) { return false } }
      return true
    } catch { return false }
  }
}
