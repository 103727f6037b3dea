import Foundation
import ObjectStore
import SQLCipherConnection
import StoreFiles
import StoreKeys

/// A `StoreKey` that holds the keys of an unlocked store, so that no key is derived from a passphrase twice.
final class UnlockedKey: StoreKeyProvider {
  let keyring: StoreKeyring

  init(_ keyring: StoreKeyring) { self.keyring = keyring }

  /// Called only if the key is used for a store other than the one that it unlocked.
  func key(for request: StoreKeyRequest) async throws -> SecretBytes {
    throw StoreError(.keyOfOtherStore, operation: .unlock, path: request.url.path)
  }
}

extension StoreKey {
  /// Returns the unlocked keys in this key, if it has any and they belong to the store at a path.
  func unlockedKeyring(for path: String) -> StoreKeyring? {
    guard case .provider(let provider) = self, let unlocked = provider as? UnlockedKey,
      unlocked.keyring.storePath == StoreFile.place(of: path)
    else { return nil }
    return unlocked.keyring
  }
}
