// Creation of a new database: complete under another name first, then linked to its place, so that a crash leaves no half store.

import CSQLCipher
import Foundation
import StoreFiles
package import StoreKeys
import Synchronization

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
  ///
  /// - Parameter onComplete: Called with the path of the complete file, before it gets its name.
  static func prepare(
    path: String, key: DatabaseKey, options: ConnectionOptions, contents: StoreContents = .empty,
    onOpen: (Connection) throws -> Void = { _ in }, onComplete: (String) throws -> Void = { _ in }, progress: ProgressHandler? = nil
  ) throws {
    try LibraryVersion.checkEncryptionIsAvailable(path: path)
    try key.format.checkSupported(path: path)
    while true {
      do {
        return try prepareOnce(
          path: path, key: key, options: options, contents: contents, onOpen: onOpen, onComplete: onComplete, progress: progress)
      } catch is UnlockedFolder {}
    }
  }

  /// A store has its first large value since its copy was begun: there was no folder yet, nor a lock that keeps files, and they may be gone again.
  private struct UnlockedFolder: Error {}

  private static func prepareOnce(
    path: String, key: DatabaseKey, options: ConnectionOptions, contents: StoreContents,
    onOpen: (Connection) throws -> Void, onComplete: (String) throws -> Void, progress: ProgressHandler?
  ) throws {
    // Its lock is held from before the snapshot, so that the files of its large values are there until they are copied.
    let source: ExternalFolder?
    if case .copy(let sourcePath, let sourceKey, _) = contents {
      source = try ExternalFolder(storePath: StoreFile.absolutePath(sourcePath), key: sourceKey)
    } else {
      source = nil
    }
    var lock: ExternalFolder.Lock?
    let work = CopyWork(progress)
    defer { withExtendedLifetime(lock) {} }
    // Open until all is copied: nobody puts another store, with another folder, in its place meanwhile.
    var sourceConnection: Connection?
    defer { sourceConnection?.close() }
    let target = try ExternalFolder(storePath: path, key: key)
    var placed: [Int64] = []
    let hadFolder = target.exists
    // A copy that failed leaves nothing of its own.
    defer { if !hadFolder, target.exists, !StoreFile.exists(path) { try? StoreFile.removeFolder(target.path) } }
    defer { if !placed.isEmpty, !StoreFile.exists(path) { target.removeFiles(placed) } }
    try StoreFile.createComplete(path, isAlone: contents.isMadeAlone) { temporary in
      try DatabaseCopy.fill(
        temporary, key: key, contents: contents, options: options, folder: target, onOpen: onOpen,
        onSource: { connection in
          sourceConnection = connection
          lock = try source?.lockForReading()
          try work.begin(connection, contents, lock == nil ? nil : source)
        }, progress: work.database)
      if case .plaintext(_, let finish?) = contents {
        placed = try self.finish(temporary, key: key, options: options, folder: target, finish)
      }
      // A source without a log has its lock only while it is read: from here on until its large values are copied.
      try sourceConnection?.lockPlace()
      // The last word before the file gets its name: it is encrypted, with this key.
      let bare = try BareDatabaseFile(temporary)
      _ = try bare.salt()
      guard try bare.isFirstPageAuthentic(key) else {
        throw StoreAccessError(.encryptionUnavailable(.newFileInPlainText), path: path, operation: .create)
      }
      if let source, case .copy(_, _, let largeValues) = contents {
        let ids = try externals(of: temporary, largeValues, key: key, options: options)
        if lock == nil, !ids.isEmpty, source.exists { throw UnlockedFolder() }
        // There is no store of this name yet: what lies in its folder is left over from a copy that was interrupted.
        if target.exists { try target.sweep(keeping: []) }
        try ExternalCopy.copy(ids, from: source, to: target, progress: work.files)
        target.clearPending()
      }
      try onComplete(temporary)
    }
    // The store has its name, and the files are its own.
    if !placed.isEmpty { target.clearPending() }
    placed = []
  }

  /// Puts large values of a new database into files, and leaves out the pages that they had.
  ///
  /// - Returns: The numbers of the values.
  private static func finish(
    _ copy: String, key: DatabaseKey, options: ConnectionOptions, folder: ExternalFolder, _ finish: StoreContents.Finish
  ) throws -> [Int64] {
    // There is no store of this name yet: what lies in its folder is left over.
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
    // Should the process end before the store has its name, the next store of this name finds the files.
    folder.requestSweep()
    do {
      try DatabaseCopy.compact(copy, key: key, options: options)
    } catch {
      folder.removeFiles(ids)
      throw error
    }
    return ids
  }

  /// The large values that a finished copy of a store has.
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

/// What a copy of a store tells: its pages, and in as many pages the files of its large values. How many there are is known when the source is open.
private final class CopyWork: Sendable {
  private let progress: ProgressHandler?
  private let weights = Mutex<(pages: Int, files: Int)>((1, 0))
  private var share: (WorkShare, pages: Int, files: Int) {
    let (pages, files) = weights.withLock { $0 }
    return (WorkShare(progress, total: pages + files), pages, files)
  }

  init(_ progress: ProgressHandler?) { self.progress = progress }

  /// Asks the source how much there is.
  func begin(_ connection: Connection, _ contents: StoreContents, _ folder: ExternalFolder?) throws {
    guard progress != nil, case .copy(_, let key, let largeValues) = contents else { return }
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
