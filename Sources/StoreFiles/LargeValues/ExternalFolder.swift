import Foundation
package import StoreKeys
package import Synchronization

/// The folder of a store's large values, with the keys of its files.
///
/// Writing files that no row refers to yet needs a shared lock on the folder; removing files needs an exclusive lock. So files that wait
/// for their commit are not removed as unreferenced, and a copy of the store finds the files of its snapshot. The kernel releases the locks
/// of a process that ends.
package struct ExternalFolder: Sendable {
  package let path: String
  package let keys: ExternalKeys
  private let storePath: String

  package init(storePath: String, key: DatabaseKey) throws {
    self.storePath = storePath
    path = StoreFile.supportPath(for: storePath)
    keys = try ExternalKeys(key)
  }

  /// The name of the file that exists while there may be unreferenced files.
  private static let pendingName = "pending"
  /// The name of the file that exists while a sweep is needed to find unreferenced files.
  private static let orphansName = "orphans"

  /// The name of the folder with a file for each open store that defers removals until a sync.
  private static let waitingName = "waiting"

  /// The name of the folder for parts of values that are not complete yet, which the component that writes them removes.
  private static let incomingName = "incoming"

  /// Returns the path of the folder for parts of values that are not complete yet.
  package static func incomingPath(for storePath: String) -> String { StoreFile.supportPath(for: storePath) + "/" + incomingName }

  private var waitingPath: String { path + "/" + Self.waitingName }
  private var pendingPath: String { path + "/" + Self.pendingName }
  private var orphansPath: String { path + "/" + Self.orphansName }
  private func filePath(_ id: Int64) throws -> String { path + "/" + (try keys.name(id)) }

  package var exists: Bool { StoreFile.exists(path) }

  // MARK: Files

  /// Creates the file of a new value. The caller holds the lock.
  package func makeFile(id: Int64? = nil) throws -> ExternalFileWriter {
    let id = try id ?? ExternalKeys.newID()
    return try ExternalFileWriter(path: filePath(id), id: id, keys: keys, owner: FileOwner(of: storePath)?.ofFile)
  }

  package func openFile(id: Int64) throws -> ExternalFileReader {
    try ExternalFileReader(path: filePath(id), id: id, keys: keys)
  }

  /// Removes the files of values. Missing files are not an error.
  package func removeFiles(_ ids: some Sequence<Int64>) {
    for id in ids { if let file = try? filePath(id) { unlink(file) } }
  }

  /// Returns the total size of the files of values, in bytes. Missing files are ignored.
  package func size(of ids: some Sequence<Int64>) -> Int {
    ids.reduce(0) { sum, id in sum + ((try? filePath(id)).flatMap(StoreFile.size) ?? 0) }
  }

  /// Makes the folder's entries durable.
  package func sync() throws { try StoreFile.syncFolder(of: pendingPath) }

  // MARK: Lock

  /// A lock that lasts as long as the object.
  package final class Lock: Sendable {
    fileprivate let descriptor: Int32
    fileprivate init(_ descriptor: Int32) { self.descriptor = descriptor }
    deinit { _ = Foundation.close(descriptor) }
  }

  /// Takes a shared lock for writing files. Creates the folder if it does not exist.
  package func lockForWriting() throws -> Lock {
    if !exists {
      try makeFolder(path)
      try StoreFile.syncFolder(of: path)
    }
    guard let lock = try lock(LOCK_SH) else { throw StoreAccessError(.externalDataMissing, path: path, operation: .lock) }
    // With several writers, a crash of one goes unnoticed by the others, so the last one has to search for unreferenced files.
    try mark(StoreFile.exists(pendingPath) ? orphansPath : pendingPath)
    return lock
  }

  /// Records that a sweep is needed later.
  package func requestSweep() { try? mark(orphansPath) }

  /// Whether a sweep is needed after the current writes.
  package var needsSweep: Bool { StoreFile.exists(orphansPath) }

  func mark(_ file: String) throws {
    if StoreFile.exists(file) { return }
    do throws(StoreAccessError) {
      try StoreFile.createExclusively(file, for: FileOwner(of: storePath)?.ofFile, replacing: false)
    } catch  where error.kind == .fileExists {
    } catch {
      throw error.with(kind: error.kind, operation: .writeLargeValue)
    }
  }

  private func makeFolder(_ folder: String) throws {
    guard mkdir(folder, 0o700) == 0 else {
      if errno == EEXIST { return }
      throw StoreAccessError.system(errno, path: folder, operation: .makeFolder)
    }
    guard let owner = FileOwner(of: storePath)?.ofFolder else { return }
    let descriptor = Descriptors.open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreAccessError.system(errno, path: folder, operation: .makeFolder) }
    defer { _ = Foundation.close(descriptor) }
    try owner.transfer(descriptor, path: folder, replacing: false)
  }

  /// Takes a shared lock that prevents the removal of files, or returns `nil` if the folder does not exist.
  package func lockForReading() throws -> Lock? { try lock(LOCK_SH) }

  /// Takes an exclusive lock without waiting, or returns `nil` if the folder is locked or does not exist.
  package func lockForRemoving() throws -> Lock? { try lock(LOCK_EX | LOCK_NB) }

  private func lock(_ operation: Int32) throws -> Lock? {
    while true {
      guard let lock = try tryLock(operation) else { return nil }
      // A replacement of the store replaces the folder, which makes a lock on the old one useless.
      var status = stat()
      guard fstat(lock.descriptor, &status) == 0 else { throw StoreAccessError.system(errno, path: path, operation: .lock) }
      if FileIdentity(path: path) == FileIdentity(status) { return lock }
    }
  }

  private func tryLock(_ operation: Int32) throws -> Lock? {
    let descriptor = Descriptors.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw StoreAccessError.system(errno, path: path, operation: .lock)
    }
    while flock(descriptor, operation) != 0 {
      if errno == EINTR { continue }
      let number = errno
      _ = Foundation.close(descriptor)
      if number == EWOULDBLOCK { return nil }
      throw StoreAccessError.system(number, path: path, operation: .lock)
    }
    return Lock(descriptor)
  }

  // MARK: Leftovers

  /// Whether a writer did not finish, so that there may be unreferenced files.
  package var isPending: Bool { StoreFile.exists(pendingPath) || needsSweep || StoreFile.exists(waitingPath) }

  /// Records that an open store keeps dropped files until the next sync. The caller holds a share of the lock.
  package func beginDeferredRemoval(_ name: String) throws {
    try makeFolder(waitingPath)
    try mark(waitingPath + "/" + name)
  }

  /// Removes that record. The caller holds the exclusive lock.
  package func endDeferredRemoval(_ name: String) {
    unlink(waitingPath + "/" + name)
    // Fails, as intended, while the folder contains the record of another store.
    rmdir(waitingPath)
  }

  /// Makes all commits so far durable, so that a power failure cannot restore rows whose files are removed.
  package func syncLog() throws {
    try WriteAheadLog.sync(storePath + "-wal")
    Self.logObserver.withLock { $0 }?(storePath)
  }

  /// Called after each sync of a log, for tests.
  package static let logObserver = Mutex<(@Sendable (_ storePath: String) -> Void)?>(nil)

  /// Records that there are no unreferenced files. The caller holds the exclusive lock.
  package func clearPending() {
    unlink(pendingPath)
    unlink(orphansPath)
  }

  /// Returns the names that can be files of values, and those of foreign files.
  ///
  /// - Throws: An error if the folder cannot be read. A missing folder has no files.
  package func names() throws -> (files: Set<String>, foreign: [String]) {
    var names: [String] = []
    do { names = try FileManager.default.contentsOfDirectory(atPath: path) } catch {
      let failure = StoreFile.failure(error, path: path, operation: .readLargeValue)
      guard failure.kind == .noSuchFile else { throw failure }
    }
    let files = names.filter(Self.isFileName)
    return (Set(files), names.filter { !Self.isFileName($0) && !Self.markers.contains($0) }.sorted())
  }

  private static let markers = [pendingName, orphansName, waitingName, incomingName]

  private static func isFileName(_ name: String) -> Bool {
    name.utf8.count == 32 && name.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
  }

  /// Removes all files except those of the given values. The caller holds the exclusive lock, and has read the numbers after taking it.
  ///
  /// - Returns: The number of removed files.
  @discardableResult
  package func sweep(keeping ids: some Sequence<Int64>) throws -> Int {
    var orphans = try names().files
    for id in ids { orphans.remove(try keys.name(id)) }
    // The commits that dropped them may not be synced.
    if !orphans.isEmpty { try syncLog() }
    for name in orphans { unlink(path + "/" + name) }
    clearPending()
    if StoreFile.exists(waitingPath) { try StoreFile.removeFolder(waitingPath) }
    return orphans.count
  }
}

