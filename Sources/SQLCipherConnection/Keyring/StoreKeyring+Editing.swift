// Edits slots, recovery keys and backups of the key file. The database is not changed.

// The current key of the database, which another process may rotate, or whose store it may replace, between any two reads.

package import Foundation
import StoreFiles
package import StoreKeys
import Synchronization

extension StoreKeyring {
  /// Adds a slot for a key.
  package func addSlot(_ key: StoreKey, label: String = "") async throws -> KeySlot {
    let (secret, kind, kdf) = try await key.newSecret(request())
    return try await Self.runInBackground { try self.add(secret, kind: kind, label: label, kdf: kdf) }
  }

  /// Adds a slot for a new random key, and returns the key as text to print and store safely.
  package func addRecoveryKey(label: String = "Recovery key") async throws -> (text: String, slot: KeySlot) {
    let secret = try Cryptography.randomSecret(32)
    let slot = try await Self.runInBackground { try self.add(.raw(secret), kind: .recovery, label: label, kdf: .scrypt()) }
    return (try RecoveryKey.text(for: secret), slot)
  }

  /// Removes a slot; the last one cannot be removed.
  ///
  /// With a copy of the earlier key file, the removed key still opens the store until the data key is rotated.
  package func removeSlot(_ id: UUID) async throws {
    try await Self.runInBackground {
      try self.edit { file, keys in
        guard let index = file.slots.firstIndex(where: { $0.id == id }) else {
          throw StoreAccessError(.unknownSlot, path: self.keyFilePath, operation: .removeSlot)
        }
        guard file.slots.count > 1 else { throw StoreAccessError(.lastSlot, path: self.keyFilePath, operation: .removeSlot) }
        file.slots.remove(at: index)
        keys.table[id] = nil
      }
    }
  }

  /// Replaces the key of the slot that `old` opens. This takes only the key derivations and writing one small file.
  package func changeKey(from old: StoreKey, to new: StoreKey) async throws -> KeySlot {
    let oldSecrets = try await old.unlockSecrets(request())
    let (secret, kind, kdf) = try await new.newSecret(request())
    return try await Self.runInBackground {
      try self.edit { file, keys in
        var work = KeyWork(self.workLimit)
        var opened: UUID?
        for secret in oldSecrets where opened == nil { opened = try file.unlock(secret, path: self.keyFilePath, work: &work)?.slot }
        guard let id = opened, let index = file.slots.firstIndex(where: { $0.id == id }) else {
          throw work.limitError(file, path: self.storePath) ?? StoreAccessError(.wrongKey, path: self.storePath, operation: .replaceKey)
        }
        let slot = file.slots.remove(at: index)
        // The slot gets a new key pair, so that the old one cannot open later seals.
        try file.addSlot(
          secret, kind: kind, label: slot.label, kdf: kdf, id: id, created: Date(timeIntervalSince1970: TimeInterval(slot.created)),
          at: index, limit: self.workLimit, keys: &keys)
        return file.slots[index].description
      }
    }
  }

  /// Copies the key file, which cannot be used without one of its keys. Does not overwrite an existing file.
  package func backUpKeyFile(to path: String) throws {
    guard hasSlots else { throw StoreKey.noSlots(storePath) }
    let bytes = try KeyFileStorage.read(keyFilePath)
    _ = try KeyFile(parsing: bytes, path: keyFilePath)
    try KeyFileStorage.write(bytes, to: StoreFile.absolutePath(path), mayReplace: false)
  }

  private func add(_ secret: UnlockSecret, kind: KeySlot.Kind, label: String, kdf: KDF) throws -> KeySlot {
    try edit { file, keys in
      try file.addSlot(secret, kind: kind, label: label, kdf: kdf, limit: workLimit, keys: &keys)
      return file.slots[file.slots.count - 1].description
    }
  }

  private func request() -> StoreKeyRequest {
    StoreKeyRequest(url: URL(fileURLWithPath: storePath), storeID: storeID, slots: slots, attempt: 1, reason: .changeKeys)
  }

