import CProcessor
package import Foundation
package import StoreKeys

/// File-system operations on stores and key files: paths, checks before opening, exclusive creation, and syncing.
///
/// They never open a database file that a connection may have open: closing any descriptor of it would release the connection's locks.
package enum StoreFile {
  /// The suffixes of the files that SQLite creates next to a database.
  package static let companionSuffixes = ["-wal", "-shm", "-journal"]

  /// Returns an absolute path, so that SQLite does not interpret it as `:memory:` or a URI. Paths with NUL characters are rejected.
  /// Symbolic links to a file are resolved.
  package static func absolutePath(_ path: String) throws(StoreAccessError) -> String {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw StoreAccessError(.noSuchFile, path: nil, operation: .open, circumstance: .unusablePath)
    }
    return place(of: path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path)
  }

  /// Resolves symbolic links to a file. The files of a store are next to the database file, not next to a link. A dangling link is returned
  /// unchanged.
  package static func place(of path: String) -> String {
    var place = path
    // The system's limit for symbolic links.
    for _ in 0..<40 {
      // Most paths are not links, which costs one call without allocation.
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

  /// The maximum length of a database path, in bytes. With the suffix of its journal, it must not exceed SQLite's limit of 512.
  package static let longestPath = 504
  /// The number of bytes by which the longest name next to a store, that of the replacement folder, exceeds the store's name.
  private static let longestAddition = ".".utf8.count + ".replacement".utf8.count
  /// The length of the temporary name of a copy in its own folder next to the store.
  private static let longestWaitingName = "/.cipherdata-000000000000/.cipherdata-000000000000".utf8.count

  /// Checks that all files next to a new store can have their names. Otherwise, the store could later be neither rotated nor removed.
  package static func checkName(_ path: String) throws(StoreAccessError) {
    let (place, name) = (folder(of: path), name(of: path))
    let known = pathconf(place, Int32(_PC_NAME_MAX))
    let longestName = known > 0 ? known : 255
    guard name.utf8.count + longestAddition <= longestName,
      place.utf8.count + max(name.utf8.count + 1 + longestAddition, longestWaitingName) <= longestPath
    else { throw StoreAccessError(.io(ENAMETOOLONG), path: path, operation: .create, circumstance: .nameTooLong) }
  }

  package static func folder(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Returns the last component of a path. It searches bytes, since searching for character boundaries is slow and each opening calls it.
  static func name(of path: String) -> String {
    let slash = UInt8(ascii: "/")
    guard let last = path.utf8.lastIndex(where: { $0 != slash }) else { return path }
    let upToName = path.utf8[...last]
    return String(Substring(upToName.lastIndex(of: slash).map { upToName[$0...].dropFirst() } ?? upToName))
  }

  /// Returns whether the path exists. Errors count as `false`.
  package static func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  /// Returns whether the path exists, for callers that must distinguish errors from `false`.
  ///
  /// - Throws: Any system error other than that the path does not exist.
  package static func exists(_ path: String, operation: StoreAccessError.Operation) throws(StoreAccessError) -> Bool {
    var status = stat()
    if lstat(path, &status) == 0 { return true }
    let number = errno
    // A path that is too long, or below a file, cannot exist.
    if [ENOENT, ENOTDIR, ENAMETOOLONG].contains(number) { return false }
    throw .system(number, path: path, operation: operation)
  }

  /// Returns the file's size in bytes, or `nil` if there is no file.
  package static func size(_ path: String) -> Int? {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : nil
  }

  /// Returns the time at which the file was created, in nanoseconds since 1970, or `nil` if the file system does not report it.
  ///
  /// The system sets it once, and no program can change it. So it distinguishes a copy from the original, and stays when the file is renamed.
  package static func birth(_ path: String) -> Int64? {
    let birth = cipherdata_birth(path)
    return birth == 0 ? nil : birth
  }

  /// Returns the names in a folder, or `nil` if the folder does not exist or cannot be read.
  package static func names(in folder: String) -> [String]? { try? FileManager.default.contentsOfDirectory(atPath: folder) }

  /// Rejects files that cannot be a store, since SQLite would take an empty file for a new database, and block on a pipe.
  @discardableResult
  package static func checkBeforeOpening(_ path: String) throws(StoreAccessError) -> FileIdentity {
    var status = stat()
    guard stat(path, &status) == 0 else { throw .system(errno, path: path, operation: .open) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw StoreAccessError(.notAStore(.notARegularFile), path: path, operation: .open)
    }
    guard status.st_size > 0 else { throw StoreAccessError(.notAStore(.empty), path: path, operation: .open) }
    // A plaintext database can have pages of 512 bytes. For larger files, the header decides.
    guard status.st_size >= 512 else { throw StoreAccessError(.notAStore(.stub), path: path, operation: .open) }
    return FileIdentity(status)
  }

  /// Creates an empty file that only its owner can access, and opens it for writing. Throws if it exists.
  package static func openExclusively(_ path: String) throws(StoreAccessError) -> Int32 {
    let descriptor = Descriptors.open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, mode: 0o600)
    guard descriptor >= 0 else { throw .system(errno, path: path, operation: .create) }
    // The umask may have removed permissions that the owner needs.
    guard fchmod(descriptor, 0o600) == 0 else {
      let number = errno
      _ = Foundation.close(descriptor)
      unlink(path)
      throw .system(number, path: path, operation: .create)
    }
    return descriptor
  }

  /// Creates an empty file. Throws if it exists.
  ///
  /// - Parameters:
  ///   - owner: The owner of the file. With `nil`, it belongs to this process's user, and only that user can access it.
  ///   - replacing: Whether it will replace that owner's file.
  package static func createExclusively(_ path: String, for owner: FileOwner? = nil, replacing: Bool = true) throws(StoreAccessError) {
    let descriptor = try openExclusively(path)
    defer { _ = Foundation.close(descriptor) }
    do throws(StoreAccessError) {
      try owner?.transfer(descriptor, path: path, replacing: replacing)
    } catch {
      unlink(path)
      throw error
    }
  }

  /// Creates a database file with a temporary name, fills it, makes it durable, and renames it. Throws if the path exists. After an error,
  /// no files remain.
  ///
  /// - Parameter isExclusive: Whether the caller holds the lock of the key file, so that no other process creates this database. Leftovers of a
  ///   killed process are removed then.
  package static func createComplete(_ path: String, isExclusive: Bool = false, _ fill: (String) throws -> Void) throws {
    for name in [path] + companionSuffixes.map({ path + $0 }) where exists(name) {
      throw StoreAccessError(.fileExists, path: name, operation: .create)
    }
    let temporary: String
    if isExclusive {
      try checkFolder(folder(of: path))
      temporary = creationPath(for: path)
      removeDatabase(temporary)
    } else {
      temporary = try temporaryName(nextTo: path)
    }
    try createExclusively(temporary)
    defer { removeDatabase(temporary) }
    do { try fill(temporary) } catch let error as StoreAccessError where error.path == temporary {
      // Report the path that the caller passed, not the temporary one.
      throw error.with(kind: error.kind, path: path)
    }
    try syncFile(temporary)
    // Creating a hard link fails if the name exists, unlike renaming.
    guard link(temporary, path) == 0 else { throw StoreAccessError.system(errno, path: path, operation: .create) }
    do {
      try syncFolder(of: path)
    } catch {
      // After an error, no file must remain.
      unlink(path)
      throw error
    }
  }

  /// Makes a file's content durable. No connection may have the file open.
  package static func syncFile(_ path: String) throws(StoreAccessError) {
    let descriptor = Descriptors.open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .system(errno, path: path, operation: .sync) }
    let code = fsync(descriptor)
    let number = errno
    _ = Foundation.close(descriptor)
    guard code == 0 else { throw .system(number, path: path, operation: .sync) }
  }

  /// Returns an unused name in the same folder.
  ///
  /// - Throws: An error for the folder if it does not exist or is not writable, instead of one for the temporary file.
  package static func temporaryName(nextTo path: String) throws(StoreAccessError) -> String {
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
    // Some file systems do not support syncing folders, and report `EINVAL`.
    guard code == 0 || number == EINVAL else { throw .system(number, path: folder, operation: .sync) }
  }

  /// Removes a database and SQLite's files next to it. Missing files are not an error.
  package static func removeDatabase(_ path: String) {
    unlink(path)
    for suffix in companionSuffixes { unlink(path + suffix) }
  }

  /// Checks that files can be created in a folder.
  ///
  /// - Throws: An error for the folder, which needs to be fixed, instead of one for the file to create.
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

  /// Removes a file. A missing file is not an error.
  package static func remove(_ path: String) throws(StoreAccessError) {
    // A name that is too long for the file system cannot exist.
    guard unlink(path) == 0 || errno == ENOENT || errno == ENAMETOOLONG else { throw .system(errno, path: path, operation: .remove) }
  }

  /// Removes a folder with its content. A missing folder is not an error.
  package static func removeFolder(_ path: String) throws {
    guard StoreFile.exists(path) else { return }
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      throw failure(error, path: path, operation: .remove)
    }
  }

  /// Converts an error of Foundation to the system error that caused it.
  static func failure(_ error: any Error, path: String, operation: StoreAccessError.Operation) -> StoreAccessError {
    let number = ((error as? CocoaError)?.underlying as? POSIXError)?.code.rawValue ?? EIO
    let kind = StoreAccessError.kind(ofSystemError: number, operation: operation)
    return StoreAccessError(kind, path: path, operation: operation, systemError: number, underlying: error)
  }

  /// Returns the path of the hidden folder next to a store that contains its large values.
  package static func supportPath(for storePath: String) -> String {
    let name = name(of: storePath)
    return folder(of: storePath) + "/." + name + "_SUPPORT"
  }

  /// Returns the path of the file whose lock shows which process synchronizes a store.
  package static func synchronizationLockPath(for storePath: String) -> String { storePath + "-sync" }

  /// Returns the path of the file with a store's ``LineageMark``.
  package static func lineageMarkPath(for storePath: String) -> String { folder(of: storePath) + "/." + name(of: storePath) + "-mark" }

  /// Returns the temporary path of a database, or of another file, during its creation under a lock.
  package static func creationPath(for path: String) -> String { folder(of: path) + "/." + name(of: path) + ".new" }

  /// Returns the temporary path of a store's copy, with a new data key or without unused pages, before it replaces the store.
  package static func rotationPath(for storePath: String) -> String { storePath + ".new" }

  /// Removes the leftover copy of a killed rotation or compaction. Usually there is none, which costs one system call. The caller has the
  /// database open with a log; such a copy is made only while the store is not open elsewhere.
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

