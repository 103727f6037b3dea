// StoreKeyring+CopyCheck: whether a file is a complete copy of the store as the store is now.

import Foundation
package import StoreFiles
import StoreKeys

extension StoreKeyring {
  /// Whether a file is what ``backUp(to:largeValues:options:progress:)`` would write now: a complete store with the same keys, pages and large values.
  ///
  /// Every page of both files is decrypted and compared, and every large value of the copy is authenticated. Nothing is written, but that a copy whose maker was
  /// killed before the last step gets the name of its key file.
  ///
  /// - Parameter largeValues: The numbers of the large values.
  /// - Returns: False also where the file cannot be read.
  /// - Throws: `.cancelled` where `progress` says so.
  package func isCopied(
    at path: String, largeValues: @escaping LargeValueList, options: ConnectionOptions = ConnectionOptions(),
    progress: ProgressHandler? = nil
  ) async throws -> Bool {
    let target = try StoreFile.absolutePath(path)
    guard StoreFile.exists(target), target != storePath else { return false }
    return try await Self.offActor {
      var options = options
      options.isReadOnly = true
      do {
        return try self.withDatabaseKey(options: options) { key in
          guard try self.hasSameKeys(target) else { return false }
          return try self.hasSamePages(target, key, largeValues, options, progress)
        }
      } catch let error as StoreAccessError where error.kind != .cancelled {
        return false
      }
    }
  }

  /// Whether the copy's key file is that of the store; a store without one has a copy without one.
  private func hasSameKeys(_ target: String) throws -> Bool {
    let (keyPath, pending) = (KeyFileStorage.path(for: target), KeyFileStorage.pendingPath(for: target))
    guard hasSlots else { return !StoreFile.exists(keyPath) }
    let expected = try KeyFileStorage.read(keyFilePath)
    if StoreFile.exists(keyPath) { return try KeyFileStorage.read(keyPath) == expected }
    guard StoreFile.exists(pending) else { return false }
    // The maker of a copy that is being made has the lock.
    return try KeyFileStorage.withLock(for: keyPath) {
      guard !StoreFile.exists(keyPath), try KeyFileStorage.read(pending) == expected else { return false }
      try Self.adopt(pending, for: target)
      return true
    }
  }

  private func hasSamePages(
    _ target: String, _ key: DatabaseKey, _ largeValues: LargeValueList, _ options: ConnectionOptions, _ progress: ProgressHandler?
  ) throws -> Bool {
    let source = try Connection.reading(storePath, key: key, options: options)
    defer { source.close() }
    let copy = try Connection.reading(target, key: key, options: options)
    defer { copy.close() }
    return try source.readTransaction {
      try copy.readTransaction {
        let count = try source.allPages()
        guard try copy.allPages() == count else { return false }
        let pages = try (FreePages.PageReader(path: storePath, key: key), FreePages.PageReader(path: target, key: key))
        let skipped = (1 << 30) / key.format.pageSize + 1
        for number in 1...count where number != skipped {
          if let progress, number % 512 == 0, !progress(number, count) {
            throw StoreAccessError(.cancelled, path: storePath, operation: .backUp)
          }
          let (first, second) = try (pages.0.page(UInt32(number)), pages.1.page(UInt32(number)))
          guard Self.isSame(first, second, number, key.format) else { return false }
        }
        return try hasLargeValues(largeValues(source), target, key)
      }
    }
  }

  /// Whether two pages hold the same. Of the first page those numbers are left out that SQLite changes as it writes a copy: the journal mode, the counters of changes
  /// and of schemas, and its own version.
  private static func isSame(_ first: [UInt8], _ second: [UInt8], _ number: Int, _ format: SQLCipherFormat) -> Bool {
    let end = format.pageSize - format.reservedBytes
    guard number == 1 else { return first[..<end] == second[..<end] }
    let own = [0..<DatabaseKey.saltSize, 18..<20, 24..<28, 40..<44, 92..<100]
    return (0..<end).allSatisfy { index in first[index] == second[index] || own.contains { $0.contains(index) } }
  }

  /// Whether the copy has the files of all large values. Each is authentic for its number, and a number never gets another value.
  private func hasLargeValues(_ ids: [Int64], _ target: String, _ key: DatabaseKey) throws -> Bool {
    if ids.isEmpty { return true }
    let folder = try ExternalFolder(storePath: target, key: key)
    for id in ids { try folder.openFile(id: id).verify() }
    return true
  }
}
