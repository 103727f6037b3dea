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
