import Foundation
package import SQLCipherConnection
import StoreFiles
import StoreKeys
import SyncCore

/// The row that makes a database a hub.
package struct HubMetadata: Hashable, Sendable {
  package let identity: HubIdentity
  let incarnation: Incarnation
  /// The time at which the file was created, or nil if its file system does not report it. In a copy it is that of the original.
  let birth: Int64?

  /// Creates the tables in an empty database.
  package static func create(_ connection: Connection) throws {
    try connection.writeTransaction {
      try connection.execute(HubSchema.creation)
      try connection.run(.newMetadata, HubSchema.format, UUID(), newIncarnation, StoreFile.birth(connection.databasePath))
    }
    connection.discardStatements()
  }

  /// Reads the row. A hub whose file is a copy of another one gets a new incarnation: the copy may be an older state, and devices must not
  /// continue from states that it does not have.
  ///
  /// Where no file has a birth time, and for a file that was overwritten in place, devices detect this by the chain of commits only.
  package static func adopt(_ connection: Connection) throws -> HubMetadata {
    var known = try connection.readTransaction { try read(connection) }
    if known.identity.format < HubSchema.format { known = try migrate(connection) }
    guard known.isInherited(by: connection.databasePath) else { return known }
    return try connection.writeTransaction {
      // Another process may have been first.
      guard try read(connection).isInherited(by: connection.databasePath) else { return try read(connection) }
      try connection.run(.newIncarnation, newIncarnation, StoreFile.birth(connection.databasePath))
      return try read(connection)
    }
  }

  /// Brings the tables of an earlier library to the present format.
  private static func migrate(_ connection: Connection) throws -> HubMetadata {
    defer { connection.discardStatements() }
    return try connection.writeTransaction {
      // Another process may have been first.
      if try read(connection).identity.format < HubSchema.format {
        try connection.execute(HubSchema.migration(at: Int64(Date().timeIntervalSince1970 * 1_000)))
      }
      return try read(connection)
    }
  }

  private static func read(_ connection: Connection) throws -> HubMetadata {
    let path = connection.path
    guard try connection.hasRow(.table, "hub_metadata") else { throw HubError(.notAHub, "The database \(path) is not a hub.") }
    let found = try connection.first(.metadata) { row in
      let format = row.int(0)
      guard format <= HubSchema.format else {
        throw HubError(.newerFormat, "The hub \(path) has format \(format), and this program knows formats up to \(HubSchema.format).")
      }
      return HubMetadata(
        identity: HubIdentity(identifier: try row.uuid(1), format: format), incarnation: Incarnation(UInt64(bitPattern: row.int64(2))),
        birth: row.isNull(3) ? nil : row.int64(3))
    }
    guard let found else { throw HubError(.damaged, "The hub \(path) has lost its identity.") }
    return found
  }

  private func isInherited(by path: String) -> Bool {
    guard let present = StoreFile.birth(path) else { return false }
    return present != birth
  }

  private static var newIncarnation: Int64 { Int64.random(in: .min ... .max) }
}
