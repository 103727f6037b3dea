import Foundation

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