  /// Reads the key file again, since another process may have changed it, applies `body`, and writes the file if it changed.
  @discardableResult
  func edit<Result>(_ body: (inout KeyFile, inout UnlockedKeys) throws -> Result) throws -> Result {
    let known = state.withLock { $0 }
    guard !known.isClosed else { throw StoreAccessError(.closed, path: storePath, operation: .changeKeys) }
    guard let knownFile = known.file else { throw StoreKey.noSlots(storePath) }
    return try KeyFileStorage.withLock(for: keyFilePath) {
      let found = try Self.readFile(keyFilePath)
      guard var keys = try found.unlock(reusing: known.keys, of: knownFile, path: keyFilePath) else {
        throw StoreAccessError(.exchanged, path: keyFilePath, operation: .changeKeys)
      }
      // A new key in an outdated key file would not open the database.
      let bare = try BareDatabaseFile(storePath)
      let salt = try bare.salt()
      guard try found.generations.contains(where: { $0.salt == salt }) || Self.isAuthentic(bare, found, keys) else {
        throw StoreAccessError(.keyFileOutdated, path: keyFilePath, operation: .changeKeys)
      }
      var file = found
      let result = try body(&file, &keys)
      if file.body != found.body {
        try file.finish(keys)
        try KeyFileStorage.write(file.serialized(), to: keyFilePath)
      }
      state.withLock { [file, keys] state in
        guard !state.isClosed else { return }
        state.file = file
        state.keys = keys
      }
      return result
    }
  }
}

// MARK: - Current key file

extension StoreKeyring {
  /// The maximum number of attempts to open a store that is replaced during opening.
  private static let maximumExchanges = 10

  /// Returns the current key of the database according to the key file in memory. If a rotation was interrupted, determines which key
  /// applies, and completes the key file.
  ///
  /// To open the database with the key, use ``withDatabaseKey(options:_:)``.
  package func databaseKey(options: ConnectionOptions = ConnectionOptions()) throws -> DatabaseKey {
    let candidates = try candidates
    guard candidates.count > 1 else {
      guard let key = candidates.first else { throw StoreAccessError(.keyRequired, path: storePath, operation: .key) }
      return key
    }
    return try selectKey(candidates, options: options)
  }

  /// Runs `body`, which opens the database, with the current key.
  ///
  /// If another process replaces the database or its key in the meantime, reads the key file again and repeats `body`. No key is requested
  /// from the user.
  ///
  /// - Throws: `.busy` if replacements continue; `.keyFileOutdated` if the key file has no key of the database; errors of `body`.
  package func withDatabaseKey<Result>(
    options: ConnectionOptions = ConnectionOptions(), _ body: (DatabaseKey) throws -> Result
  ) throws -> Result {
    for _ in 0..<Self.maximumExchanges {
      var tried: DatabaseKey?
      do {
        let key = try databaseKey(options: options)
        tried = key
        let result = try body(key)
        // The key fits, so the credentials can be discarded.
        state.withLock { $0.given = nil }
        return result
      } catch let error as StoreAccessError {
        switch error.kind {
        case .exchanged, .keyFileOutdated:
          try reload(options)
        // A file of small pages may be shorter than one page of another format.
        case .unreadableStore, .notAStore(.stub):
          guard let tried, try isOutdated(tried, options) else { throw try otherFormat(error) }
          try reload(options)
        default: throw error
        }
      }
    }
    throw StoreAccessError(.busy, path: storePath, operation: .open, circumstance: .replacedAgain)
  }

  /// Determines which generation the database has, and rewrites the key file with that generation alone.
  private func selectKey(_ candidates: [DatabaseKey], options: ConnectionOptions) throws -> DatabaseKey {
    var options = options
    // In WAL mode SQLite keeps its lock between statements.
    options.journalMode = .wal
    let bare = try BareDatabaseFile(storePath)
    let salt = try bare.salt()
    // By the plaintext salt or, if that is damaged, by the authentication code of the first page.
    let found = try candidates.firstIndex { $0.salt == salt } ?? candidates.firstIndex { try bare.isFirstPageAuthentic($0) }
    // If a crash tore the page, try each key with the log and the journal.
    var lastError: (any Error)?
    for key in found.map({ [candidates[$0]] }) ?? candidates {
      do {
        // The open connection waits for a rotation of another process, and prevents a new one.
        let connection = try Connection(opening: storePath, key: key, options: options)
        defer { connection.close() }
        guard !options.isReadOnly else { return key }
        // Remove the old key only after the new file's name is on disk.
        try StoreFile.syncFolder(of: storePath)
        try edit { file, keys in
          guard let number = file.generations.first(where: { $0.salt == key.salt })?.number, file.retainGeneration(number, keys: &keys)
          else {
            throw StoreAccessError(.exchanged, path: keyFilePath, operation: .open)
          }
        }
        StoreFile.removeDatabase(StoreFile.rotationPath(for: storePath))
        return key
      } catch {
        lastError = error
      }
    }
    throw lastError ?? StoreAccessError(.storeCorrupt(.pageMAC), path: storePath, operation: .open)
  }

