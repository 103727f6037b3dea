package import StoreFiles
package import StoreKeys

/// Returns the IDs of all large values that a database refers to. Their files are copied with the database. Only the owner of the schema
/// can list them.
package typealias LargeValueList = @Sendable (Connection) throws -> [Int64]

/// The initial contents of a new database.
package enum StoreContents: Sendable {
  /// No contents.
  case empty
  /// The contents that `fill` writes, given the folder for the new store's large values.
  case made(_ fill: @Sendable (Connection, ExternalFolder) throws -> Void)
  /// One snapshot of an encrypted database, which may be in use.
  case copy(of: String, key: DatabaseKey, largeValues: LargeValueList)
  /// The contents of a plaintext SQLite database. `finish` can move values to files before the new database gets its final name.
  case plaintext(of: String, finish: Finish?)

  /// Whether only one process at a time may write the contents, under the lock of the key file.
  var isCreatedExclusively: Bool {
    switch self {
    case .empty, .made: false
    case .copy, .plaintext: true
    }
  }

  /// Moves values of a new database to its folder, in a transaction, and returns their IDs.
  package typealias Finish = @Sendable (Connection, ExternalFolder) throws -> [Int64]
}
