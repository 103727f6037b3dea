// Edits slots, recovery keys and backups of the key file. The database is not changed.

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
