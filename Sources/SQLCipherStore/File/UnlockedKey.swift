import Foundation
import ObjectStore
import SQLCipherConnection
import StoreFiles
import StoreKeys

/// Stands for a store's unlocked keys where a `StoreKey` is asked for, so that no passphrase is stretched twice.
final class UnlockedKey: StoreKeyProvider {
  let keyring: StoreKeyring

  init(_ keyring: StoreKeyring) { self.keyring = keyring }

  /// Asked only where the key is used for another store than the one it unlocked.
  func key(for request: StoreKeyRequest) async throws -> SecretBytes {
    throw StoreError(.keyOfOtherStore, operation: .unlock, path: request.url.path)
  }
}

extension StoreKey {
  /// The unlocked keys inside, if it is such and of the store at a path.
  func unlockedKeyring(for path: String) -> StoreKeyring? {
    guard case .provider(let provider) = self, let unlocked = provider as? UnlockedKey,
      unlocked.keyring.storePath == StoreFile.place(of: path)
    else { return nil }
    return unlocked.keyring
  }
}
