package import Foundation
import StoreFiles
package import StoreKeys
import Synchronization

/// The credentials that the user provided.
enum ProvidedKey: Sendable {
  /// Secrets that may open a slot.
  case secrets([UnlockSecret])
  /// A SQLCipher passphrase.
  case sqlcipherPassphrase(SecretBytes)
}

/// The unlocked keys of a store, and its key file if it has one.
package final class StoreKeyring: Sendable {
  struct State: Sendable {
    /// The key file; nil for a store without slots.
    var file: KeyFile?
    var keys: UnlockedKeys
    /// The key of a store without slots.
    var single: DatabaseKey?
    /// The credentials, until a connection has shown that they fit. They unlock the store again if it is replaced before that.
    var given: ProvidedKey?
    var isClosed = false
  }

  /// The path of the store's file.
  package let storePath: String
  /// The maximum cost of unlocking the key file.
  package let workLimit: KeyWorkLimit
  /// The new store's files, if the store was just created and its creator requested that they can be removed again.
  package let newStore: NewStore?
  let state: Mutex<State>

  init(storePath: String, workLimit: KeyWorkLimit = KeyWorkLimit(), newStore: NewStore? = nil, state: State) {
    self.storePath = storePath
    self.workLimit = workLimit
    self.newStore = newStore
    self.state = Mutex(state)
  }

  /// The path of the key file.
  package var keyFilePath: String { KeyFileStorage.path(for: storePath) }

  /// The store's identifier in its key file; nil without a key file.
  package var storeID: UUID? { state.withLock { $0.file?.storeID } }

  /// Whether the store has a key file, so that slots can be added, removed and changed.
  package var hasSlots: Bool { state.withLock { $0.file != nil } }

  /// The slots, in order of creation.
  package var slots: [KeySlot] { state.withLock { $0.file?.slots.map(\.description) ?? [] } }

  /// Returns the slots of a store that is not unlocked. They are readable in the key file without a key.
  package static func slots(at storePath: String) throws(StoreAccessError) -> [KeySlot] {
    let path = KeyFileStorage.path(for: try StoreFile.absolutePath(storePath))
    return try readFile(path).slots.map(\.description)
  }

  /// The database's keys, newest first. There is more than one only after an interrupted rotation.
  var candidates: [DatabaseKey] {
    get throws(StoreAccessError) {
      let result = state.withLock { state -> Result<[DatabaseKey], StoreAccessError> in
        if state.isClosed { return .failure(StoreAccessError(.closed, path: storePath, operation: .key)) }
        if let single = state.single { return .success([single]) }
        guard let file = state.file else { return .success([]) }
        do throws(StoreAccessError) {
          var keys: [DatabaseKey] = []
          for (generation, key) in zip(file.generations, state.keys.dataKeys).reversed() {
            keys.append(try DatabaseKey(key: key, salt: generation.salt, format: file.format, isProven: true))
          }
          return .success(keys)
        } catch {
          return .failure(error)
        }
      }
      return try result.get()
    }
  }

  /// Discards the keys. Their bytes are wiped as soon as no connection needs them.
  package func close() {
    state.withLock { state in
      state.keys = UnlockedKeys(dataKeys: [])
      state.single = nil
      state.given = nil
      state.isClosed = true
    }
  }

  static func readFile(_ path: String) throws(StoreAccessError) -> KeyFile {
    let bytes: [UInt8]
    do throws(StoreAccessError) {
      bytes = try KeyFileStorage.read(path)
    } catch  where error.kind == .noSuchFile {
      throw error.with(kind: .keyFileMissing)
    }
    return try KeyFile(parsing: bytes, path: path)
  }
}

// MARK: - Exclusive access

extension StoreKeyring {
  /// Opens the store exclusively, and returns the connection and the current key, which another process may have changed. Until the
  /// connection closes, no other connection can open the store.
  ///
  /// - Parameters:
  ///   - current: The key that the store is known to have; nil to determine it.
  ///   - options: Options without a write-ahead log and with a short timeout. Leaving WAL mode fails while another connection is open,
  ///     which detects other processes.
  /// - Throws: `.busy` if another connection has the store open.
  func openExclusively(
    _ current: DatabaseKey?, _ options: ConnectionOptions, operation: StoreAccessError.Operation
  ) throws -> (Connection, DatabaseKey) {
    if let current, !hasSlots { return (try openExclusively(with: current, options, operation), current) }
    return try withDatabaseKey(options: options) { (try openExclusively(with: $0, options, operation), $0) }
  }

  private func openExclusively(
    with key: DatabaseKey, _ options: ConnectionOptions, _ operation: StoreAccessError.Operation
  ) throws -> Connection {
    let source = try Connection(opening: storePath, key: key, options: options)
    do {
      // From here on the lock is kept until the connection closes, so no other connection can open the store.
      _ = try source.pragma("locking_mode = EXCLUSIVE")
      try source.lockLocation()
      try source.execute("BEGIN EXCLUSIVE; COMMIT")
      // Another connection may have opened the store, and started a log, just before.
      guard try source.pragma("journal_mode") == options.journalMode.rawValue else {
        throw StoreAccessError(.busy, path: storePath, operation: operation)
      }
      // A leftover log would be applied to the new database. If another connection opened the store while this one left WAL mode, a log
      // without pages remains, which SQLite ignores.
      let log = source.databasePath + "-wal"
      if StoreFile.size(log) == 0 { unlink(log) }
      guard !StoreFile.exists(log) else { throw StoreAccessError(.io(0), path: log, operation: operation) }
      return source
    } catch {
      source.close()
      throw error
    }
  }
}
