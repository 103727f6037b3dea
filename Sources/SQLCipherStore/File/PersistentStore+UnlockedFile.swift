import Foundation
public import ObjectStore
import SQLCipherConnection
import StoreKeys
import Synchronization

extension PersistentStore {
  /// Returns the file of this open store, unlocked with the store's own keys.
  ///
  /// No key provider is called, and no key is derived from a passphrase again.
  ///
  /// ```swift
  /// let file = try container.persistentStoreCoordinator.persistentStores[0].unlockedFile()
  /// try await file.changeKey(from: .passphrase(old), to: .passphrase(new))
  /// ```
  ///
  /// You can add, change and remove keys while the store is in use; open connections stay valid. Only
  /// ``SQLCipherStoreFile/rotateDataKey(progress:)`` requires that the store is closed.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/unsupported`` if the store is of another type, or with ``StoreError/Code/noOpenStore``
  ///   after it was closed.
  public func unlockedFile() throws -> SQLCipherStoreFile {
    guard let store = incrementalStore as? SQLCipherIncrementalStore else {
      throw StoreError(.noFiles(type: type.rawValue), operation: .changeKeys)
    }
    guard let keyring = store.state.withLock({ $0.engine == nil ? nil : $0.keyring }) else {
      throw StoreError(.storeClosed, operation: .changeKeys, path: url?.path)
    }
    return SQLCipherStoreFile(url: url ?? URL(fileURLWithPath: keyring.storePath), keyring: keyring)
  }
}
