import Foundation
import ObjectModel
import ObjectStore
import StoreFiles
import StoreKeys
import Synchronization

/// A large value in a file that a row refers to.
struct StoredLargeValue: ExternalContent {
  /// The object and slot where the number was read.
  struct Place: Sendable, Hashable {
    let object: ObjectReference
    let slot: Int
  }

  let storage: ExternalStorage
  let id: Int64
  let place: Place

  var count: Int { get throws { try read({ try storage.folder.openFile(id: $0).count }, inside: { $0.count }) } }

  func data() throws -> Data { try read({ try storage.data($0) }, inside: { $0 }) }

  func makeReader() throws -> ExternalDataReader {
    try read(
      { id in
        let reader = try storage.folder.openFile(id: id)
        return ExternalDataReader { try StoreError.mapping { try reader.next() } }
      }, inside: { ExternalBytes($0).makeReader() })
  }

  func isSame(as other: any ExternalContent) -> Bool {
    guard let other = other as? StoredLargeValue else { return false }
    return other.storage === storage && other.id == id
  }

  /// Reads the file. If it is missing, the value was replaced after its row was read, and the current value is read instead.
  private func read<Result>(_ file: (Int64) throws -> Result, inside: (Data) throws -> Result) throws -> Result {
    try StoreError.mapping {
      var id = id
      while true {
        do {
          return try file(id)
        } catch let error as StoreAccessError where error.kind == .externalDataMissing {
          switch try storage.current(place) {
          case .int(let now) where now != id: id = now
          case .bytes(let data): return try inside(data)
          default: throw error
          }
        }
      }
    }
  }
}

/// A large value in a store without a table of large values. Reading it throws.
struct UnlistedLargeValue: ExternalContent {
  var count: Int { get throws { throw failure } }
  func makeReader() throws -> ExternalDataReader { throw failure }

  private var failure: StoreError {
    StoreError(.noListOfLargeValues, operation: .readLargeValue)
  }
}

/// A large value in a file that no row refers to yet. It is written in chunks, and then saved with an object or removed.
///
/// Its lock prevents others from removing the file as unreferenced.
final class PendingLargeValue: ExternalDataSink {
  private let storage: ExternalStorage
  private let writerLock: WriterLock
  private let writer: ExternalFileWriter

  init(_ storage: ExternalStorage) throws {
    self.storage = storage
    (writerLock, writer) = try StoreError.mapping {
      let writerLock = try WriterLock(storage)
      return (writerLock, try storage.folder.makeFile())
    }
  }

  func write(_ bytes: Data) throws {
    try StoreError.mapping { try bytes.withUnsafeBytes { try writer.write($0) } }
  }

  func finish() throws -> any ExternalContent {
    try StoreError.mapping {
      let digest = try writer.finish()
      return CompletedLargeValue(storage: storage, writerLock: writerLock, id: writer.id, size: writer.count, digest: digest)
    }
  }
}

/// The completed file of a `PendingLargeValue`. It is durable except for its directory entry.
final class CompletedLargeValue: ExternalContent {
  let storage: ExternalStorage
  private let writerLock: WriterLock
  let id: Int64
  let size: Int
  let digest: [UInt8]
  private let isAdopted = Mutex(false)

  init(storage: ExternalStorage, writerLock: WriterLock, id: Int64, size: Int, digest: [UInt8]) {
    self.storage = storage
    self.writerLock = writerLock
    self.id = id
    self.size = size
    self.digest = digest
  }

  deinit {
    if !isAdopted.withLock({ $0 }) { storage.folder.removeFiles([id]) }
  }

  /// Marks the file as referenced by a row.
  ///
  /// - Returns: `true` for the first caller only.
  func adopt() -> Bool {
    isAdopted.withLock { isAdopted in
      defer { isAdopted = true }
      return !isAdopted
    }
  }

  /// Marks the file as unreferenced again, because its row was not saved.
  func release() { isAdopted.withLock { $0 = false } }

  var count: Int { size }
  func data() throws -> Data { try StoreError.mapping { try storage.data(id) } }
  func makeReader() throws -> ExternalDataReader {
    let reader = try StoreError.mapping { try storage.folder.openFile(id: id) }
    return ExternalDataReader { try StoreError.mapping { try reader.next() } }
  }
  func isSame(as other: any ExternalContent) -> Bool { other as? CompletedLargeValue === self }
}

/// A writer's share of the lock on the folder of large values. The release of the last share removes files.
final class WriterLock: Sendable {
  private let storage: ExternalStorage
  private let isHeld = Mutex(true)

  init(_ storage: ExternalStorage) throws {
    try storage.beginWriting()
    self.storage = storage
  }

  deinit { end(removing: []) }

  /// Releases the share, and removes files if nothing else writes. Only the first call has an effect.
  func end(removing ids: [Int64]) {
    let isFirst = isHeld.withLock { isHeld in
      defer { isHeld = false }
      return isHeld
    }
    if isFirst { storage.endWriting(removing: ids) }
  }
}
