public import Foundation
import ObjectStore
import SQLCipherConnection
import StoreFiles
public import StoreKeys

extension SQLCipherStoreFile {
  /// The keys that open the store, in the order in which they were added; empty for a store without a key file.
  public var keySlots: [KeySlot] { keyring.slots }

  /// The location of the key file, next to the store.
  public var keyFileURL: URL { URL(fileURLWithPath: keyring.keyFilePath) }

  /// Returns the keys of a store without unlocking it. Anyone who can read the key file can list them.
  ///
  /// - Throws: ``StoreError`` if the key file is missing or damaged.
  public static func keySlots(at url: URL) throws -> [KeySlot] {
    try StoreError.mapping { try StoreKeyring.slots(at: url.path) }
  }

  /// The limit that ``unlock(at:key:keyWorkLimit:)``, or a store description's `keyWorkLimit`, needs for every key to open the store, or
  /// `nil` if the default is sufficient.
  public var requiredKeyWork: Int? { KeyWorkLimit.needed(for: keyring.slots.map(\.kdf)) }

  /// Adds a key. The database does not change.
  ///
  /// - Throws: ``StoreError``; with the code `keyWorkExceeded` for a passphrase whose key derivation costs more than the limit that this
  ///   file was unlocked with allows.
  @discardableResult
  public func addKey(_ key: StoreKey, label: String = "") async throws -> KeySlot {
    try await StoreError.mapping { try await keyring.addSlot(key, label: label) }
  }

  /// Adds a random key, and returns its text for printing and safe storage.
  ///
  /// - Throws: ``StoreError`` if the key file cannot be written.
  public func addRecoveryKey(label: String = "Recovery key") async throws -> (text: String, slot: KeySlot) {
    try await StoreError.mapping { try await keyring.addRecoveryKey(label: label) }
  }

  /// Removes a key, unless it is the last one. With an old copy of the key file, the key can still open the store until the data key is
  /// rotated.
  ///
  /// - Throws: ``StoreError`` for the last key, and for an unknown key.
  public func removeKey(_ id: KeySlot.ID) async throws {
    try await StoreError.mapping { try await keyring.removeSlot(id) }
  }

  /// Replaces a key with another one. The database does not change.
  ///
  /// - Throws: ``StoreError`` with the code `wrongKey` if the old key does not open the store.
  @discardableResult
  public func changeKey(from old: StoreKey, to new: StoreKey) async throws -> KeySlot {
    try await StoreError.mapping { try await keyring.changeKey(from: old, to: new) }
  }

  /// Copies the key file, which is useless without one of its keys. Existing files are not overwritten.
  ///
  /// - Throws: ``StoreError`` with the code `alreadyExists` if the destination exists.
  public func backUpKeyFile(to url: URL) throws {
    try StoreError.mapping { try keyring.backUpKeyFile(to: url.path) }
  }

  /// Encrypts the whole store again with a new data key. Afterward, neither removed keys nor old copies of the key file open it.
  ///
  /// The store must not be open anywhere, including this process. Rotation needs disk space for a second copy of the store. If it fails at
  /// any point, the store opens with the same keys as before. The store keeps its UUID and its lineage.
  ///
  /// - Throws: ``StoreError`` with the code `busy` if the store is open anywhere, or `cancelled` if `progress` cancels the rotation;
  ///   `CancellationError` if the task is canceled.
  public func rotateDataKey(progress: Progress? = nil) async throws {
    let options = ConnectionOptions()
    try await Self.withProgress(progress) { phases in
      try await StoreError.mapping {
        let pool = try keyring.withDatabaseKey(options: options) {
          try ConnectionPool(path: path, key: $0, options: options, onOpen: { try StoredFunctionIndexes.register(on: $0) })
        }
        defer { pool.close() }
        try await keyring.rotateDataKey(
          pool: pool, largeValues: ExternalTable.ids, completion: LineageTable.continuing(path), progress: phases)
      }
    }
  }
}
