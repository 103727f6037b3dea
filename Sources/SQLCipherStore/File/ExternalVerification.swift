import Foundation
import ObjectStore
import SQLCipherConnection
import StoreFiles
import StoreKeys

/// Verifies the files of a store's large values against its rows, and the rows against the files.
struct ExternalVerification {
  let connection: Connection
  let folder: ExternalFolder
  var findings: [StoreFinding] = []

  /// Returns the damage and the leftover files.
  ///
  /// - Parameter isFull: Whether to read all bytes of all files; otherwise, only their existence and size are checked.
  static func run(_ connection: Connection, folder: ExternalFolder, isFull: Bool) throws -> [StoreFinding] {
    var verification = ExternalVerification(connection: connection, folder: folder)
    // Unreferenced files can be identified only while nothing is being written.
    if let lock = try folder.lockForRemoving() {
      defer { withExtendedLifetime(lock) {} }
      try verification.findOrphans()
    }
    let lock = try folder.lockForReading()
    defer { withExtendedLifetime(lock) {} }
    try connection.readTransaction {
      guard try ExternalTable.exists(connection) else { return }
      try verification.checkFiles(isFull: isFull)
      try verification.checkReferences()
    }
    return verification.findings
  }

  private mutating func findOrphans() throws {
    let ids = try connection.readTransaction { try ExternalTable.ids(connection) }
    let (files, foreign) = try folder.names()
    let known = Set(try ids.map { try folder.keys.name($0) })
    for name in files.subtracting(known).sorted() {
      findings.append(StoreFinding(.leftover, "the file \(name) in \(folder.path) belongs to no value; sweeping removes it"))
    }
    for name in foreign { findings.append(StoreFinding(.leftover, "“\(name)” in \(folder.path) does not belong to the store")) }
  }

  private mutating func record(_ damage: String) { findings.append(StoreFinding(.damage, damage)) }

  private mutating func checkFiles(isFull: Bool) throws {
    let statement = try connection.statement(.usedExternals)
    defer { statement.reset() }
    while try statement.step() {
      let (id, size) = (statement.int64(0), statement.int(1))
      do {
        let reader = try folder.openFile(id: id)
        if isFull { try reader.verify() }
        if reader.count != size { record("the large value \(id) has \(reader.count) bytes and should have \(size)") }
      } catch let error as StoreAccessError where error.kind == .externalDataMissing {
        record("the file of the large value \(id) is missing: \(try folder.keys.name(id))")
      } catch let error as StoreAccessError where error.kind == .storeCorrupt(.externalFile) {
        record("the file of the large value \(id) is damaged or was exchanged: \(try folder.keys.name(id))")
      }
    }
  }

  private mutating func checkReferences() throws {
    let layout = try MetadataTable.readLayout(connection, path: connection.path)
    let references = try layout.tables.flatMap { try $0.externalNumbers() }
    if references.isEmpty { return }
    let all = CompoundSelect.joined(references, by: "UNION ALL")
    let dangling = try numbers(BookkeepingTables.danglingExternals(all))
    for id in dangling { record("a row refers to the large value \(id), which is not listed") }
    for id in try numbers(BookkeepingTables.repeatedExternals(all)) {
      record("several rows refer to the large value \(id)")
    }
    for id in try numbers(BookkeepingTables.unusedExternals(all)) {
      record("no row refers to the large value \(id)")
    }
  }

  private func numbers(_ sql: String) throws -> [Int64] {
    let statement = try connection.statement(sql: sql)
    defer { statement.reset() }
    var result: [Int64] = []
    while try statement.step() { result.append(statement.int64(0)) }
    return result
  }
}
