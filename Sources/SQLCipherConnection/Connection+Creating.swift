// Creation of a new database: complete under another name first, then linked to its place, so that a crash leaves no half store.

import CSQLCipher
import Foundation

extension Connection {
  /// Creates a new database, readable by its owner only, and opens it. Whatever stands at the path already is refused and left alone.
  package static func create(
    path: String, key: DatabaseKey, options: ConnectionOptions = ConnectionOptions()
  ) throws -> Connection {
    let path = try StoreFile.absolutePath(path)
    try prepare(path: path, key: key, options: options)
    return try Connection(opening: path, key: key, options: options)
  }

  /// Makes the file with its contents, without keeping it open.
  static func prepare(
    path: String, key: DatabaseKey, options: ConnectionOptions, contents: StoreContents = .empty,
    onOpen: (Connection) throws -> Void = { _ in }, progress: ProgressHandler? = nil
  ) throws {
    try LibraryVersion.checkEncryptionIsAvailable(path: path)
    try key.format.checkSupported(path: path)
    // Held from before the snapshot, so that the files of its large values are there until they are copied.
    let source: ExternalFolder?
    if case .copy(let sourcePath, let sourceKey) = contents {
      source = try ExternalFolder(storePath: StoreFile.absolutePath(sourcePath), key: sourceKey)
    } else {
      source = nil
    }
    let lock = try source?.lockForReading()
    defer { withExtendedLifetime(lock) {} }
    try StoreFile.createComplete(path) { temporary in
      try DatabaseCopy.fill(temporary, key: key, contents: contents, options: options, onOpen: onOpen, progress: progress)
      // The last word before the file gets its name: it is encrypted, with this key.
      let bare = try BareDatabaseFile(temporary)
      _ = try bare.salt()
      guard try bare.isFirstPageAuthentic(key) else {
        throw StoreAccessError(.encryptionUnavailable("the new file is not encrypted with its key"), path: path, operation: "create")
      }
      if let source { try copyExternals(of: temporary, key: key, options: options, from: source, to: path, progress: progress) }
    }
  }

  /// Copies the files of the large values that a finished copy of a store has, before the copy gets its name.
  private static func copyExternals(
    of copy: String, key: DatabaseKey, options: ConnectionOptions, from source: ExternalFolder, to path: String, progress: ProgressHandler?
  ) throws {
    var options = options
    options.journalMode = .delete
    let connection = try Connection(opening: copy, key: key, options: options)
    let ids: [Int64]
    do {
      defer { connection.close() }
      ids = try connection.readTransaction { try ExternalTable.ids(connection) }
    }
    let target = try ExternalFolder(storePath: path, key: key)
    // There is no store of this name yet: what lies in its folder is left over from a copy that was interrupted.
    if target.exists { try target.sweep(keeping: []) }
    try ExternalCopy.copy(ids, from: source, to: target, progress: progress)
    target.clearPending()
  }
}
