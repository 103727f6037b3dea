public import Foundation
import ObjectStore
import SQLCipherConnection
import StoreFiles
public import StoreKeys

extension SQLCipherStoreFile {
  /// The keys that open the store, in the order in which they were added; empty for a store without a key file.
  public var keySlots: [KeySlot] { keyring.slots }

  /// The path of the key file beside the store.
  public var keyFileURL: URL { URL(fileURLWithPath: keyring.keyFilePath) }

  /// The keys of a store that is not unlocked: everybody who can read the key file can list them.
  ///
  /// - Throws: ``StoreError`` where the key file is missing or damaged.
  public static func keySlots(at url: URL) throws -> [KeySlot] {
    try StoreError.mapping { try StoreKeyring.slots(at: url.path) }
  }

  /// The limit that ``unlock(at:key:keyWorkLimit:)``, or a store description's `keyWorkLimit`, has to be given so that every key opens the store; nil where
  /// none is needed.
  public var requiredKeyWork: Int? { KeyWorkLimit.needed(for: keyring.slots.map(\.kdf)) }

  /// Adds a key. The database is not touched.
  ///
  /// - Throws: ``StoreError``; with the code `keyWorkExceeded` for a passphrase whose derivation costs more than openings spend with the limit that this
  ///   file was unlocked with.
  @discardableResult
  public func addKey(_ key: StoreKey, label: String = "") async throws -> KeySlot {
    try await StoreError.mapping { try await keyring.addSlot(key, label: label) }
  }

  /// Adds a random key and returns its text, to be printed and kept in a safe place.
  ///
  /// - Throws: ``StoreError`` where the key file cannot be written.
  public func addRecoveryKey(label: String = "Recovery key") async throws -> (text: String, slot: KeySlot) {
    try await StoreError.mapping { try await keyring.addRecoveryKey(label: label) }
  }

  /// Removes a key, unless it is the last one. Whoever kept a copy of the key file can still open the store with the key until the data key is rotated.
  ///
  /// - Throws: ``StoreError`` for the last key, and for a key that is not there.
  public func removeKey(_ id: KeySlot.ID) async throws {
    try await StoreError.mapping { try await keyring.removeSlot(id) }
  }

  /// Replaces one key with another; the database is not touched.
  ///
  /// - Throws: ``StoreError``, with the code `wrongKey` where the old key opens nothing.
  @discardableResult
  public func changeKey(from old: StoreKey, to new: StoreKey) async throws -> KeySlot {
    try await StoreError.mapping { try await keyring.changeKey(from: old, to: new) }
  }

  /// Copies the key file, which is of use to nobody without one of its keys. An existing file is not overwritten.
  ///
  /// - Throws: ``StoreError``, with the code `alreadyExists` where something is at the new place.
  public func backUpKeyFile(to url: URL) throws {
    try StoreError.mapping { try keyring.backUpKeyFile(to: url.path) }
  }

  /// Encrypts the whole store anew under a new data key; afterwards no removed key and no old copy of the key file opens it.
  ///
  /// Nobody may have the store open, not even this process. The work needs the store's size once more on the disk. If it fails at any point, the store opens
  /// with the same keys as before.
  ///
  /// - Throws: ``StoreError``, with the code `busy` where anybody has the store open, `cancelled` when `progress` ends the work; `CancellationError` when the task is
  ///   cancelled.
  public func rotateDataKey(progress: Progress? = nil) async throws {
    let options = ConnectionOptions()
    try await Self.longWork(progress) { phases in
      try await StoreError.mapping {
        let pool = try keyring.withDatabaseKey(options: options) {
          try ConnectionPool(path: path, key: $0, options: options, onOpen: { try FoldedIndexes.register(on: $0) })
        }
        defer { pool.close() }
        try await keyring.rotateDataKey(pool: pool, largeValues: ExternalTable.ids, progress: phases)
      }
    }
  }
}
