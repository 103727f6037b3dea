// StoredExternal, StagedExternal: a large value in a file of the store: one that a row refers to, and one that waits for its save.
import Foundation
import ObjectModel
import ObjectStore
import StoreFiles
import StoreKeys
import Synchronization

/// A large value that a row refers to.
struct StoredExternal: ExternalContent {
  /// Where the number was read.
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
    guard let other = other as? StoredExternal else { return false }
    return other.storage === storage && other.id == id
  }

  /// Reads the file. Where it is gone, the value was replaced since its row was read, and what stands there now is read.
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

/// A large value in a store that has no list of such: reading it is an error.
struct UnknownExternal: ExternalContent {
  var count: Int { get throws { throw failure } }
  func makeReader() throws -> ExternalDataReader { throw failure }

  private var failure: StoreError {
    StoreError(.noListOfLargeValues, operation: .readLargeValue)
  }
}

/// A large value in a file that no row refers to yet: written piece by piece, saved with an object, or removed.
///
/// The lock that it holds keeps others from taking its file for an orphan.
final class StagedExternal: ExternalDataSink {
  private let storage: ExternalStorage
  private let hold: WritingHold
  private let writer: ExternalFileWriter

  init(_ storage: ExternalStorage) throws {
    self.storage = storage
    (hold, writer) = try StoreError.mapping {
      let hold = try WritingHold(storage)
      return (hold, try storage.folder.makeFile())
    }
  }

  func write(_ bytes: Data) throws {
    try StoreError.mapping { try bytes.withUnsafeBytes { try writer.write($0) } }
  }

  func finish() throws -> any ExternalContent {
    try StoreError.mapping {
      let digest = try writer.finish()
      return FinishedExternal(storage: storage, hold: hold, id: writer.id, size: writer.count, digest: digest)
    }
  }
}

/// What a `StagedExternal` became: complete and durable, but for its folder's entry.
final class FinishedExternal: ExternalContent {
  let storage: ExternalStorage
  private let hold: WritingHold
  let id: Int64
  let size: Int
  let digest: [UInt8]
  private let isAdopted = Mutex(false)

  init(storage: ExternalStorage, hold: WritingHold, id: Int64, size: Int, digest: [UInt8]) {
    self.storage = storage
    self.hold = hold
    self.id = id
    self.size = size
    self.digest = digest
  }

  deinit {
    if !isAdopted.withLock({ $0 }) { storage.folder.removeFiles([id]) }
  }

  /// The file is a row's: true for the first who asks.
  func adopt() -> Bool {
    isAdopted.withLock { isAdopted in
      defer { isAdopted = true }
      return !isAdopted
    }
  }

  /// The row was not saved.
  func release() { isAdopted.withLock { $0 = false } }

  var count: Int { size }
  func data() throws -> Data { try StoreError.mapping { try storage.data(id) } }
  func makeReader() throws -> ExternalDataReader {
    let reader = try StoreError.mapping { try storage.folder.openFile(id: id) }
    return ExternalDataReader { try StoreError.mapping { try reader.next() } }
  }
  func isSame(as other: any ExternalContent) -> Bool { other as? FinishedExternal === self }
}

/// The part that somebody who writes files has in the lock of the open store; the last to let go clears up.
final class WritingHold: Sendable {
  private let storage: ExternalStorage
  private let isHeld = Mutex(true)

  init(_ storage: ExternalStorage) throws {
    try storage.beginWriting()
    self.storage = storage
  }

  deinit { end(removing: []) }

  /// Gives the part back, and removes files if nobody else writes.
  func end(removing ids: [Int64]) {
    let isFirst = isHeld.withLock { isHeld in
      defer { isHeld = false }
      return isHeld
    }
    if isFirst { storage.endWriting(removing: ids) }
  }
}
