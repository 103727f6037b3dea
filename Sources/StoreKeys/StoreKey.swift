public import Foundation

/// The key of a store.
///
/// ```swift
/// var description = PersistentStoreDescription(url: url, key: .passphrase("correct horse battery staple"))
/// if let bytes = SecretBytes.random() { description.key = .raw(bytes) }  // keep the bytes in the system's keyring
/// ```
///
/// The database itself is always encrypted with a random data key. With ``raw(_:)``, ``passphrase(_:_:)-enum.case`` and ``provider(_:)``,
/// the data key is wrapped in the *slots* of a small key file next to the store (`<store>.keys`). A passphrase can then change without
/// rewriting the database, several users can have their own keys, and a wrong key can be distinguished from a damaged file. Such a store
/// cannot be opened without its key file, so back it up too.
///
/// A passphrase deliberately costs some tenths of a second at each opening (``KDF``); a raw key costs nothing. If a key does not fit,
/// opening throws ``StoreError`` with ``StoreError/Code/wrongKey``, ``StoreError/Code/keyRequired`` or ``StoreError/Code/keyFileMissing``.
/// A key is a `Sendable` value, and never prints its content.
public enum StoreKey: Sendable {
  /// Exactly 32 random bytes that wrap the data key in a slot, without key derivation.
  case raw(SecretBytes)
  /// The 32 bytes of the data key itself. There is no key file, and a wrong key cannot be distinguished from a damaged store.
  case databaseKey(SecretBytes)
  /// A passphrase from which scrypt derives the key that wraps the data key in a slot.
  case passphrase(SecretBytes, KDF = .scrypt())
  /// A provider that is called at each unlock, for example for a keyring.
  case provider(any StoreKeyProvider)
  /// A passphrase with SQLCipher's own key derivation, so that SQLCipher's shell and other programs can open the file. There is no key
  /// file, changing the passphrase rewrites the store, and a wrong passphrase cannot be distinguished from a damaged store.
  case sqlcipherPassphrase(SecretBytes, SQLCipherFormat)

  /// Returns a passphrase key for a text. See ``SecretBytes/init(utf8:)`` for how the text is converted.
  ///
  /// - Parameters:
  ///   - text: The passphrase.
  ///   - kdf: The key derivation function.
  /// - Returns: The key.
  public static func passphrase(_ text: String, _ kdf: KDF = .scrypt()) -> StoreKey {
    .passphrase(SecretBytes(utf8: text), kdf)
  }

  /// Returns a key with SQLCipher's own key derivation for a text, by default in the portable format.
  ///
  /// - Parameters:
  ///   - text: The passphrase.
  ///   - format: The page format.
  /// - Returns: The key.
  public static func sqlcipherPassphrase(_ text: String, _ format: SQLCipherFormat = .portable) -> StoreKey {
    .sqlcipherPassphrase(SecretBytes(utf8: text), format)
  }

  /// Returns the key for a printed recovery key. Groups, spaces and letter case are ignored.
  ///
  /// - Parameter text: The recovery key.
  /// - Returns: The key, or `nil` if the text is not a recovery key or a group is mistyped.
  public static func recoveryKey(_ text: String) -> StoreKey? {
    guard let secret = try? RecoveryKey.parse(text) else { return nil }
    return .raw(secret)
  }
}

extension StoreKey: CustomStringConvertible, CustomReflectable {
  /// The kind of key, without its bytes.
  public var description: String {
    switch self {
    case .raw: "raw key <redacted>"
    case .databaseKey: "database key <redacted>"
    case .passphrase(_, let kdf): "passphrase <redacted>, \(kdf)"
    case .provider: "key provider"
    case .sqlcipherPassphrase(_, let format): "SQLCipher passphrase <redacted>, \(format)"
    }
  }
  /// A mirror without children, so that `dump` prints nothing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A type that provides a store's key when it is needed, for example from the system's keyring or a prompt.
///
/// ```swift
/// struct Prompt: StoreKeyProvider {
///   func key(for request: StoreKeyRequest) async throws -> SecretBytes {
///     SecretBytes(utf8: try await ask(request.attempt == 1 ? "Passphrase:" : "That was not it. Passphrase:"))
///   }
/// }
/// ```
///
/// Opening a store calls the provider outside the caller's isolation, and again after a wrong key. If it throws, opening fails with
/// ``StoreError`` with ``StoreError/Code/keyProviderFailed`` and that error as its underlying error.
public protocol StoreKeyProvider: Sendable {
  /// Returns the key. 32 bytes are used as a raw key, any other number as a passphrase.
  ///
  /// - Parameter request: The store that needs the key, and the reason.
  /// - Returns: The key.
  /// - Throws: Any error; opening the store then fails with it as the underlying error. Throw `CancellationError` if the user cancels.
  func key(for request: StoreKeyRequest) async throws -> SecretBytes
}

/// A request to a key provider: the store that needs a key, the reason, and the number of the attempt.
public struct StoreKeyRequest: Sendable {
  /// The reason why a key is needed.
  public enum Reason: Sendable, Hashable {
    /// An existing store is opened.
    case open
    /// A new store is created, with this as its first key.
    case create
    /// A slot is added or changed.
    case changeKeys
  }

  /// The location of the store's file.
  public let url: URL
  /// The store's identifier in its key file, or `nil` for a new store.
  public let storeID: UUID?
  /// The slots of the key file to choose from.
  public let slots: [KeySlot]
  /// The number of the attempt: 1 for the first, more after a wrong key.
  public let attempt: Int
  /// The reason why the key is needed.
  public let reason: Reason

  package init(url: URL, storeID: UUID?, slots: [KeySlot], attempt: Int, reason: Reason) {
    self.url = url
    self.storeID = storeID
    self.slots = slots
    self.attempt = attempt
    self.reason = reason
  }
}

// MARK: - Reading secrets

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
