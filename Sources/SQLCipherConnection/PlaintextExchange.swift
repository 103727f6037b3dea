// The one place where a store's contents leave encryption. Its name says so, and nothing else calls it.

import Foundation
import StoreFiles
package import StoreKeys

/// Copies of a store that everybody can read, and plain databases that become stores.
package enum PlaintextExchange {
  /// Opens a plain SQLite file to read it, what its write-ahead log holds included. Nothing of it is changed or copied, and nothing that is read
  /// goes into a temporary file.
  ///
  /// SQLite keeps an index of a log beside it, which holds no contents: where the folder cannot be written and there is a log, the file cannot be
  /// read.
  package static func openPlaintext(_ path: String) throws(StoreAccessError) -> Connection {
    let path = try StoreFile.absolutePath(path)
    var options = ConnectionOptions()
    options.isReadOnly = true
    if access(StoreFile.folder(of: path), W_OK) != 0 {
      guard StoreFile.size(path + "-wal") ?? 0 == 0 else {
        throw StoreAccessError(.readOnly, path: path, operation: .open, circumstance: .logInReadOnlyFolder)
      }
      options.isImmutable = true
    }
    return try Connection(path: path, key: nil, options: options, isNew: false)
  }

  /// Writes everything in a store, NOT ENCRYPTED, into a new plain SQLite file that only its owner may read.
  ///
  /// - Parameters:
  ///   - onOpen: Registers what the schema needs, for example collations, and answers the statements that are run on the copy, `target`, in the end.
  package static func exportPlaintext(
    from storePath: String, key: DatabaseKey, to path: String, options: ConnectionOptions = ConnectionOptions(),
    onOpen: (Connection) throws -> [String] = { _ in [] }
  ) throws {
    let path = try StoreFile.absolutePath(path)
    var options = options
    options.isForExport = true
    try Connection.withUnchangedFile(storePath, key: key, options: options) { source in
      let last = try onOpen(source)
      try StoreFile.createComplete(path) { temporary in try source.export(to: temporary, key: nil, last: last) }
    }
  }

  /// Makes a new encrypted store out of a plain SQLite file, which stays as it is: deleting it safely is the caller's business.
  ///
  /// - Parameter finish: Puts values of the new database into files.
  package static func importPlaintext(
    from path: String, to storePath: String, key: StoreKey, label: String = "", format: SQLCipherFormat = .portable,
    workLimit: KeyWorkLimit = KeyWorkLimit(), options: ConnectionOptions = ConnectionOptions(), finish: StoreContents.Finish? = nil
  ) async throws -> StoreKeyring {
    try await StoreKeyring.create(
      storePath: storePath, key: key, label: label, format: format, workLimit: workLimit, options: options,
      contents: .plaintext(of: path, finish: finish))
  }
}
