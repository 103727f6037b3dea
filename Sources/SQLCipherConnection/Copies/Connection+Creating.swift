import CSQLCipher
import Foundation
import StoreFiles
package import StoreKeys
import Synchronization

extension Connection {
  /// Creates a database that only its owner can read, and opens it. Fails if a file exists at the path, and leaves that file unchanged.
  package static func create(
    path: String, key: DatabaseKey, options: ConnectionOptions = ConnectionOptions()
  ) throws -> Connection {
    let path = try StoreFile.absolutePath(path)
    try prepare(path: path, key: key, options: options)
    return try Connection(opening: path, key: key, options: options)
  }

  /// Creates the file with its contents, without keeping it open.
  ///
  /// The file is completed under a temporary name and then linked to its path, so that a crash leaves no partial store.
  ///
  /// - Parameters:
  ///   - isExclusive: Whether the caller holds the lock of the key file, so that leftovers of a killed process are removed.
  ///   - onComplete: Called with the path of the complete file, before it gets its final name.
  static func prepare(
    path: String, key: DatabaseKey, options: ConnectionOptions, contents: StoreContents = .empty, isExclusive: Bool = false,
    onOpen: (Connection) throws -> Void = { _ in }, onComplete: (String) throws -> Void = { _ in }, progress: ProgressHandler? = nil
  ) throws {
    try LibraryVersion.checkEncryptionIsAvailable(path: path)
    try key.format.checkSupported(path: path)
    while true {
      do {
        return try prepareOnce(
          path: path, key: key, options: options, contents: contents, isExclusive: isExclusive || contents.isCreatedExclusively,
          onOpen: onOpen, onComplete: onComplete, progress: progress)
      } catch is UnlockedFolder {}
    }
  }

  /// The store got its first large value after the copy began. Without a folder there was no lock to keep its files, and they may have been
  /// deleted since.
  private struct UnlockedFolder: Error {}

  private static func prepareOnce(
    path: String, key: DatabaseKey, options: ConnectionOptions, contents: StoreContents, isExclusive: Bool,
    onOpen: (Connection) throws -> Void, onComplete: (String) throws -> Void, progress: ProgressHandler?
  ) throws {
    // The lock is taken before the snapshot, so that the files of its large values exist until they are copied.
    let source: ExternalFolder?
    if case .copy(let sourcePath, let sourceKey, _, _) = contents {
      source = try ExternalFolder(storePath: StoreFile.absolutePath(sourcePath), key: sourceKey)
    } else {
      source = nil
    }
    var lock: ExternalFolder.Lock?
    let work = CopyWork(progress)
    defer { withExtendedLifetime(lock) {} }
    // Open until everything is copied, so that the store and its folder cannot be replaced in the meantime.
    var sourceConnection: Connection?
    defer { sourceConnection?.close() }
    let target = try ExternalFolder(storePath: path, key: key)
    var placed: [Int64] = []
    let hadFolder = target.exists
    // A failed copy leaves no files.
    defer { if !hadFolder, target.exists, !StoreFile.exists(path) { try? StoreFile.removeFolder(target.path) } }
    defer { if !placed.isEmpty, !StoreFile.exists(path) { target.removeFiles(placed) } }
    try StoreFile.createComplete(path, isExclusive: isExclusive) { temporary in
      try DatabaseCopy.fill(
        temporary, key: key, contents: contents, options: options, folder: target, onOpen: onOpen,
        onSource: { connection in
          sourceConnection = connection
          lock = try source?.lockForReading()
          try work.begin(connection, contents, lock == nil ? nil : source)
        }, progress: work.database)
      if case .plaintext(_, let finish?, _) = contents {
        placed = try self.finish(temporary, key: key, options: options, folder: target, finish)
      }
      if let completion = contents.completion { try complete(temporary, key: key, options: options, completion) }
      // Without a log, the source is locked only during reads. Lock it until its large values are copied.
      try sourceConnection?.lockLocation()
      // The final check before the file gets its name: it is encrypted with this key.
      let bare = try BareDatabaseFile(temporary)
      _ = try bare.salt()
      guard try bare.isFirstPageAuthentic(key) else {
        throw StoreAccessError(.encryptionUnavailable(.newFileInPlainText), path: path, operation: .create)
      }
      if let source, case .copy(_, _, let largeValues, _) = contents {
        let ids = try externals(of: temporary, largeValues, key: key, options: options)
        if lock == nil, !ids.isEmpty, source.exists { throw UnlockedFolder() }
        // No store of this name exists yet, so files in its folder are left over from an interrupted copy.
        if target.exists { try target.sweep(keeping: []) }
        try ExternalCopy.copy(ids, from: source, to: target, progress: work.files)
        target.clearPending()
      }
      try onComplete(temporary)
    }
    // The store has its final name, and owns the files.
    if !placed.isEmpty { target.clearPending() }
    placed = []
  }

