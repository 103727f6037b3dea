import Dispatch
import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreFiles
import Synchronization

/// The files of an open store's large values.
///
/// A row holds the number of a value: an INTEGER where values inside rows are BLOBs. `cipherdata_external` lists the numbers. A file is
/// written before the transaction that refers to it commits, and removed after the transaction that drops the last reference. A crash
/// therefore leaves at most unreferenced files, which the next opening finds.
final class ExternalStorage: Sendable {
  /// The maximum size in bytes of a value that is cached after it was read. All cached values together take at most twice this size.
  static let maximumCachedSize = 4 << 20
  /// The default of ``threshold``, in bytes.
  static let standardThreshold = 131_072
  /// The maximum number of files that wait for a sync before they are removed. ``maximumWaitingSize`` limits their total size in bytes.
  static let maximumWaitingCount = 64
  static let maximumWaitingSize = 64 << 20

  let folder: ExternalFolder
  /// Values of fewer bytes stay in their rows.
  let threshold: Int
  let isReadOnly: Bool
  /// The connections, or `nil` inside another store's transaction, where only files can be read.
  private let pool: ConnectionPool?
  private let schema: StoreSchema?
  private let cache = Mutex<[(id: Int64, data: Data)]>([])
  /// The folder's lock and the number of its users. All values that wait for a save share one descriptor.
  private let writing = Mutex<(lock: ExternalFolder.Lock?, count: Int)>((nil, 0))

  /// Files whose removal waits for a sync, because the commits that dropped them may not be on disk yet. One sync covers all.
  private let waiting = Mutex<(ids: [Int64], size: Int)>(([], 0))
  private let waitingName = UUID().uuidString

  init(folder: ExternalFolder, pool: ConnectionPool?, schema: StoreSchema?, threshold: Int, isReadOnly: Bool) {
    self.folder = folder
    self.pool = pool
    self.schema = schema
    self.threshold = max(1, threshold)
    self.isReadOnly = isReadOnly
  }

  /// Creates the storage of another transaction on a connection, such as a migration's. It never needs a value's current location, since
  /// nothing else writes meanwhile.
  convenience init?(joining connection: Connection, threshold: Int) {
    guard let folder = connection.externalFolder else { return nil }
    self.init(folder: folder, pool: nil, schema: nil, threshold: threshold, isReadOnly: false)
  }

  /// Whether the storage belongs to one long transaction and is not used after it.
  var isJoined: Bool { pool == nil }

  // MARK: Reading

  /// Returns the value whose number was read in a row.
  func value(_ id: Int64, at place: StoredLargeValue.Place) -> ExternalData {
    ExternalData(content: StoredLargeValue(storage: self, id: id, place: place))
  }

  func data(_ id: Int64) throws -> Data {
    if let known = cache.withLock({ $0.first { $0.id == id }?.data }) { return known }
    let reader = try folder.openFile(id: id)
    var data = Data(capacity: reader.count)
    while let chunk = try reader.next() { data.append(chunk) }
    if data.count <= Self.maximumCachedSize {
      cache.withLock { [data] cache in
        cache.append((id, data))
        while cache.reduce(0, { $0 + $1.data.count }) > 2 * Self.maximumCachedSize { cache.removeFirst() }
      }
    }
    return data
  }

  /// Returns the current content of an object's slot: a number, bytes, or null.
  func current(_ place: StoredLargeValue.Place) throws -> Slot {
    guard let pool, let table = schema?.tableIfStored(place.object.entity),
      let column = table.column(entity: place.object.entity, slot: place.slot)
    else {
      return .null
    }
    return try pool.withReader { connection in
      let statement = try connection.statement(sql: table.value(of: column))
      defer { statement.reset() }
      try statement.bind(1, place.object.key)
      return try statement.step() ? statement.slot(0) : .null
    }
  }

  // MARK: Writing

  func forget(_ ids: [Int64]) {
    if !ids.isEmpty { cache.withLock { cache in cache.removeAll { ids.contains($0.id) } } }
  }

