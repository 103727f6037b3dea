import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreFiles
import StoreKeys

/// The files that one write transaction adds and drops: they are written before the commit and removed after it. Used only by the thread
/// that has the connection.
final class ExternalTransaction {
  let storage: ExternalStorage
  private unowned let connection: Connection
  private var writerLock: WriterLock?
  private var written: [Int64] = []
  /// The values that the store owns after the commit.
  private var taken: [(value: ExternalData, id: Int64, place: StoredLargeValue.Place)] = []
  private var adopted: [CompletedLargeValue] = []
  /// The numbers of the values that the commit drops, and their total size in bytes.
  private var removed: (ids: [Int64], size: Int) = ([], 0)
  /// Files that were written, but whose rows a savepoint rolled back.
  private var lost: [Int64] = []
  private var isPrepared = false
  /// The files that the function `cd_keep` wrote in the current statements, or `nil` if the function must leave values in their rows.
  private var unlisted: [(id: Int64, size: Int, digest: [UInt8])]?
  /// The error of the function. The statement's own error does not contain the cause.
  private var failure: (any Error)?

  init(storage: ExternalStorage, connection: Connection) {
    self.storage = storage
    self.connection = connection
  }

  private func lock() throws {
    if writerLock == nil { writerLock = try WriterLock(storage) }
  }

  /// Stores a value in a file, and returns its number.
  ///
  /// - Parameter storage: The storage of the row. In a migration, the older and the newer store have one each: the same location means
  ///   different values in the two.
  func keep(_ value: ExternalData, at place: StoredLargeValue.Place, in storage: ExternalStorage) throws -> Int64 {
    let content = value.content
    if let own = content as? StoredLargeValue, own.storage === storage, own.place == place, try isListed(own.id) { return own.id }
    if let finished = content as? CompletedLargeValue, finished.storage === storage, finished.adopt() {
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

  /// Makes the store the owner of the value at the commit. A migration transfers it at once, since it does not retain all written values
  /// until then.
  private func take(_ value: ExternalData, _ id: Int64, _ place: StoredLargeValue.Place, _ storage: ExternalStorage) {
    if storage.isJoined {
      value.replaceContent(StoredLargeValue(storage: storage, id: id, place: place))
    } else {
      taken.append((value, id, place))
    }
  }

  /// Stores the chunks of a value in a file, and returns its number.
  func keep(chunks next: () throws -> Data?) throws -> Int64 {
    try write { writer in
      while let chunk = try next() { try chunk.withUnsafeBytes { try writer.write($0) } }
    }
  }

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

  // MARK: Statements that store values

  /// Runs statements whose function `cd_keep` writes values to files. The files are listed in the table after the statements, because a
  /// function should not write rows while a statement runs.
  func keeping<Result>(_ body: () throws -> Result) throws -> Result {
    unlisted = []
    // An SQL function receives only its arguments, so the connection carries the transaction.
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

  /// Writes bytes to a file and returns its number, or `nil` if they stay in the row.
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

  // MARK: Completion

  /// Performs the last step before the commit: makes files durable, and removes unreferenced values from the table.
  func prepare() throws {
    if storage.isJoined, try !ExternalTable.exists(connection) { return }
    let statement = try connection.statement(.removedExternals)
    while try statement.step() {
      removed.ids.append(statement.int64(0))
      // The listed size is untrusted. A larger total would be synced at once anyway.
      removed.size += max(0, min(statement.int(1), ExternalStorage.maximumWaitingSize))
    }
    statement.reset()
    if !removed.ids.isEmpty {
      try lock()
      try connection.statement(.forgetting).run()
    }
    // A savepoint may have rolled back their entries in the table.
    for id in written where try !isListed(id) { lost.append(id) }
    for finished in adopted where try !isListed(finished.id) { lost.append(finished.id) }
    taken.removeAll { lost.contains($0.id) }
    if written.count + adopted.count > 0 { try storage.folder.sync() }
    isPrepared = true
  }

  func didCommit() {
    for (value, id, place) in taken { value.replaceContent(StoredLargeValue(storage: storage, id: id, place: place)) }
    storage.forget(removed.ids + lost)
    // Without a sync, a power failure can restore the rows, which need their files then.
    let isDurable = connection.options.durability == .full
    let gone = isDurable ? removed.ids : storage.removableAfterSync(removed.ids, size: removed.size)
    writerLock?.end(removing: gone + lost)
  }

  func didFail() {
    if isPrepared {
      // It is unknown whether the commit took effect. A sweep compares the files with the table.
      adopted = []
      if writerLock != nil { storage.folder.requestSweep() }
      writerLock?.end(removing: [])
      return
    }
    for finished in adopted { finished.release() }
    storage.folder.removeFiles(written)
    writerLock?.end(removing: [])
  }
}

// MARK: - The transaction's files

extension WriteTransaction {
  /// The files of large values that the transaction adds and drops, or `nil` if the store has no large values.
  var files: ExternalTransaction? { kept() }
}

/// The numbers of large values that one request wrote. A row that is written again keeps its numbers.
final class ExternalNumbers {
  private struct Key: Hashable {
    let row: UnsafeRawPointer
    let slot: Int
  }
  /// Holds the rows, so that no other row can reuse their address.
  private var numbers: [Key: (row: RowImage, id: Int64)] = [:]

  func id(of row: RowImage, _ slot: Int) -> Int64? { numbers.isEmpty ? nil : numbers[Key(row: row.base, slot: slot)]?.id }
  func record(_ id: Int64, of row: RowImage, _ slot: Int) { numbers[Key(row: row.base, slot: slot)] = (row, id) }
}

/// The SQL functions through which statements read and store large values.
enum ExternalFunctions {
  private static let unreadable = "the file of a large value cannot be read"

  static func register(on connection: Connection, folder: ExternalFolder) throws {
    connection.externalFolder = folder
    try connection.registerFunction(name: SQLFunctions.keep, argumentCount: 1, deterministic: false) {
      [attachment = connection.attachment] call in
      guard call.type(0) == .blob, let transaction = attachment.object as? ExternalTransaction else {
        return call.setResult(argument: 0)
      }
      do {
        if let id = try transaction.numberInStatement(call.blob(0)) { call.setResult(id) } else { call.setResult(argument: 0) }
      } catch {
        call.setError("a large value cannot be kept")
      }
    }
    try connection.registerFunction(name: SQLFunctions.data, argumentCount: 1, deterministic: false) { call in
      guard call.type(0) == .integer else { return call.setResult(argument: 0) }
      do {
        let reader = try folder.openFile(id: call.int64(0))
        var data = Data(capacity: reader.count)
        while let chunk = try reader.next() { data.append(chunk) }
        data.withUnsafeBytes { call.setResult(blob: $0) }
      } catch let error as StoreAccessError {
        if error.kind == .outOfMemory { return call.setOutOfMemory() }
        call.setFailure(error.kind == .externalDataMissing ? .externalMissing : .externalDamaged, unreadable)
      } catch {
        call.setFailure(.externalDamaged, unreadable)
      }
    }
  }
}
