// StoreContents: what a new database starts with.

package import StoreFiles
package import StoreKeys

/// Reads the numbers of all large values that a database refers to, whose files go wherever it goes: whoever made its schema knows them.
package typealias LargeValueList = @Sendable (Connection) throws -> [Int64]

/// What a new database starts with.
package enum StoreContents: Sendable {
  /// Nothing.
  case empty
  /// What `fill` writes, given the folder that the new store's large values will be in.
  case made(_ fill: @Sendable (Connection, ExternalFolder) throws -> Void)
  /// What an encrypted database holds, as one snapshot, while others use it.
  case copy(of: String, key: DatabaseKey, largeValues: LargeValueList)
  /// What a plain SQLite database holds. Before the new one gets its name, values may be put into files.
  case plaintext(of: String, finish: Finish?)

  /// Whether the contents are written by one process at a time, which has the lock of the key file.
  var isMadeAlone: Bool {
    switch self {
    case .empty, .made: false
    case .copy, .plaintext: true
    }
  }

  /// Puts values of a new database into the folder that will be its own, in a transaction; answers their numbers.
  package typealias Finish = @Sendable (Connection, ExternalFolder) throws -> [Int64]
}
