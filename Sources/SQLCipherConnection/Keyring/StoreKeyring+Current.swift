// The key that the database has now: another process may rotate it, or put another store in its place, between any two looks.

import Foundation
import StoreFiles
package import StoreKeys
import Synchronization

extension StoreKeyring {
  /// How often an opening begins anew because the store was exchanged under it.
  private static let maximumExchanges = 10

  /// The key that the database has now, as far as the key file is known. Where a rotation was interrupted, finds out which, and finishes the key file.
  ///
  /// Whoever opens the database with it had better ask by ``withDatabaseKey(options:_:)``.
  package func databaseKey(options: ConnectionOptions = ConnectionOptions()) throws -> DatabaseKey {
    let candidates = try candidates
    guard candidates.count > 1 else {
      guard let key = candidates.first else { throw StoreAccessError(.keyRequired, path: storePath, operation: .key) }
      return key
    }
    return try settle(candidates, options: options)
  }

  /// Opens the database, which is what `body` does, with the key that it has now. Where another process exchanges the database, or its key, meanwhile,
  /// the key file is read again and `body` runs again; nobody is asked for a key.
  ///
  /// - Throws: `.busy` where that does not end; `.keyFileOutdated` where the key file that stands there has no key of the database; what `body` throws.
  package func withDatabaseKey<Result>(
    options: ConnectionOptions = ConnectionOptions(), _ body: (DatabaseKey) throws -> Result
  ) throws -> Result {
    for _ in 0..<Self.maximumExchanges {
      var tried: DatabaseKey?
      do {
        let key = try databaseKey(options: options)
        tried = key
        let result = try body(key)
        // It fits: what opened it need not stay in memory.
        state.withLock { $0.given = nil }
        return result
      } catch let error as StoreAccessError {
        switch error.kind {
        case .exchanged, .keyFileOutdated:
          try readAgain(options)
        // A file of small pages may be shorter than one page of another format.
        case .unreadableStore, .notAStore(.stub):
          guard let tried, try isOutdated(tried, options) else { throw try otherFormat(error) }
          try readAgain(options)
        default: throw error
        }
      }
    }
    throw StoreAccessError(.busy, path: storePath, operation: .open, circumstance: .replacedAgain)
  }

  /// Finds the generation that the database really has, and rewrites the key file with that one alone.
  private func settle(_ candidates: [DatabaseKey], options: ConnectionOptions) throws -> DatabaseKey {
    var options = options
    // With a log SQLite keeps its lock between two statements.
    options.journalMode = .wal
    let bare = try BareDatabaseFile(storePath)
    let salt = try bare.salt()
    // By the salt in clear text; where that is damaged by the code over the rest of the page.
    let found = try candidates.firstIndex { $0.salt == salt } ?? candidates.firstIndex { try bare.isFirstPageAuthentic($0) }
    // Torn by a crash: let each key be tried with the log and the journal.
    var lastError: (any Error)?
    for key in found.map({ [candidates[$0]] }) ?? candidates {
      do {
        // The open connection keeps a rotation of another process from starting, and waits for one that runs.
        let connection = try Connection(opening: storePath, key: key, options: options)
        defer { connection.close() }
        guard !options.isReadOnly else { return key }
        // The old key goes when the name of the new file is on the disk, not before.
        try StoreFile.syncFolder(of: storePath)
        try edit { file, keys in
          guard let number = file.generations.first(where: { $0.salt == key.salt })?.number, file.keepGeneration(number, keys: &keys) else {
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

  // MARK: - Reading again

  /// Reads the key file, or the store's salt, again, while nobody can exchange the store.
  private func readAgain(_ options: ConnectionOptions) throws {
    try StoreReplacement.finish(storePath)
    // With this lock nobody is in the middle of a rotation or replacement: what stands here now is to go together.
    let bare = try BareDatabaseFile(locking: storePath, timeoutMilliseconds: options.busyTimeoutMilliseconds)
    defer { withExtendedLifetime(bare) {} }
    let salt = try bare.salt()
    let known = state.withLock { $0 }
    guard !known.isClosed else { throw StoreAccessError(.closed, path: storePath, operation: .key) }
    if let single = known.single { return try renew(single, known.given, salt: salt) }
    guard let knownFile = known.file else { return }
    let (file, _) = try Self.findKeyFile(for: storePath)
    var keys = try file.unlock(knowing: known.keys, of: knownFile, path: keyFilePath)
    if keys == nil, case .secrets(let secrets) = known.given {
      var work = KeyWork(workLimit)
      keys = try file.unlock(secrets, path: keyFilePath, work: &work)
      if keys == nil, let refusal = work.refusal(file, path: storePath) { throw refusal }
    }
    guard let keys else { throw StoreAccessError(.wrongKey, path: storePath, operation: .unlock) }
    // Not even damage of the salt alone explains it then.
    guard try file.generations.contains(where: { $0.salt == salt }) || Self.isAuthentic(bare, file, keys) else {
      throw StoreAccessError(.keyFileOutdated, path: keyFilePath, operation: .open)
    }
    state.withLock { state in
      guard !state.isClosed else { return }
      state.file = file
      state.keys = keys
    }
  }

  /// Whether one of the data keys wrote the first page.
  static func isAuthentic(_ bare: BareDatabaseFile, _ file: KeyFile, _ keys: UnlockedKeys) throws -> Bool {
    for (generation, key) in zip(file.generations, keys.dataKeys) {
      if try bare.isFirstPageAuthentic(DatabaseKey(key: key, salt: generation.salt, format: file.format)) { return true }
    }
    return false
  }

  /// The key of a store without slots for another salt.
  private func renew(_ single: DatabaseKey, _ given: GivenKey?, salt: [UInt8]) throws {
    if salt == single.salt { return }
    let key: DatabaseKey
    if case .sqlcipherPassphrase(let passphrase) = given {
      key = try Self.sqlcipherKey(passphrase, salt: salt, format: single.format)
    } else {
      key = try Self.detectFormat(single.key, salt: salt, of: try BareDatabaseFile(storePath))
    }
    state.withLock { state in if !state.isClosed { state.single = key } }
  }

  /// Whether the file is another one than that which the key was made for.
  private func isOutdated(_ key: DatabaseKey, _ options: ConnectionOptions) throws -> Bool {
    try BareDatabaseFile(locking: storePath, timeoutMilliseconds: options.busyTimeoutMilliseconds).salt() != key.salt
  }

  // MARK: - Formats

  /// The error of a key that does not fit; where it fits in another of the known page formats, says so.
  private func otherFormat(_ error: StoreAccessError) throws -> StoreAccessError {
    let (single, given) = state.withLock { ($0.single, $0.given) }
    guard let single, case .sqlcipherPassphrase(let passphrase) = given else { return error }
    let bare = try BareDatabaseFile(storePath)
    let salt = try bare.salt()
    for format in [SQLCipherFormat.portable, .sqlcipher3, .sqlcipher4] where format != single.format {
      // The derivation is the version's; the page size does not matter to it.
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
