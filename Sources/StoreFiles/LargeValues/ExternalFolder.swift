import Foundation
package import StoreKeys
package import Synchronization

/// The folder of a store's large values, with the keys of its files.
///
/// Whoever writes a file that no row refers to yet holds the folder's lock with others; who removes files holds it alone. So nobody takes a file that
/// waits for its commit for an orphan, and a copy of the store finds the files of its snapshot. The kernel gives back the locks of a process that dies.
package struct ExternalFolder: Sendable {
  /// The folder.
  package let path: String
  package let keys: ExternalKeys
  private let storePath: String

  package init(storePath: String, key: DatabaseKey) throws {
    self.storePath = storePath
    path = StoreFile.supportPath(for: storePath)
    keys = try ExternalKeys(key)
  }

  /// Stands here while files may lie here that nothing refers to.
  private static let pendingName = "pending"
  /// Stands here when it must be found out which they are.
  private static let orphansName = "orphans"

  /// Holds a file for each open store that puts removals off until a sync.
  private static let waitingName = "waiting"

  private var waitingPath: String { path + "/" + Self.waitingName }
  private var pendingPath: String { path + "/" + Self.pendingName }
  private var orphansPath: String { path + "/" + Self.orphansName }
  private func filePath(_ id: Int64) throws -> String { path + "/" + (try keys.name(id)) }

  package var exists: Bool { StoreFile.exists(path) }

  // MARK: Files

  /// Begins the file of a new value. The caller holds the lock.
  package func makeFile(id: Int64? = nil) throws -> ExternalFileWriter {
    let id = try id ?? ExternalKeys.newID()
    return try ExternalFileWriter(path: filePath(id), id: id, keys: keys, owner: FileOwner(of: storePath)?.ofFile)
  }

  /// Opens the file of a value.
  package func openFile(id: Int64) throws -> ExternalFileReader {
    try ExternalFileReader(path: filePath(id), id: id, keys: keys)
  }

  /// Removes the files of values; those that are not there are no error.
  package func removeFiles(_ ids: some Sequence<Int64>) {
    for id in ids { if let file = try? filePath(id) { unlink(file) } }
  }

  /// The bytes of the files of values; those that are not there count nothing.
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

  /// Takes the lock with others, to write files; makes the folder where there is none.
  package func lockForWriting() throws -> Lock {
    if !exists {
      try makeFolder(path)
      try StoreFile.syncFolder(of: path)
    }
    guard let lock = try lock(LOCK_SH) else { throw StoreAccessError(.externalDataMissing, path: path, operation: .lock) }
    // Whoever is not alone may die unnoticed by the others: the last one has to look for what is left over.
    try mark(StoreFile.exists(pendingPath) ? orphansPath : pendingPath)
    return lock
  }

  /// Notes that a later sweep is needed.
  package func requestSweep() { try? mark(orphansPath) }

  /// Whether a sweep is needed at the end of some writing.
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

  /// Makes a folder that belongs to the store's owner.
  private func makeFolder(_ folder: String) throws {
    guard mkdir(folder, 0o700) == 0 else {
      if errno == EEXIST { return }
      throw StoreAccessError.system(errno, path: folder, operation: .makeFolder)
    }
    guard let owner = FileOwner(of: storePath)?.ofFolder else { return }
    let descriptor = Descriptors.open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreAccessError.system(errno, path: folder, operation: .makeFolder) }
    defer { _ = Foundation.close(descriptor) }
    try owner.give(descriptor, path: folder, replacing: false)
  }

  /// Takes the lock with others, so that nobody removes files; nil where there is no folder.
  package func lockForReading() throws -> Lock? { try lock(LOCK_SH) }

  /// Takes the lock alone, if nobody else has it; nil where somebody has, or there is no folder.
  package func lockForRemoving() throws -> Lock? { try lock(LOCK_EX | LOCK_NB) }

  private func lock(_ operation: Int32) throws -> Lock? {
    while true {
      guard let lock = try lockOnce(operation) else { return nil }
      // A replacement of the store puts another folder here; the lock of the old one is worth nothing then.
      var status = stat()
      guard fstat(lock.descriptor, &status) == 0 else { throw StoreAccessError.system(errno, path: path, operation: .lock) }
      if FileIdentity(path: path) == FileIdentity(status) { return lock }
    }
  }

  private func lockOnce(_ operation: Int32) throws -> Lock? {
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

  // MARK: What lies here

  /// Whether somebody who wrote here did not get to the end: there may be files that nothing refers to.
  package var isPending: Bool { StoreFile.exists(pendingPath) || needsSweep || StoreFile.exists(waitingPath) }

  /// Notes that an open store keeps files which it has let go of until the next sync. The caller takes part in the lock.
  package func beginWaiting(_ name: String) throws {
    try makeFolder(waitingPath)
    try mark(waitingPath + "/" + name)
  }

  /// Takes the note back. The caller holds the lock alone.
  package func endWaiting(_ name: String) {
    unlink(waitingPath + "/" + name)
    // It stays as long as another store's note is in it.
    rmdir(waitingPath)
  }

  /// Makes durable what was committed until now: a power cut brings back no row without its file.
  package func syncLog() throws {
    try WriteAheadLog.sync(storePath + "-wal")
    Self.logObserver.withLock { $0 }?(storePath)
  }

  /// Told of each sync of a log, for tests.
  package static let logObserver = Mutex<(@Sendable (_ storePath: String) -> Void)?>(nil)

  /// Nothing is left over. The caller holds the lock alone.
  package func clearPending() {
    unlink(pendingPath)
    unlink(orphansPath)
  }

  /// The names of what could be files of values, and of what is not ours.
  ///
  /// - Throws: Where the folder cannot be read: nothing is known of its files then. A folder that is not there has none.
  package func names() throws -> (files: Set<String>, foreign: [String]) {
    var names: [String] = []
    do { names = try FileManager.default.contentsOfDirectory(atPath: path) } catch {
      let failure = StoreFile.failure(error, path: path, operation: .readLargeValue)
      guard failure.kind == .noSuchFile else { throw failure }
    }
    let files = names.filter(Self.isFileName)
    return (Set(files), names.filter { !Self.isFileName($0) && !Self.notes.contains($0) }.sorted())
  }

  private static let notes = [pendingName, orphansName, waitingName]

  private static func isFileName(_ name: String) -> Bool {
    name.utf8.count == 32 && name.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
  }

  /// Removes the files that belong to none of the values. The caller holds the lock alone and has read the numbers since.
  ///
  /// - Returns: How many files were removed.
  @discardableResult
  package func sweep(keeping ids: some Sequence<Int64>) throws -> Int {
    var orphans = try names().files
    for id in ids { orphans.remove(try keys.name(id)) }
    // Whoever let go of them may have committed without a sync.
    if !orphans.isEmpty { try syncLog() }
    for name in orphans { unlink(path + "/" + name) }
    clearPending()
    if StoreFile.exists(waitingPath) { try StoreFile.removeFolder(waitingPath) }
    return orphans.count
  }
}
