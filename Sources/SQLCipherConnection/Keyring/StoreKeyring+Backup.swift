import Foundation
package import StoreFiles
package import StoreKeys

extension StoreKeyring {
  /// Copies one snapshot of the store while it is in use, with the same keys and slots.
  ///
  /// Existing files are not overwritten. After a crash there is either no copy or a complete one.
  ///
  /// - Parameters:
  ///   - largeValues: Returns the IDs of the large values, whose files are copied too.
  ///   - completion: Changes the copy before it gets its final name.
  package func backUp(
    to path: String, largeValues: @escaping LargeValueList, completion: @escaping CopyCompletion = { _ in },
    options: ConnectionOptions = ConnectionOptions(), progress: ProgressHandler? = nil
  ) async throws {
    let target = try StoreFile.absolutePath(path)
    try await Self.runInBackground {
      try self.withDatabaseKey(options: options) { key in
        let contents = StoreContents.copy(of: self.storePath, key: key, largeValues: largeValues, completion: completion)
        guard self.hasSlots else {
          return try Self.createKeyless(target, contents) {
            try Connection.prepare(path: target, key: key, options: options, contents: contents, progress: progress)
          }
        }
        let keyFile = try KeyFileStorage.read(self.keyFilePath)
        guard try KeyFile(parsing: keyFile, path: self.keyFilePath).generations.contains(where: { $0.salt == key.salt }) else {
          throw StoreAccessError(.exchanged, path: self.keyFilePath, operation: .backUp)
        }
        try Self.createStore(target, keyFile: keyFile) {
          try Connection.prepare(path: target, key: key, options: options, contents: contents, progress: progress)
        }
      }
    }
  }

  /// Copies one snapshot of the store while it is in use, with another key. The copy has its own data key and one slot.
  ///
  /// - Parameters:
  ///   - largeValues: Returns the IDs of the large values, whose files are copied too.
  ///   - completion: Changes the copy before it gets its final name.
  ///   - onOpen: Registers what the schema needs. Called only if the copy has another page format.
  package func backUp(
    to path: String, key: StoreKey, label: String = "", largeValues: @escaping LargeValueList,
    completion: @escaping CopyCompletion = { _ in }, workLimit: KeyWorkLimit? = nil, options: ConnectionOptions = ConnectionOptions(),
    onOpen: @escaping @Sendable (Connection) throws -> Void = { _ in }, progress: ProgressHandler? = nil
  ) async throws -> StoreKeyring {
    var attempts = 0
    while true {
      let source = try await Self.runInBackground {
        try self.withDatabaseKey(options: options) { key in
          try Connection.reading(self.storePath, key: key, options: options).close()
          return key
        }
      }
      do {
        return try await Self.create(
          storePath: path, key: key, label: label, format: source.format, workLimit: workLimit ?? self.workLimit, options: options,
          contents: .copy(of: storePath, key: source, largeValues: largeValues, completion: completion), onOpen: onOpen, progress: progress)
      } catch let error as StoreAccessError where [.exchanged, .keyFileOutdated].contains(error.kind) && attempts < 3 {
        attempts += 1
      }
    }
  }
}

// MARK: - Verifying copies

extension StoreKeyring {
  /// Returns whether a file equals the result of ``backUp(to:largeValues:completion:options:progress:)`` at this moment: a complete store with the
  /// same keys, pages and large values.
  ///
  /// Decrypts and compares every page of both files, and authenticates every large value of the copy. Nothing is written, with one
  /// exception: if the process that made the copy was killed before the last step, the copy's key file gets its final name.
  ///
  /// - Parameters:
  ///   - largeValues: Returns the IDs of the large values.
  ///   - ownPages: Returns the numbers of the pages that the completion of a copy changes. They are not compared.
  /// - Returns: Whether the file is such a copy; also false if it cannot be read.
  /// - Throws: `.cancelled` if `progress` cancels.
  package func isCopied(
    at path: String, largeValues: @escaping LargeValueList, ownPages: @escaping @Sendable (Connection) throws -> Set<Int> = { _ in [] },
    options: ConnectionOptions = ConnectionOptions(),
    progress: ProgressHandler? = nil
  ) async throws -> Bool {
    let target = try StoreFile.absolutePath(path)
    guard StoreFile.exists(target), target != storePath else { return false }
    return try await Self.runInBackground {
      var options = options
      options.isReadOnly = true
      do {
        return try self.withDatabaseKey(options: options) { key in
          guard try self.hasSameKeys(target) else { return false }
          return try self.hasSamePages(target, key, largeValues, ownPages, options, progress)
        }
      } catch let error as StoreAccessError where error.kind != .cancelled {
        return false
      }
    }
  }

  /// Returns whether the copy's key file equals that of the store. A store without a key file requires a copy without one.
  private func hasSameKeys(_ target: String) throws -> Bool {
    let (keyPath, pending) = (KeyFileStorage.path(for: target), KeyFileStorage.pendingPath(for: target))
    guard hasSlots else { return !StoreFile.exists(keyPath) }
    let expected = try KeyFileStorage.read(keyFilePath)
    if StoreFile.exists(keyPath) { return try KeyFileStorage.read(keyPath) == expected }
    guard StoreFile.exists(pending) else { return false }
    // A copy in progress holds this lock.
    return try KeyFileStorage.withLock(for: keyPath) {
      guard !StoreFile.exists(keyPath), try KeyFileStorage.read(pending) == expected else { return false }
      try Self.adopt(pending, for: target)
      return true
    }
  }

  private func hasSamePages(
    _ target: String, _ key: DatabaseKey, _ largeValues: LargeValueList, _ ownPages: (Connection) throws -> Set<Int>,
    _ options: ConnectionOptions, _ progress: ProgressHandler?
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
        let ownPages = try ownPages(source)
        let skipped = (1 << 30) / key.format.pageSize + 1
        for number in 1...count where number != skipped {
          if let progress, number % 512 == 0, !progress(number, count) {
            throw StoreAccessError(.cancelled, path: storePath, operation: .backUp)
          }
          let (first, second) = try (pages.0.page(UInt32(number)), pages.1.page(UInt32(number)))
          guard Self.isSame(first, second, number, key.format) || ownPages.contains(number) else { return false }
        }
        return try hasLargeValues(largeValues(source), target, key)
      }
    }
  }

  /// Returns whether two pages have the same contents. The comparison of the first page skips the fields that SQLite changes when it writes
  /// a copy: the journal mode, the change and schema counters, and its own version.
  private static func isSame(_ first: [UInt8], _ second: [UInt8], _ number: Int, _ format: SQLCipherFormat) -> Bool {
    let end = format.pageSize - format.reservedBytes
    guard number == 1 else { return first[..<end] == second[..<end] }
    let own = [0..<DatabaseKey.saltSize, 18..<20, 24..<28, 40..<44, 92..<100]
    return (0..<end).allSatisfy { index in first[index] == second[index] || own.contains { $0.contains(index) } }
  }

  /// Returns whether the copy has the files of all large values. Each is authenticated for its ID, and an ID is never reused for another
  /// value.
  private func hasLargeValues(_ ids: [Int64], _ target: String, _ key: DatabaseKey) throws -> Bool {
    if ids.isEmpty { return true }
    let folder = try ExternalFolder(storePath: target, key: key)
    for id in ids { try folder.openFile(id: id).verify() }
    return true
  }
}
