import Foundation
public import ObjectStore
import SQLCipherConnection
import StoreKeys
import Synchronization

extension PersistentStore {
  /// The file of this open store, unlocked with the store's own keys: nobody is asked for one, and no passphrase is stretched again.
  ///
  /// ```swift
  /// let file = try container.persistentStoreCoordinator.persistentStores[0].unlockedFile()
  /// try await file.changeKey(from: .passphrase(old), to: .passphrase(new))
  /// ```
  ///
  /// Keys are added, changed and removed while the store is in use; what is open stays open. ``SQLCipherStoreFile/rotateDataKey(progress:)`` alone wants the
  /// store closed first.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/unsupported`` where the store is of another kind, with ``StoreError/Code/noOpenStore`` after it was closed.
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
