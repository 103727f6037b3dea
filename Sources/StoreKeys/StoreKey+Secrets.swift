import Foundation

extension StoreKey {
  /// Returns the secrets that the key can be, in the order in which they are tried.
  package func unlockSecrets(_ request: StoreKeyRequest) async throws -> [UnlockSecret] {
    switch self {
    case .raw(let secret):
      try Self.checkRaw(secret)
      return [.raw(secret)]
    case .passphrase(let secret, _): return try Self.passphraseSecrets(secret)
    case .provider(let provider): return try Self.unlockSecrets(provided: try await provider.requestKey(request))
    case .databaseKey, .sqlcipherPassphrase: throw Self.noSlots(request.url.path)
    }
  }

  /// Returns the secrets that a provider's bytes can be: 32 bytes are a raw key, or else a passphrase of that length.
  package static func unlockSecrets(provided secret: SecretBytes) throws -> [UnlockSecret] {
    secret.count == 32 ? [.raw(secret), .passphrase(secret)] : try passphraseSecrets(secret)
  }

  /// Returns the secrets that a passphrase can be. If it is a valid recovery key, it is tried as one first.
  package static func passphraseSecrets(_ secret: SecretBytes) throws -> [UnlockSecret] {
    guard secret.count > 0 else { throw StoreAccessError(.invalidKey(.empty), path: nil, operation: .unlock) }
    // Parsed in place, since a string copy could not be wiped.
    guard secret.count < 128, let recovery = try? secret.withUnsafeBytes({ try RecoveryKey.parse($0) }) else {
      return [.passphrase(secret)]
    }
    return [.raw(recovery), .passphrase(secret)]
  }

  /// Returns the secret, kind and key derivation function of a new slot for the key.
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
      let secret = try await provider.requestKey(request)
      return secret.count == 32 ? (.raw(secret), .rawKey, .scrypt()) : (.passphrase(secret), .passphrase, .scrypt())
    case .databaseKey, .sqlcipherPassphrase:
      throw Self.noSlots(request.url.path)
    }
  }

  /// Checks that a raw key has 32 bytes.
  package static func checkRaw(_ secret: SecretBytes) throws(StoreAccessError) {
    guard secret.count > 0 else { throw StoreAccessError(.invalidKey(.empty), path: nil, operation: .key) }
    guard secret.count == 32 else {
      throw StoreAccessError(.invalidKey(.length(expected: 32, found: secret.count)), path: nil, operation: .key)
    }
  }

  /// Returns the error for a key without slots.
  package static func noSlots(_ path: String?) -> StoreAccessError {
    StoreAccessError(.misuse(.noSlots), path: path, operation: .changeKeys)
  }
}

extension StoreKeyProvider {
  /// Requests the key. Errors of the provider and empty keys become errors of opening the store.
  package func requestKey(_ request: StoreKeyRequest) async throws -> SecretBytes {
    let secret: SecretBytes
    do {
      secret = try await key(for: request)
    } catch is CancellationError {
      throw StoreAccessError(.cancelled, path: request.url.path, operation: .callKeyProvider)
    } catch {
      throw StoreAccessError(.keyProviderFailed, path: request.url.path, operation: .callKeyProvider, underlying: error)
    }
    guard secret.count > 0 else { throw StoreAccessError(.invalidKey(.empty), path: request.url.path, operation: .callKeyProvider) }
    return secret
  }
}