/// The identity of a file in the kernel, independent of its name.
package struct FileIdentity: Sendable, Equatable {
  private let device: UInt64
  private let inode: UInt64

  package init(_ status: stat) {
    device = UInt64(truncatingIfNeeded: status.st_dev)
    inode = UInt64(truncatingIfNeeded: status.st_ino)
  }

  /// Creates the identity of the file at a path, or returns `nil` if there is none.
  package init?(path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.init(status)
  }
}

/// The free space of a file system.
package enum DiskSpace {
  /// Returns the number of bytes that this process can still write in a file's folder, or `nil` if the file system does not report it.
  package static func available(nextTo path: String) -> Int? {
    var status = statvfs()
    guard statvfs(StoreFile.folder(of: path), &status) == 0, status.f_blocks > 0 else { return nil }
    let blocks = geteuid() == 0 ? status.f_bfree : status.f_bavail
    return Int(clamping: UInt64(blocks).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
  }

  /// Checks that there is enough space for an operation.
  ///
  /// - Throws: `.insufficientDiskSpace` if the free space is known and insufficient.
  package static func require(_ bytes: Int, nextTo path: String, operation: StoreAccessError.Operation) throws(StoreAccessError) {
    guard let available = available(nextTo: path), available < bytes else { return }
    throw StoreAccessError(.insufficientDiskSpace(needed: bytes, available: available), path: path, operation: operation)
  }
}