  // MARK: - Reloading the key file

  /// Reads the key file, or the store's salt, again, while the store cannot be replaced.
  private func reload(_ options: ConnectionOptions) throws {
    try StoreReplacement.finish(storePath)
    // With this lock no rotation or replacement is in progress, so the files belong together.
    let bare = try BareDatabaseFile(locking: storePath, timeoutMilliseconds: options.busyTimeoutMilliseconds)
    defer { withExtendedLifetime(bare) {} }
    let salt = try bare.salt()
    let known = state.withLock { $0 }
    guard !known.isClosed else { throw StoreAccessError(.closed, path: storePath, operation: .key) }
    if let single = known.single { return try renew(single, known.given, salt: salt) }
    guard let knownFile = known.file else { return }
    let (file, _) = try Self.findKeyFile(for: storePath)
    var keys = try file.unlock(reusing: known.keys, of: knownFile, path: keyFilePath)
    if keys == nil, case .secrets(let secrets) = known.given {
      var work = KeyWork(workLimit)
      keys = try file.unlock(secrets, path: keyFilePath, work: &work)
      if keys == nil, let limitError = work.limitError(file, path: storePath) { throw limitError }
    }
    guard let keys else { throw StoreAccessError(.wrongKey, path: storePath, operation: .unlock) }
    // Even damage of the salt would not explain the mismatch.
    guard try file.generations.contains(where: { $0.salt == salt }) || Self.isAuthentic(bare, file, keys) else {
      throw StoreAccessError(.keyFileOutdated, path: keyFilePath, operation: .open)
    }
    state.withLock { state in
      guard !state.isClosed else { return }
      state.file = file
      state.keys = keys
    }
  }

  /// Returns whether one of the data keys wrote the first page.
  static func isAuthentic(_ bare: BareDatabaseFile, _ file: KeyFile, _ keys: UnlockedKeys) throws -> Bool {
    for (generation, key) in zip(file.generations, keys.dataKeys) {
      if try bare.isFirstPageAuthentic(DatabaseKey(key: key, salt: generation.salt, format: file.format)) { return true }
    }
    return false
  }

  /// Updates the key of a store without slots for another salt.
  private func renew(_ single: DatabaseKey, _ given: ProvidedKey?, salt: [UInt8]) throws {
    if salt == single.salt { return }
    let key: DatabaseKey
    if case .sqlcipherPassphrase(let passphrase) = given {
      key = try Self.sqlcipherKey(passphrase, salt: salt, format: single.format)
    } else {
      key = try Self.detectFormat(single.key, salt: salt, of: try BareDatabaseFile(storePath))
    }
    state.withLock { state in if !state.isClosed { state.single = key } }
  }

  /// Returns whether the file is not the one that the key was derived for.
  private func isOutdated(_ key: DatabaseKey, _ options: ConnectionOptions) throws -> Bool {
    try BareDatabaseFile(locking: storePath, timeoutMilliseconds: options.busyTimeoutMilliseconds).salt() != key.salt
  }

  // MARK: - Detecting the page format

  /// Returns the error for a key that does not fit. It names the page format if the key fits in another known one.
  private func otherFormat(_ error: StoreAccessError) throws -> StoreAccessError {
    let (single, given) = state.withLock { ($0.single, $0.given) }
    guard let single, case .sqlcipherPassphrase(let passphrase) = given else { return error }
    let bare = try BareDatabaseFile(storePath)
    let salt = try bare.salt()
    for format in [SQLCipherFormat.portable, .sqlcipher3, .sqlcipher4] where format != single.format {
      // The derivation depends only on the version, not on the page size.
      let bytes =
        format.version == single.format.version
        ? single.key : try format.stretched(passphrase, salt: salt)
      if try bare.isFirstPageAuthentic(DatabaseKey(key: bytes, salt: salt, format: format)) {
        return error.with(kind: .otherFormat(format))
      }
    }
    return error
  }
}
