package import CipherData
package import Foundation
import ObjectContext
package import ObjectModel
import ObjectStore
package import SQLCipherStore

/// Creation of new stores.
package enum StoreCreation {
  /// Creates a store and closes it.
  package static func create(_ url: URL, model: ManagedObjectModel, key: StoreKey, label: String = "") async throws {
    var description = PersistentStoreDescription(url: url, key: key)
    description.keyLabel = label
    let container = try PersistentContainer(
      name: url.lastPathComponent, managedObjectModel: model, persistentStoreDescriptions: [description])
    do {
      try await container.loadPersistentStores()
    } catch let error as StoreError where [.permissionDenied, .io, .storeNotFound].contains(error.code) {
      throw ToolError(.cannotCreate, error.description)
    }
    try container.close()
  }
}

extension SQLCipherStoreFile {
  /// Runs a closure that opens the store with the model that is stored in it. If another process migrates the store before the closure
  /// returns, the closure runs again with the newer model.
  package func withStoredModel<Result>(_ body: (ManagedObjectModel) async throws -> Result) async throws -> Result {
    for _ in 0..<3 {
      do { return try await body(try await readModel()) } catch let error as StoreError
        where [.storeNewerThanModel, .modelIncompatible].contains(error.code)
      {}
    }
    return try await body(try await readModel())
  }
}

/// Checks of the paths that a command line names.
enum PathCheck {
  /// Returns whether a file system entry exists at a path.
  ///
  /// - Throws: ``ToolError`` if this cannot be determined, for example because a folder is not searchable. That does not mean "no".
  static func isTaken(_ path: String) throws -> Bool {
    var status = stat()
    if stat(path, &status) == 0 { return true }
    let number = errno
    // A broken symbolic link also occupies the name.
    if number == ENOENT { return lstat(path, &status) == 0 }
    if number == ENOTDIR || number == ENAMETOOLONG { return false }
    throw ToolError(.noInput, "Cannot access \(path): \(String(cString: strerror(number))).")
  }

  /// Checks that a store's file exists.
  static func checkStore(_ path: String) throws {
    if try !isTaken(path) { throw ToolError(.noInput, "There is no store at \(path).") }
  }

  /// Checks that a file can be created, before a passphrase is requested.
  static func checkFree(_ path: String) throws {
    if try isTaken(path) { throw ToolError(.cannotCreate, "\(path) already exists.") }
    try checkFolder(of: path)
  }

  /// Checks that the folder of a file exists and is writable.
  static func checkFolder(of path: String) throws {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    var status = stat()
    guard stat(folder, &status) == 0 else {
      let number = errno
      if number == ENOENT { throw ToolError(.cannotCreate, "There is no folder \(folder); create it first, for example with mkdir -p.") }
      throw ToolError(.cannotCreate, "Cannot access the folder \(folder): \(String(cString: strerror(number))).")
    }
    guard status.st_mode & S_IFMT == S_IFDIR else { throw ToolError(.cannotCreate, "There is no folder \(folder): a file has the name.") }
    guard access(folder, W_OK | X_OK) == 0 else {
      throw ToolError(.cannotCreate, "Cannot write in the folder \(folder): \(String(cString: strerror(errno))).")
    }
  }
}
