import Foundation

extension StoreKey {
  /// What a key may unlock.
  package func unlockSecrets(_ request: StoreKeyRequest) async throws -> [UnlockSecret] {
    switch self {
    case .raw(let secret):
      try Self.checkRaw(secret)
      return [.raw(secret)]
    case .passphrase(let secret, _): return try Self.passphraseSecrets(secret)
    case .provider(let provider): return try Self.unlockSecrets(provided: try await provider.askedKey(request))
    case .databaseKey, .sqlcipherPassphrase: throw Self.noSlots(request.url.path)
    }
  }

  /// 32 bytes are a raw key, or else a passphrase of that length.
  package static func unlockSecrets(provided secret: SecretBytes) throws -> [UnlockSecret] {
    secret.count == 32 ? [.raw(secret), .passphrase(secret)] : try passphraseSecrets(secret)
  }

  /// A passphrase that is a well-formed recovery key is tried as one first.
  package static func passphraseSecrets(_ secret: SecretBytes) throws -> [UnlockSecret] {
    guard secret.count > 0 else { throw StoreAccessError(.invalidKey(.empty), path: nil, operation: .unlock) }
    // Where it lies: a text made of it could not be wiped.
    guard secret.count < 128, let recovery = try? secret.withUnsafeBytes({ try RecoveryKey.parse($0) }) else {
      return [.passphrase(secret)]
    }
    return [.raw(recovery), .passphrase(secret)]
  }

  /// What a key becomes as a slot.
  package func newSecret(_ request: StoreKeyRequest) async throws -> (UnlockSecret, KeySlot.Kind, KDF) {
    switch self {
    case .raw(let secret):
      try Self.checkRaw(secret)
      return (.raw(secret), .rawKey, .scrypt())
    case .passphrase(let secret, let kdf):
      guard secret.count > 0 else { throw StoreAccessError(.invalidKey(.empty), path: nil, operation: .makeSlot) }
      try kdf.check()
      return (.passphrase(secret), .passphrase, kdf)
    case .provider(let provider):
      let secret = try await provider.askedKey(request)
      return secret.count == 32 ? (.raw(secret), .rawKey, .scrypt()) : (.passphrase(secret), .passphrase, .scrypt())
    case .databaseKey, .sqlcipherPassphrase:
      throw Self.noSlots(request.url.path)
    }
  }

  /// A raw key has 32 bytes.
  package static func checkRaw(_ secret: SecretBytes) throws(StoreAccessError) {
    guard secret.count > 0 else { throw StoreAccessError(.invalidKey(.empty), path: nil, operation: .key) }
    guard secret.count == 32 else {
      throw StoreAccessError(.invalidKey(.length(expected: 32, found: secret.count)), path: nil, operation: .key)
    }
  }

  /// The error of a key that has nothing to do with slots.
  package static func noSlots(_ path: String?) -> StoreAccessError {
    StoreAccessError(.misuse(.noSlots), path: path, operation: .changeKeys)
  }
}

extension StoreKeyProvider {
  /// Asks for the key; what goes wrong, and no bytes at all, are errors of the store's opening.
  package func askedKey(_ request: StoreKeyRequest) async throws -> SecretBytes {
    let secret: SecretBytes
    do {
      secret = try await key(for: request)
    } catch is CancellationError {
      throw StoreAccessError(.cancelled, path: request.url.path, operation: .askKeyProvider)
    } catch {
      throw StoreAccessError(.keyProviderFailed, path: request.url.path, operation: .askKeyProvider, underlying: error)
    }
    guard secret.count > 0 else { throw StoreAccessError(.invalidKey(.empty), path: request.url.path, operation: .askKeyProvider) }
    return secret
  }
}