  /// Acquires a share of the folder's lock.
  func beginWriting() throws {
    try writing.withLock { writing in
      if writing.count == 0 { writing.lock = try folder.lockForWriting() }
      writing.count += 1
    }
  }

  /// Releases a share of the lock and removes files, at once or later, see ``cleanUp(removing:)``.
  func endWriting(removing ids: [Int64]) {
    writing.withLock { writing in
      writing.count -= 1
      if writing.count == 0 { writing.lock = nil }
    }
    cleanUp(removing: ids)
  }

  /// Removes files. If another process is writing or copying, the last one to finish removes them, or the next opening.
  private func cleanUp(removing ids: [Int64]) {
    guard let lock = try? folder.lockForRemoving() else {
      if !ids.isEmpty { folder.requestSweep() }
      return
    }
    defer { withExtendedLifetime(lock) {} }
    if folder.needsSweep {
      _ = try? sweepLocked()
    } else {
      folder.removeFiles(ids)
      if waiting.withLock({ $0.ids.count >= Self.maximumWaitingCount || $0.size >= Self.maximumWaitingSize }) { removeWaitingLocked() }
      folder.clearPending()
    }
  }

  /// Removes files that were kept for snapshots. Called when no snapshot of older rows is left.
  func scheduleCleanup() {
    guard folder.needsSweep else { return }
    DispatchQueue.global(qos: .utility).async { [self] in cleanUp(removing: []) }
  }

  // MARK: Deferred removal

  /// Returns which of the files dropped by an unsynced commit can be removed now. Usually there are none, since they wait for a sync. The
  /// caller holds a share of the folder's lock.
  func removableAfterSync(_ ids: [Int64], size: Int) -> [Int64] {
    if ids.isEmpty { return [] }
    do {
      // Nothing refers to them after a migration.
      if isJoined {
        try folder.syncLog()
        return ids
      }
      // If the process ends first, the next opening removes them.
      try folder.beginDeferredRemoval(waitingName)
      waiting.withLock { waiting in
        waiting.ids += ids
        waiting.size += size
      }
    } catch {
      folder.requestSweep()
    }
    return []
  }

  /// Removes the waiting files after one sync for all of them. If another process is writing, the last one to finish removes them, or the
  /// next opening.
  func removeWaiting() {
    if waiting.withLock({ $0.ids.isEmpty }) { return }
    guard let lock = try? folder.lockForRemoving() else { return folder.requestSweep() }
    defer { withExtendedLifetime(lock) {} }
    removeWaitingLocked()
  }

  /// Removes the waiting files. The caller holds the lock.
  private func removeWaitingLocked() {
    // An unsynced log may be lost, so the files and their record remain.
    guard (try? folder.syncLog()) != nil else { return }
    waiting.withLock { waiting in
      folder.removeFiles(waiting.ids)
      waiting = ([], 0)
    }
    folder.endDeferredRemoval(waitingName)
  }

  /// Removes unreferenced files that a crashed process left. Does nothing while another process is writing.
  ///
  /// - Returns: The number of removed files, or `nil` while another process is writing.
  @discardableResult
  func sweep() throws -> Int? {
    guard let lock = try folder.lockForRemoving() else { return folder.exists ? nil : 0 }
    defer { withExtendedLifetime(lock) {} }
    return try sweepLocked()
  }

  private func sweepLocked() throws -> Int {
    guard let pool else { return 0 }
    // Read after taking the lock: every earlier writer has committed or failed.
    let ids = try pool.withReader { connection in try ExternalTable.ids(connection) }
    let count = try folder.sweep(keeping: ids)
    waiting.withLock { $0 = ([], 0) }
    return count
  }

  /// Returns a writer that collects a value in chunks, in a file that no row refers to yet.
  func makeWriter() throws -> ExternalDataWriter {
    if isReadOnly {
      throw StoreError(.readOnlyStore, operation: .writeLargeValue, path: folder.path)
    }
    return ExternalDataWriter(try PendingLargeValue(self))
  }
}
