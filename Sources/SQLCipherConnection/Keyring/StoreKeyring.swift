// The keys of one store: made, unlocked, listed and changed. `StoreKeyring+Editing.swift` changes slots, `+Rotation.swift` the data key.

package import Foundation
import StoreFiles
package import StoreKeys
import Synchronization

/// What the user gave.
enum GivenKey: Sendable {
  /// What may open a slot.
  case secrets([UnlockSecret])
  /// A passphrase of SQLCipher's own.
  case sqlcipherPassphrase(SecretBytes)
}

/// The unlocked keys of a store, and its key file where it has one.
package final class StoreKeyring: Sendable {
  struct State: Sendable {
    /// nil for a store without slots.
    var file: KeyFile?
    var keys: UnlockedKeys
    /// For a store without slots: the key as it is.
    var single: DatabaseKey?
    /// What the user gave, until a connection has shown that it fits: a store that is exchanged before is unlocked with it again.
    var given: GivenKey?
    var isClosed = false
  }

  /// The store's file.
  package let storePath: String
  /// What may be spent on the key file.
  package let workLimit: KeyWorkLimit
  /// What takes the store's files back, where it was made just now and its maker asked for that.
  package let newStore: NewStore?
  let state: Mutex<State>

  init(storePath: String, workLimit: KeyWorkLimit = KeyWorkLimit(), newStore: NewStore? = nil, state: State) {
    self.storePath = storePath
    self.workLimit = workLimit
    self.newStore = newStore
    self.state = Mutex(state)
  }

  /// The key file's path.
  package var keyFilePath: String { KeyFileStorage.path(for: storePath) }

  /// The store's identifier in its key file; nil where there is none.
  package var storeID: UUID? { state.withLock { $0.file?.storeID } }

  /// True where the store has a key file, so that slots can be added, removed and changed.
  package var hasSlots: Bool { state.withLock { $0.file != nil } }

  /// The slots, in the order in which they were made.
  package var slots: [KeySlot] { state.withLock { $0.file?.slots.map(\.description) ?? [] } }

  /// The slots of a store that is not unlocked: everybody who can read the key file can see them.
  package static func slots(at storePath: String) throws(StoreAccessError) -> [KeySlot] {
    let path = KeyFileStorage.path(for: try StoreFile.absolutePath(storePath))
    return try readFile(path).slots.map(\.description)
  }

  /// The database's keys, the newest first: more than one only where a rotation was interrupted.
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

  /// Forgets the keys: their bytes are wiped as soon as no connection needs them.
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
