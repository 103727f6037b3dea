// ExternalTransaction: the large values that a write transaction adds and lets go of: files before the commit, removals after it.
import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreFiles

/// What happens to files in one write transaction. Used by the thread that has the connection.
final class ExternalTransaction {
  let storage: ExternalStorage
  private unowned let connection: Connection
  private var hold: WritingHold?
  /// The files written here.
  private var written: [Int64] = []
  /// The values that become the store's own with the commit.
  private var taken: [(value: ExternalData, id: Int64, place: StoredExternal.Place)] = []
  private var adopted: [FinishedExternal] = []
  /// The values that the commit lets go of, and their bytes.
  private var removed: (ids: [Int64], size: Int) = ([], 0)
  /// Files that were written, and whose rows a savepoint took back.
  private var lost: [Int64] = []
  private var isPrepared = false
  /// What the function `cd_keep` has written in the statements under way; nil where nobody lists it afterwards.
  private var unlisted: [(id: Int64, size: Int, digest: [UInt8])]?
  /// Why the function failed: a statement's error says no more than that it did.
  private var failure: (any Error)?

  init(storage: ExternalStorage, connection: Connection) {
    self.storage = storage
    self.connection = connection
  }

  private func lock() throws {
    if hold == nil { hold = try WritingHold(storage) }
  }

  /// Keeps a value in a file, and gives its number.
  ///
  /// - Parameter storage: The store of the row. In a migration the older and the newer store have one of their own each: a value of one place is no value of
  ///   the same place in the other.
  func keep(_ value: ExternalData, at place: StoredExternal.Place, in storage: ExternalStorage) throws -> Int64 {
    let content = value.content
    if let own = content as? StoredExternal, own.storage === storage, own.place == place, try isListed(own.id) { return own.id }
    if let finished = content as? FinishedExternal, finished.storage === storage, finished.adopt() {
      adopted.append(finished)
      try list(finished.id, size: finished.size, digest: finished.digest)
      take(value, finished.id, place, storage)
      return finished.id
    }
    let reader = try value.makeReader()
    let id = try keep { try reader.next() }
    take(value, id, place, storage)
    return id
  }

  /// The value is the store's own from the commit on. A migration does not keep all that it has written until then.
  private func take(_ value: ExternalData, _ id: Int64, _ place: StoredExternal.Place, _ storage: ExternalStorage) {
    if storage.isJoined {
      value.replaceContent(StoredExternal(storage: storage, id: id, place: place))
    } else {
      taken.append((value, id, place))
    }
  }

  /// Keeps the pieces of a value in a file, and gives its number.
  func keep(pieces next: () throws -> Data?) throws -> Int64 {
    try write { writer in
      while let piece = try next() { try piece.withUnsafeBytes { try writer.write($0) } }
    }
  }

  /// Keeps bytes in a file, and gives its number.
  func keep(_ bytes: UnsafeRawBufferPointer) throws -> Int64 { try write { try $0.write(bytes) } }

  private func write(_ fill: (ExternalFileWriter) throws -> Void) throws -> Int64 {
    let file = try writeFile(fill)
    try list(file.id, size: file.size, digest: file.digest)
    return file.id
  }

  private func writeFile(_ fill: (ExternalFileWriter) throws -> Void) throws -> (id: Int64, size: Int, digest: [UInt8]) {
    try lock()
    let writer = try storage.folder.makeFile()
    try fill(writer)
    let digest = try writer.finish()
    written.append(writer.id)
    return (writer.id, writer.count, digest)
  }

  private func list(_ id: Int64, size: Int, digest: [UInt8]) throws {
    try lock()
    let statement = try connection.statement(.listing)
    try statement.bind(1, id)
    try statement.bind(2, size)
    try statement.bind(3, Data(digest))
    try statement.run()
  }

  private func isListed(_ id: Int64) throws -> Bool {
    let statement = try connection.statement(.isUsed)
    defer { statement.reset() }
    try statement.bind(1, id)
    return try statement.step()
  }

  // MARK: Statements that keep values

  /// Runs statements whose function `cd_keep` puts values into files. A function had better not write rows while a statement does, so the files are listed
  /// here, after them.
  func keeping<Result>(_ body: () throws -> Result) throws -> Result {
    unlisted = []
    // A function of SQL is told nothing but its arguments.
    connection.attachment.object = self
    defer {
      connection.attachment.object = nil
      unlisted = nil
      failure = nil
    }
    let result: Result
    do { result = try body() } catch { throw failure ?? error }
    for file in unlisted ?? [] { try list(file.id, size: file.size, digest: file.digest) }
    return result
  }

  /// The number of the file that bytes are put into; nil where they stay in the row.
  func numberInStatement(_ bytes: UnsafeRawBufferPointer) throws -> Int64? {
    guard unlisted != nil, bytes.count >= storage.threshold else { return nil }
    do {
      let file = try writeFile { try $0.write(bytes) }
      unlisted?.append(file)
      return file.id
    } catch {
      failure = error
      throw error
    }
  }

  // MARK: The end

  /// The last step before the commit: files are durable, and values that no row has any more leave the list.
  func prepare() throws {
    if storage.isJoined, try !ExternalTable.exists(connection) { return }
    let statement = try connection.statement(.removedExternals)
    while try statement.step() {
      removed.ids.append(statement.int64(0))
      // What the list says may be anything; more than that waits for no sync.
      removed.size += max(0, min(statement.int(1), ExternalStorage.greatestWaitingSize))
    }
    statement.reset()
    if !removed.ids.isEmpty {
      try lock()
      try connection.statement(.forgetting).run()
    }
    // A savepoint may have taken back what listed them.
    for id in written where try !isListed(id) { lost.append(id) }
    for finished in adopted where try !isListed(finished.id) { lost.append(finished.id) }
    taken.removeAll { lost.contains($0.id) }
    if written.count + adopted.count > 0 { try storage.folder.sync() }
    isPrepared = true
  }

  func didCommit() {
    for (value, id, place) in taken { value.replaceContent(StoredExternal(storage: storage, id: id, place: place)) }
    storage.forget(removed.ids + lost)
    // Without a sync a power cut may bring back the rows: then their files have to be there.
    let isDurable = connection.options.durability == .full
    let gone = isDurable ? removed.ids : storage.removableAfterSync(removed.ids, size: removed.size)
    hold?.end(removing: gone + lost)
  }

  func didFail() {
    if isPrepared {
      // Nobody knows whether the commit took effect: what to keep is found out by comparing with the table.
      adopted = []
      if hold != nil { storage.folder.requestSweep() }
      hold?.end(removing: [])
      return
    }
    for finished in adopted { finished.release() }
    storage.folder.removeFiles(written)
    hold?.end(removing: [])
  }
}
