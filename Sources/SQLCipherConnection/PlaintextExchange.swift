import Foundation
import StoreFiles
package import StoreKeys

/// Exports of a store to a plaintext SQLite file, and imports of plaintext files as stores.
///
/// These are the only functions that write a store's contents unencrypted.
package enum PlaintextExchange {
  /// Opens a plaintext SQLite file for reading, including the contents of its write-ahead log.
  ///
  /// The file is neither changed nor copied, and no data goes to temporary files. SQLite creates an index next to the log, which holds no
  /// contents. If the folder is not writable and the log is not empty, the file cannot be read.
  ///
  /// - Throws: `.readOnly` if the folder is not writable and the log is not empty.
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

  /// Writes the contents of a store, unencrypted, to a new SQLite file that only its owner can read.
  ///
  /// - Parameters:
  ///   - onOpen: Registers what the schema needs, such as collations, and returns the statements to run last on the copy, named `target`.
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

  /// Creates an encrypted store from a plaintext SQLite file.
  ///
  /// The plaintext file is not changed. Deleting it securely is up to the caller.
  ///
  /// - Parameters:
  ///   - finish: Moves values of the new database to external files.
  ///   - completion: Changes the new database before it gets its final name.
  package static func importPlaintext(
    from path: String, to storePath: String, key: StoreKey, label: String = "", format: SQLCipherFormat = .portable,
    workLimit: KeyWorkLimit = KeyWorkLimit(), options: ConnectionOptions = ConnectionOptions(), finish: StoreContents.Finish? = nil,
    completion: @escaping CopyCompletion = { _ in }
  ) async throws -> StoreKeyring {
    try await StoreKeyring.create(
      storePath: storePath, key: key, label: label, format: format, workLimit: workLimit, options: options,
      contents: .plaintext(of: path, finish: finish, completion: completion))
  }
}