  /// Moves large values of a new database to files, and removes their pages.
  ///
  /// - Returns: The IDs of the values.
  private static func finish(
    _ copy: String, key: DatabaseKey, options: ConnectionOptions, folder: ExternalFolder, _ finish: StoreContents.Finish
  ) throws -> [Int64] {
    // No store of this name exists yet, so files in its folder are left over.
    if folder.exists { try folder.sweep(keeping: []) }
    var options = options
    options.journalMode = .delete
    let ids: [Int64]
    do {
      let connection = try Connection(opening: copy, key: key, options: options)
      defer { connection.close() }
      ids = try finish(connection, folder)
    }
    if ids.isEmpty { return [] }
    // If the process ends before the store has its name, the next store of this name sweeps the files.
    folder.requestSweep()
    do {
      try DatabaseCopy.compact(copy, key: key, options: options)
    } catch {
      folder.removeFiles(ids)
      throw error
    }
    return ids
  }

  /// Completes a copy that no connection has open.
  static func complete(_ copy: String, key: DatabaseKey, options: ConnectionOptions, _ completion: CopyCompletion) throws {
    var options = options
    (options.journalMode, options.isReadOnly) = (.delete, false)
    let connection = try Connection(opening: copy, key: key, options: options)
    defer { connection.close() }
    try connection.writeTransaction { try completion(connection) }
  }

  /// Returns the IDs of the large values in a finished copy of a store.
  private static func externals(
    of copy: String, _ largeValues: LargeValueList, key: DatabaseKey, options: ConnectionOptions
  ) throws -> [Int64] {
    var options = options
    options.journalMode = .delete
    let connection = try Connection(opening: copy, key: key, options: options)
    defer { connection.close() }
    return try connection.readTransaction { try largeValues(connection) }
  }
}

/// The progress of a store copy: its pages, then the files of its large values, counted in pages. The amounts are known once the source is
/// open.
private final class CopyWork: Sendable {
  private let progress: ProgressHandler?
  private let weights = Mutex<(pages: Int, files: Int)>((1, 0))
  private var share: (ProgressShare, pages: Int, files: Int) {
    let (pages, files) = weights.withLock { $0 }
    return (ProgressShare(progress, total: pages + files), pages, files)
  }

  init(_ progress: ProgressHandler?) { self.progress = progress }

  /// Reads the amounts from the source.
  func begin(_ connection: Connection, _ contents: StoreContents, _ folder: ExternalFolder?) throws {
    guard progress != nil, case .copy(_, let key, let largeValues, _) = contents else { return }
    let pages = try connection.allPages()
    let ids = folder == nil ? [] : try connection.readTransaction { try largeValues(connection) }
    let files = (folder?.size(of: ids) ?? 0) / key.format.pageSize
    weights.withLock { $0 = (pages, files) }
  }

  var database: ProgressHandler? {
    guard progress != nil else { return nil }
    return { done, total in
      let (share, pages, _) = self.share
      return share.part(from: 0, units: pages)?(done, total) ?? true
    }
  }

  var files: ProgressHandler? {
    let (share, pages, files) = share
    return share.part(from: pages, units: files)
  }
}

// MARK: - Page counts and progress

extension Connection {
  /// Returns the number of pages of the database, including unused ones.
  func allPages() throws -> Int { max(1, try pages("page_count")) }

  /// Returns the number of pages of the database that are in use.
  func usedPages() throws -> Int { max(1, try pages("page_count") - pages("freelist_count")) }

  private func pages(_ pragma: String) throws -> Int { try self.pragma(pragma).flatMap { Int($0) } ?? 0 }

  /// Runs `body`, which writes a copy, and reports the growth of the copy's file as progress.
  func reporting(
    _ progress: ProgressHandler?, growthOf copy: String, pages: Int, operation: StoreAccessError.Operation, _ body: () throws -> Void
  ) throws {
    guard let progress else { return try body() }
    var isCancelled = false
    do {
      try cancelling(
        when: {
          let done = min(pages, (StoreFile.size(copy) ?? 0) / format.pageSize)
          if !progress(done, pages) { isCancelled = true }
          return isCancelled
        }, body)
    } catch  where isCancelled {
      throw StoreAccessError(.cancelled, path: path, operation: operation, underlying: error)
    }
  }
}
