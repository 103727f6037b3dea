// Slots: add, remove, change; recovery key; backup of the key file. The database is not touched.

package import Foundation
import StoreFiles
package import StoreKeys
import Synchronization

extension StoreKeyring {
  /// Adds a slot that the key opens.
  package func addSlot(_ key: StoreKey, label: String = "") async throws -> KeySlot {
    let (secret, kind, kdf) = try await key.newSecret(request())
    return try await Self.offActor { try self.add(secret, kind: kind, label: label, kdf: kdf) }
  }

  /// Adds a slot for a new random key and returns that key, to be printed and kept in a safe place.
  package func addRecoveryKey(label: String = "Recovery key") async throws -> (text: String, slot: KeySlot) {
    let secret = try Cryptography.randomSecret(32)
    let slot = try await Self.offActor { try self.add(.raw(secret), kind: .recovery, label: label, kdf: .scrypt()) }
    return (try RecoveryKey.text(for: secret), slot)
  }

  /// Removes a slot; the last one is refused. Whoever kept a copy of the key file can still open the store with the removed key until the
  /// data key is rotated.
  package func removeSlot(_ id: UUID) async throws {
    try await Self.offActor {
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

  /// Replaces the key of the slot that `old` opens: the key derivations and one small file are all the work.
  package func changeKey(from old: StoreKey, to new: StoreKey) async throws -> KeySlot {
    let oldSecrets = try await old.unlockSecrets(request())
    let (secret, kind, kdf) = try await new.newSecret(request())
    return try await Self.offActor {
      try self.edit { file, keys in
        var work = KeyWork(self.workLimit)
        var opened: UUID?
        for secret in oldSecrets where opened == nil { opened = try file.unlock(secret, path: self.keyFilePath, work: &work)?.slot }
        guard let id = opened, let index = file.slots.firstIndex(where: { $0.id == id }) else {
          throw work.refusal(file, path: self.storePath) ?? StoreAccessError(.wrongKey, path: self.storePath, operation: .replaceKey)
        }
        let slot = file.slots.remove(at: index)
        // The slot gets a new key pair: the old one must not open what is sealed from now on.
        try file.addSlot(
          secret, kind: kind, label: slot.label, kdf: kdf, id: id, created: Date(timeIntervalSince1970: TimeInterval(slot.created)),
          at: index, limit: self.workLimit, keys: &keys)
        return file.slots[index].description
      }
    }
  }

  /// Copies the key file, which is of use to nobody without one of its keys. An existing file is not overwritten.
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

  /// Reads the key file anew, since another process may have changed it, lets `body` change it, and replaces it where it did.
  @discardableResult
  func edit<Result>(_ body: (inout KeyFile, inout UnlockedKeys) throws -> Result) throws -> Result {
    let known = state.withLock { $0 }
    guard !known.isClosed else { throw StoreAccessError(.closed, path: storePath, operation: .changeKeys) }
    guard let knownFile = known.file else { throw StoreKey.noSlots(storePath) }
    return try KeyFileStorage.withLock(for: keyFilePath) {
      let found = try Self.readFile(keyFilePath)
      guard var keys = try found.unlock(knowing: known.keys, of: knownFile, path: keyFilePath) else {
        throw StoreAccessError(.exchanged, path: keyFilePath, operation: .changeKeys)
      }
      // A new key in a file of another time would open nothing.
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
