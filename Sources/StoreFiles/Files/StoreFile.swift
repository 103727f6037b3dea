import Foundation
package import StoreKeys

/// File-system work on stores and key files.
package enum StoreFile {
  /// The files that SQLite keeps beside a database.
  package static let companionSuffixes = ["-wal", "-shm", "-journal"]

  /// An absolute path, so that no name is taken for `:memory:` or a URI, and none is cut at a NUL. Of a link to a file it is that of the file.
  package static func absolutePath(_ path: String) throws(StoreAccessError) -> String {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw StoreAccessError(.noSuchFile, path: nil, operation: .open, circumstance: .unusablePath)
    }
    return place(of: path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path)
  }

  /// The file that a path leads to where there are links to it: all that belongs to a store stands beside the file, not beside a link. A link that leads
  /// nowhere is left as it is.
  package static func place(of path: String) -> String {
    var place = path
    // As many as the system follows.
    for _ in 0..<40 {
      // Most are no links: that is one call, without memory of its own.
      guard isLink(place) else { return place == path || exists(place) ? place : path }
      guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: place) else { return path }
      place = target.hasPrefix("/") ? target : folder(of: place) + "/" + target
    }
    return path
  }

  static func isLink(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  /// The longest path of a database that SQLite takes, in bytes: with the name of its journal it has to stay within 512.
  package static let longestPath = 504
  /// How much longer than a store's name the longest name beside it is: that of the folder of a replacement.
  private static let longestAddition = ".".utf8.count + ".replacement".utf8.count
  /// A copy that is made in a folder of its own beside the store.
  private static let longestWaitingName = "/.cipherdata-000000000000/.cipherdata-000000000000".utf8.count

  /// Refuses a new store where not all that stands beside it some day could have its name: it could neither be rotated nor removed then.
  package static func checkName(_ path: String) throws(StoreAccessError) {
    let (place, name) = (folder(of: path), name(of: path))
    let known = pathconf(place, Int32(_PC_NAME_MAX))
    let longestName = known > 0 ? known : 255
    guard name.utf8.count + longestAddition <= longestName,
      place.utf8.count + max(name.utf8.count + 1 + longestAddition, longestWaitingName) <= longestPath
    else { throw StoreAccessError(.io(ENAMETOOLONG), path: path, operation: .create, circumstance: .nameTooLong) }
  }

  /// The folder of a path.
  package static func folder(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The last part of a path. By bytes: to look for the bounds of characters takes long, and each opening asks.
  static func name(of path: String) -> String {
    let slash = UInt8(ascii: "/")
    guard let last = path.utf8.lastIndex(where: { $0 != slash }) else { return path }
    let upToName = path.utf8[...last]
    return String(Substring(upToName.lastIndex(of: slash).map { upToName[$0...].dropFirst() } ?? upToName))
  }

  /// Whether something stands at the path.
  package static func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  /// Whether something stands at the path, for callers to whom "it cannot be told" is not "no".
  ///
  /// - Throws: What the system reports, unless it is that nothing has the name.
  package static func isThere(_ path: String, operation: StoreAccessError.Operation) throws(StoreAccessError) -> Bool {
    var status = stat()
    if lstat(path, &status) == 0 { return true }
    let number = errno
    // Nothing has a name that is too long, or that stands below a file.
    if [ENOENT, ENOTDIR, ENAMETOOLONG].contains(number) { return false }
    throw .system(number, path: path, operation: operation)
  }

  /// The file's size, `nil` where there is none.
  package static func size(_ path: String) -> Int? {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : nil
  }

  /// The names in a folder; nil where there is none that can be read.
  package static func names(in folder: String) -> [String]? { try? FileManager.default.contentsOfDirectory(atPath: folder) }

  /// Refuses what cannot be a store, before SQLite would take an empty file for a new database or hang on a pipe.
  @discardableResult
  package static func checkBeforeOpening(_ path: String) throws(StoreAccessError) -> FileIdentity {
    var status = stat()
    guard stat(path, &status) == 0 else { throw .system(errno, path: path, operation: .open) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw StoreAccessError(.notAStore(.notARegularFile), path: path, operation: .open)
    }
    guard status.st_size > 0 else { throw StoreAccessError(.notAStore(.empty), path: path, operation: .open) }
    // A plain database may have pages of 512 bytes: what the header says decides above that size.
    guard status.st_size >= 512 else { throw StoreAccessError(.notAStore(.stub), path: path, operation: .open) }
    return FileIdentity(status)
  }

  /// Creates an empty file that only its owner may read, and opens it to be written; an existing one is refused.
  package static func openExclusively(_ path: String) throws(StoreAccessError) -> Int32 {
    let descriptor = Descriptors.open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, mode: 0o600)
    guard descriptor >= 0 else { throw .system(errno, path: path, operation: .create) }
    // The umask may only take rights away; the owner must keep both.
    guard fchmod(descriptor, 0o600) == 0 else {
      let number = errno
      _ = Foundation.close(descriptor)
      unlink(path)
      throw .system(number, path: path, operation: .create)
    }
    return descriptor
  }

  /// Creates an empty file; an existing one is refused.
  ///
  /// - Parameters:
  ///   - owner: Whose it is to be; where there is none it is this process's, and only its owner may read it.
  ///   - replacing: Whether it will take the place of that owner's file.
  package static func createExclusively(_ path: String, for owner: FileOwner? = nil, replacing: Bool = true) throws(StoreAccessError) {
    let descriptor = try openExclusively(path)
    defer { _ = Foundation.close(descriptor) }
    do throws(StoreAccessError) {
      try owner?.give(descriptor, path: path, replacing: replacing)
    } catch {
      unlink(path)
      throw error
    }
  }

  /// Makes a database file under another name, fills it, makes it durable, and gives it its name. An existing file is refused; on an
  /// error nothing is left.
  ///
  /// - Parameter isAlone: Whether the caller has the lock of the key file, so that no other process creates this database. What a killed process has left of it is
  ///   removed then.
  package static func createComplete(_ path: String, isAlone: Bool = false, _ fill: (String) throws -> Void) throws {
    for name in [path] + companionSuffixes.map({ path + $0 }) where exists(name) {
      throw StoreAccessError(.fileExists, path: name, operation: .create)
    }
    let temporary: String
    if isAlone {
      try checkFolder(folder(of: path))
      temporary = creationPath(for: path)
      removeDatabase(temporary)
    } else {
      temporary = try temporaryName(beside: path)
    }
    try createExclusively(temporary)
    defer { removeDatabase(temporary) }
    do { try fill(temporary) } catch let error as StoreAccessError where error.path == temporary {
      // The caller asked for the store, not for this file.
      throw error.with(kind: error.kind, path: path)
    }
    try syncFile(temporary)
    // A hard link fails where the name is taken, which a rename would not.
    guard link(temporary, path) == 0 else { throw StoreAccessError.system(errno, path: path, operation: .create) }
    do {
      try syncFolder(of: path)
    } catch {
      // Who is told of an error expects nothing here.
      unlink(path)
      throw error
    }
  }

  /// Makes a file's bytes durable. No connection may have it open.
  package static func syncFile(_ path: String) throws(StoreAccessError) {
    let descriptor = Descriptors.open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .system(errno, path: path, operation: .sync) }
    let code = fsync(descriptor)
    let number = errno
    _ = Foundation.close(descriptor)
    guard code == 0 else { throw .system(number, path: path, operation: .sync) }
  }

  /// A name in the same folder that nobody uses.
  ///
  /// - Throws: An error that names the folder where there is none, or where nothing can be created in it: nobody should read of a file that was to be.
  package static func temporaryName(beside path: String) throws(StoreAccessError) -> String {
    let place = folder(of: path)
    try checkFolder(place)
    let suffix = try Cryptography.randomBytes(6).map { String($0, radix: 36) }.joined()
    return place + "/.cipherdata-" + suffix
  }

  /// Makes a folder's entries durable.
  package static func syncFolder(of path: String) throws(StoreAccessError) {
    let folder = folder(of: path)
    let descriptor = Descriptors.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .system(errno, path: folder, operation: .sync) }
    let code = fsync(descriptor)
    let number = errno
    _ = Foundation.close(descriptor)
    // Some file systems have nothing to sync for a folder and say so.
    guard code == 0 || number == EINVAL else { throw .system(number, path: folder, operation: .sync) }
  }

  /// Removes a database and what SQLite keeps beside it; what is not there is no error.
  package static func removeDatabase(_ path: String) {
    unlink(path)
    for suffix in companionSuffixes { unlink(path + suffix) }
  }

  /// Whether something can be made in a folder.
  ///
  /// - Throws: The error of the folder, which is what has to be mended, and not of the file that was to be made in it.
  package static func checkFolder(
    _ folder: String, operation: StoreAccessError.Operation = .create
  ) throws(StoreAccessError) {
    if access(folder, W_OK | X_OK) == 0 { return }
    let number = errno
    let error = StoreAccessError.system(number, path: folder, operation: operation)
    var found = stat()
    let isOther = stat(folder, &found) == 0 && found.st_mode & S_IFMT != S_IFDIR
    guard isOther || number == ENOENT || number == ENOTDIR else { throw error }
    throw StoreAccessError(
      .noSuchFile, path: folder, operation: operation, systemError: number, message: error.message,
      circumstance: isOther ? .fileInPlaceOfFolder : .noFolder)
  }

  /// Removes a file; one that is not there is no error.
  package static func remove(_ path: String) throws(StoreAccessError) {
    // A name that is too long for the file system is none that stands there.
    guard unlink(path) == 0 || errno == ENOENT || errno == ENAMETOOLONG else { throw .system(errno, path: path, operation: .remove) }
  }

  /// Removes a folder with what is in it; one that is not there is no error.
  package static func removeFolder(_ path: String) throws {
    guard StoreFile.exists(path) else { return }
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      throw failure(error, path: path, operation: .remove)
    }
  }

  /// The error of the system behind one of Foundation's.
  static func failure(_ error: any Error, path: String, operation: StoreAccessError.Operation) -> StoreAccessError {
    let number = ((error as? CocoaError)?.underlying as? POSIXError)?.code.rawValue ?? EIO
    let kind = StoreAccessError.kind(ofSystemError: number, operation: operation)
    return StoreAccessError(kind, path: path, operation: operation, systemError: number, underlying: error)
  }

  /// The hidden folder beside a store that holds what belongs to it beyond the database.
  package static func supportPath(for storePath: String) -> String {
    let name = name(of: storePath)
    return folder(of: storePath) + "/." + name + "_SUPPORT"
  }

  /// A database that is being made, until it is complete and gets its name.
  static func creationPath(for path: String) -> String { folder(of: path) + "/." + name(of: path) + ".new" }

  /// A store's copy, under a new data key or without unused pages, until it takes the store's place.
  package static func rotationPath(for storePath: String) -> String { storePath + ".new" }

  /// Removes the copy that a killed rotation or compaction has left; usually there is none, and one look tells. The caller has the database open with a log: whoever
  /// makes such a copy has it alone.
  ///
  /// - Returns: Whether there was one.
  @discardableResult
  package static func removeAbandonedCopy(of storePath: String) -> Bool {
    let copy = rotationPath(for: storePath)
    guard exists(copy) else { return false }
    removeDatabase(copy)
    return true
  }
}