/// Copies the files of large values with a copy of their store.
package enum ExternalCopy {
  /// Copies the files of values to another store's folder, and makes them durable.
  ///
  /// Files are encrypted again if the key differs. Other files in the target folder are removed by its next sweep. The caller holds the
  /// source's lock.
  package static func copy(
    _ ids: [Int64], from source: ExternalFolder, to target: ExternalFolder, lock: ExternalFolder.Lock? = nil,
    progress: ProgressHandler? = nil
  ) throws {
    if ids.isEmpty { return }
    let lock = try lock ?? target.lockForWriting()
    defer { withExtendedLifetime(lock) {} }
    target.requestSweep()
    do {
      for (number, id) in ids.enumerated() {
        try copyFile(id, from: source, to: target)
        if let progress, !progress(number + 1, ids.count) { throw StoreAccessError(.cancelled, path: target.path, operation: .copy) }
      }
      try target.sync()
    } catch {
      target.removeFiles(ids)
      throw error
    }
  }

  private static func copyFile(_ id: Int64, from source: ExternalFolder, to target: ExternalFolder) throws {
    let reader = try source.openFile(id: id)
    let writer = try target.makeFile(id: id)
    while let chunk = try reader.next() {
      try chunk.withUnsafeBytes { bytes in try writer.write(bytes) }
    }
    _ = try writer.finish()
  }
}
