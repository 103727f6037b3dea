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
    try StoreFile.createComplete(path) { temporary in
      try DatabaseCopy.fill(temporary, key: key, contents: contents, options: options, onOpen: onOpen, progress: progress)
      // The last word before the file gets its name: it is encrypted, with this key.
      let bare = try BareDatabaseFile(temporary)
      _ = try bare.salt()
      guard try bare.isFirstPageAuthentic(key) else {
        throw StoreAccessError(.encryptionUnavailable("the new file is not encrypted with its key"), path: path, operation: "create")
      }
    }
  }
}
