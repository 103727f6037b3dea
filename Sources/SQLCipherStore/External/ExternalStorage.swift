// ExternalStorage: the large values of an open store: reads their files, and removes what no row refers to.
import Dispatch
import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreFiles
import Synchronization

/// The files of an open store's large values.
///
/// A row holds a value's number, an INTEGER where values inside rows are BLOBs; `cipherdata_external` lists the numbers. A file is written before the
/// transaction that refers to it commits, and removed after the one that lets go of it: what a crash leaves is a file that nothing refers to, which the
/// next opening finds.
final class ExternalStorage: Sendable {
  /// Values up to this size may be kept in memory once they were read, all together in no more than twice of it.
  static let greatestCachedSize = 4 << 20
  /// Values of fewer bytes stay in their rows unless a description says otherwise.
  static let standardThreshold = 131_072
  /// As many files, or bytes of values, wait for a sync at most.
  static let greatestWaitingCount = 64
  static let greatestWaitingSize = 64 << 20

  let folder: ExternalFolder
  /// Values of fewer bytes stay in their rows.
  let threshold: Int
  let isReadOnly: Bool
  /// None where only the files can be asked, inside somebody else's transaction.
  private let pool: ConnectionPool?
  private let schema: StoreSchema?
  private let cache = Mutex<[(id: Int64, data: Data)]>([])
  /// The folder's lock, and how many write under it: thousands of values that wait for a save have one descriptor together.
  private let writing = Mutex<(lock: ExternalFolder.Lock?, count: Int)>((nil, 0))

  /// The files that commits have let go of which may not be on the disk yet; one sync does for all.
  private let waiting = Mutex<(ids: [Int64], size: Int)>(([], 0))
  private let waitingName = UUID().uuidString

  init(folder: ExternalFolder, pool: ConnectionPool?, schema: StoreSchema?, threshold: Int, isReadOnly: Bool) {
    self.folder = folder
    self.pool = pool
    self.schema = schema
    self.threshold = max(1, threshold)
    self.isReadOnly = isReadOnly
  }

  /// The large values of a transaction that somebody has on a connection, as a migration does. None of them is asked for where it stands now: nobody else
  /// writes meanwhile.
  convenience init?(joining connection: Connection, threshold: Int) {
    guard let folder = connection.externalFolder else { return nil }
    self.init(folder: folder, pool: nil, schema: nil, threshold: threshold, isReadOnly: false)
  }

  /// Whether the values are those of one long transaction, after which nobody asks for them here.
  var isJoined: Bool { pool == nil }

  // MARK: Reading

  /// The value of a number that was read in a row.
  func value(_ id: Int64, at place: StoredExternal.Place) -> ExternalData {
    ExternalData(content: StoredExternal(storage: self, id: id, place: place))
  }

  /// All bytes of a file.
  func data(_ id: Int64) throws -> Data {
    if let known = cache.withLock({ $0.first { $0.id == id }?.data }) { return known }
    let reader = try folder.openFile(id: id)
    var data = Data(capacity: reader.count)
    while let piece = try reader.next() { data.append(piece) }
    if data.count <= Self.greatestCachedSize {
      cache.withLock { [data] cache in
        cache.append((id, data))
        while cache.reduce(0, { $0 + $1.data.count }) > 2 * Self.greatestCachedSize { cache.removeFirst() }
      }
    }
    return data
  }

  /// What stands at a place now: a number, bytes, or nothing.
  func current(_ place: StoredExternal.Place) throws -> Slot {
    guard let pool, let table = schema?.tableIfHeld(place.object.entity),
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

  /// Takes part in the folder's lock.
  func beginWriting() throws {
    try writing.withLock { writing in
      if writing.count == 0 { writing.lock = try folder.lockForWriting() }
      writing.count += 1
    }
  }

  /// Lets go of a part in the lock, and removes files; with the last part, or later, see ``tidy(removing:)``.
  func endWriting(removing ids: [Int64]) {
    writing.withLock { writing in
      writing.count -= 1
      if writing.count == 0 { writing.lock = nil }
    }
    tidy(removing: ids)
  }

  /// Ends some writing: removes files, unless somebody else is writing or copying; then the last of them does, or the next opening.
  private func tidy(removing ids: [Int64]) {
    guard let lock = try? folder.lockForRemoving() else {
      if !ids.isEmpty { folder.requestSweep() }
      return
    }
    defer { withExtendedLifetime(lock) {} }
    if folder.needsSweep {
      _ = try? sweepLocked()
    } else {
      folder.removeFiles(ids)
      if waiting.withLock({ $0.ids.count >= Self.greatestWaitingCount || $0.size >= Self.greatestWaitingSize }) { removeWaitingLocked() }
      folder.clearPending()
    }
  }

  /// Nobody reads older rows any more: files that stayed for them are removed.
  func tidySoon() {
    guard folder.needsSweep else { return }
    DispatchQueue.global(qos: .utility).async { [self] in tidy(removing: []) }
  }

  // MARK: Waiting

  /// What may be removed now of the files that a commit without a sync has let go of: none as a rule, they wait for a sync. The caller takes part in the
  /// folder's lock.
  func removableAfterSync(_ ids: [Int64], size: Int) -> [Int64] {
    if ids.isEmpty { return [] }
    do {
      // After a migration nobody comes back to them.
      if isJoined {
        try folder.syncLog()
        return ids
      }
      // Should the process end before, the next opening removes them.
      try folder.beginWaiting(waitingName)
      waiting.withLock { waiting in
        waiting.ids += ids
        waiting.size += size
      }
    } catch {
      folder.requestSweep()
    }
    return []
  }

  /// Removes the files that wait, after a sync for all of them. Where somebody is writing, the last one to end does it, or the next opening.
  func removeWaiting() {
    if waiting.withLock({ $0.ids.isEmpty }) { return }
    guard let lock = try? folder.lockForRemoving() else { return folder.requestSweep() }
    defer { withExtendedLifetime(lock) {} }
    removeWaitingLocked()
  }

  /// The same for who has the lock.
  private func removeWaitingLocked() {
    // A log that cannot be synced may be lost: the files stay, and their note too.
    guard (try? folder.syncLog()) != nil else { return }
    waiting.withLock { waiting in
      folder.removeFiles(waiting.ids)
      waiting = ([], 0)
    }
    folder.endWaiting(waitingName)
  }

  /// Removes the files that no row refers to, left by a process that died. Nothing happens while somebody is writing.
  ///
  /// - Returns: How many files were removed; nil where somebody is writing.
  @discardableResult
  func sweep() throws -> Int? {
    guard let lock = try folder.lockForRemoving() else { return folder.exists ? nil : 0 }
    defer { withExtendedLifetime(lock) {} }
    return try sweepLocked()
  }

  private func sweepLocked() throws -> Int {
    guard let pool else { return 0 }
    // Read after the lock was taken: whoever wrote before has committed or failed.
    let ids = try pool.withReader { connection in try ExternalTable.ids(connection) }
    let count = try folder.sweep(keeping: ids)
    waiting.withLock { $0 = ([], 0) }
    return count
  }

  /// Collects a value that comes in pieces in a file that is no row's yet.
  func makeWriter() throws -> ExternalDataWriter {
    if isReadOnly {
      throw StoreError(.readOnlyStore, operation: .writeLargeValue, path: folder.path)
    }
    return ExternalDataWriter(try StagedExternal(self))
  }
}
