import Foundation
import SQLCipherConnection
import StoreFiles

/// The lineage of a store's file: a UUID that no copy of the file keeps.
///
/// It is in a table of its own, whose page is the only difference between a store and its backup. It is not read when a store is opened,
/// but when it is first needed: when the metadata of an open store are requested, and when keys with stable IDs are reserved.
struct StoreLineage: Sendable, Hashable {
  var identifier: String
  /// The time at which the file was created, or `nil` if its file system does not report it. In a copy that other programs made, it is that
  /// of the original.
  var birth: Int64?
  /// The mark that the file had or knew last, or `nil` if there was none.
  var mark: LineageMark?

  /// Returns whether the file at a path is a copy of the one that the lineage was assigned to, or an earlier state of it.
  ///
  /// Where no file has a birth time, copies that other programs made cannot be detected.
  ///
  /// - Parameter outside: The mark next to the file, which was read before the lineage.
  func isInherited(by path: String, _ outside: LineageMark?) -> Bool {
    if !knows(outside) { return true }
    guard let present = StoreFile.birth(path) else { return false }
    return present != birth
  }

  /// Returns whether the file contains everything that was known elsewhere at a mark.
  func knows(_ outside: LineageMark?) -> Bool {
    guard let outside else { return true }
    return mark?.includes(outside) ?? false
  }
}

/// Reads and writes the lineage.
///
/// If its table is damaged, it is replaced, with another lineage. Errors of damaged pages are ``SideTableFailure``.
enum LineageTable {
  /// The name by which transactions leave out a table whose pages are damaged.
  static let component = "lineage"
  static let table = SideTables.Table(
    BookkeepingTables.lineage, "(id INTEGER PRIMARY KEY, lineage TEXT NOT NULL, birth INTEGER)")

  /// Assigns a new lineage to the file of a connection, in the current transaction.
  ///
  /// - Parameter keepsPages: Whether a table with damaged pages is renamed.
  @discardableResult
  static func assign(_ connection: Connection, keepsPages: Bool = false) throws -> StoreLineage {
    let list = SideTableList(connection: connection, path: connection.path)
    if try keepsPages || !list.objects().contains(where: table.isCreated) {
      try list.remove(table: table.name, keepsPages: keepsPages)
      try connection.execute(table.creation)
    }
    return try write(UUID().uuidString, connection)
  }

  /// Assigns a new lineage although the file shows nothing, because it turned out to be a copy or an earlier state.
  static func renew(_ connection: Connection) throws -> String {
    try SideTableFailure.converting(component) { try assign(connection).identifier }
  }

  /// Assigns a new lineage unless the file has one of its own.
  ///
  /// - Parameter replacesTable: Whether the pages of the table are damaged.
  static func assignIfInherited(_ connection: Connection, replacesTable: Bool) throws -> StoreLineage {
    let path = connection.databasePath
    let outside = LineageMark(nextTo: path)
    if replacesTable {
      let lineage = try assign(connection, keepsPages: true)
      try adopt(outside, connection)
      return lineage
    }
    return try SideTableFailure.converting(component) {
      let known = try read(connection)
      if let known, !known.isInherited(by: path, outside) { return known }
      let lineage = try assign(connection)
      if !(known?.knows(outside) ?? false) { try adopt(outside, connection) }
      return lineage
    }
  }

  /// Returns the UUID of the lineage, or `nil` if the file has none of its own yet.
  ///
  /// - Parameter outside: The mark next to the file. It must be read before the transaction begins, since another process can advance it.
  static func identifier(_ connection: Connection, _ outside: LineageMark?) throws -> String? {
    try read(connection).flatMap { $0.isInherited(by: connection.databasePath, outside) ? nil : $0.identifier }
  }

  // MARK: The mark

  /// Returns the mark of the file's state, or `nil` if it was never advanced.
  static func mark(_ connection: Connection) throws -> LineageMark? { try read(connection)?.mark }

  /// Advances the mark of the file's state, in the current transaction. The file next to the store must get it after the commit.
  static func advanceMark(_ connection: Connection) throws {
    try SideTableFailure.converting(component) { try connection.statement(.advancedMark).run() }
  }

  /// Continues from the mark next to the file, with a new lineage.
  private static func adopt(_ outside: LineageMark?, _ connection: Connection) throws {
    guard let outside else { return }
    let statement = try connection.statement(.newMark)
    try statement.bind(1, outside.series)
    try statement.bind(2, outside.number)
    try statement.run()
  }

  /// Completes a copy of a store, which gets a lineage of its own.
  @Sendable static func begin(_ copy: Connection) throws {
    // A store without a lineage gets one when it is opened for writing.
    if try exists(copy) { try assign(copy) }
  }

  /// Returns a closure that completes the file that will replace a store and continue it.
  ///
  /// - Parameter path: The store's path.
  static func continuing(_ path: String) -> CopyCompletion {
    { copy in
      guard try exists(copy), let known = try read(copy) else { return }
      let outside = LineageMark(nextTo: path)
      if !known.isInherited(by: path, outside) { return _ = try write(known.identifier, copy) }
      try assign(copy)
      if !known.knows(outside) { try adopt(outside, copy) }
    }
  }

  /// Returns the number of the table's page; empty if there is no table.
  @Sendable static func pages(_ connection: Connection) throws -> Set<Int> {
    let statement = try connection.statement(.lineagePage)
    defer { statement.reset() }
    return try statement.step() ? [statement.int(0)] : []
  }

  /// Reads the table, and returns whether it has its columns; true if there is no table.
  static func isIntact(_ connection: Connection) throws -> Bool {
    if try !exists(connection) { return true }
    _ = try read(connection)
    return try SideTableList(connection: connection, path: connection.path).objects().contains(where: table.isCreated)
  }

  private static func exists(_ connection: Connection) throws -> Bool { try !pages(connection).isEmpty }

  private static func read(_ connection: Connection) throws -> StoreLineage? {
    guard try SideTableList(connection: connection, path: connection.path).objects().contains(where: table.isCreated) else { return nil }
    let statement = try connection.statement(.lineage)
    defer { statement.reset() }
    guard try statement.step() else { return nil }
    return StoreLineage(
      identifier: statement.text(0), birth: statement.isNull(1) ? nil : statement.int64(1),
      mark: statement.isNull(2) ? nil : LineageMark(series: statement.text(2), number: statement.int64(3)))
  }

  @discardableResult
  private static func write(_ identifier: String, _ connection: Connection) throws -> StoreLineage {
    let lineage = StoreLineage(identifier: identifier, birth: StoreFile.birth(connection.databasePath))
    let statement = try connection.statement(.newLineage)
    try statement.bind(1, lineage.identifier)
    if let birth = lineage.birth { try statement.bind(2, birth) } else { try statement.bindNull(2) }
    try statement.run()
    return lineage
  }
}
