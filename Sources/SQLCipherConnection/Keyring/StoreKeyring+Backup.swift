import Foundation
package import StoreFiles
package import StoreKeys

extension StoreKeyring {
  /// Copies one snapshot of the store while it is in use, with the same keys and slots.
  ///
  /// Existing files are not overwritten. After a crash there is either no copy or a complete one.
  ///
  /// - Parameter largeValues: Returns the IDs of the large values, whose files are copied too.
  package func backUp(
    to path: String, largeValues: @escaping LargeValueList, options: ConnectionOptions = ConnectionOptions(),
    progress: ProgressHandler? = nil
  ) async throws {
    let target = try StoreFile.absolutePath(path)
    try await Self.runInBackground {
      try self.withDatabaseKey(options: options) { key in
        let contents = StoreContents.copy(of: self.storePath, key: key, largeValues: largeValues)
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
  ///   - onOpen: Registers what the schema needs. Called only if the copy has another page format.
  package func backUp(
    to path: String, key: StoreKey, label: String = "", largeValues: @escaping LargeValueList, workLimit: KeyWorkLimit? = nil,
    options: ConnectionOptions = ConnectionOptions(), onOpen: @escaping @Sendable (Connection) throws -> Void = { _ in },
    progress: ProgressHandler? = nil
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
          contents: .copy(of: storePath, key: source, largeValues: largeValues), onOpen: onOpen, progress: progress)
      } catch let error as StoreAccessError where [.exchanged, .keyFileOutdated].contains(error.kind) && attempts < 3 {
        attempts += 1
      }
    }
  }
}
