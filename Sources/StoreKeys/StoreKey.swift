public import Foundation

/// The key of a store.
///
/// ```swift
/// var description = PersistentStoreDescription(url: url, key: .passphrase("correct horse battery staple"))
/// if let bytes = SecretBytes.random() { description.key = .raw(bytes) }  // keep the bytes in the system's keyring
/// ```
///
/// The database itself is always encrypted with a random data key. With ``raw(_:)``, ``passphrase(_:_:)-enum.case`` and ``provider(_:)`` the data key lies wrapped in the
/// *slots* of a small key file beside the store (`<store>.keys`): a passphrase changes without the database being written again, several people can have keys
/// of their own, and a wrong key can be told from a damaged file. Such a store cannot be opened without its key file: back that up too.
///
/// A passphrase costs some tenths of a second at each opening, on purpose (``KDF``); a raw key costs nothing. Opening the store tells what is wrong with a key:
/// it throws ``StoreError`` with ``StoreError/Code/wrongKey``, ``StoreError/Code/keyRequired`` or ``StoreError/Code/keyFileMissing``. A key is a value that may
/// be sent anywhere, and never prints what it holds.
public enum StoreKey: Sendable {
  /// Exactly 32 random bytes that wrap the data key in a slot; nothing is stretched.
  case raw(SecretBytes)
  /// The 32 bytes of the data key itself. There is no key file, and a wrong key cannot be told from a damaged store.
  case databaseKey(SecretBytes)
  /// A passphrase, stretched by scrypt, that wraps the data key in a slot.
  case passphrase(SecretBytes, KDF = .scrypt())
  /// A provider that is asked at each unlock, for example a keyring.
  case provider(any StoreKeyProvider)
  /// SQLCipher's own passphrase derivation, so that SQLCipher's shell and other programs open the file. There is no key file; changing the
  /// passphrase rewrites the store; a wrong passphrase cannot be told from a damaged store.
  case sqlcipherPassphrase(SecretBytes, SQLCipherFormat)

  /// A passphrase from text; see ``SecretBytes/init(utf8:)`` for what becomes of the text.
  ///
  /// - Parameters:
  ///   - text: The passphrase.
  ///   - kdf: How it is stretched.
  /// - Returns: The key.
  public static func passphrase(_ text: String, _ kdf: KDF = .scrypt()) -> StoreKey {
    .passphrase(SecretBytes(utf8: text), kdf)
  }

  /// SQLCipher's own passphrase derivation from text, in the portable format.
  ///
  /// - Parameters:
  ///   - text: The passphrase.
  ///   - format: The page format.
  /// - Returns: The key.
  public static func sqlcipherPassphrase(_ text: String, _ format: SQLCipherFormat = .portable) -> StoreKey {
    .sqlcipherPassphrase(SecretBytes(utf8: text), format)
  }

  /// A recovery key as it was printed; groups, spaces and letter case do not matter.
  ///
  /// - Parameter text: The recovery key.
  /// - Returns: The key; `nil` where the text is no recovery key, or a group is mistyped.
  public static func recoveryKey(_ text: String) -> StoreKey? {
    guard let secret = try? RecoveryKey.parse(text) else { return nil }
    return .raw(secret)
  }
}

extension StoreKey: CustomStringConvertible, CustomReflectable {
  /// The kind of key, never its bytes.
  public var description: String {
    switch self {
    case .raw: "raw key <redacted>"
    case .databaseKey: "database key <redacted>"
    case .passphrase(_, let kdf): "passphrase <redacted>, \(kdf)"
    case .provider: "key provider"
    case .sqlcipherPassphrase(_, let format): "SQLCipher passphrase <redacted>, \(format)"
    }
  }
  /// A mirror without children, so that `dump` shows nothing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Gives a store's key when it is needed, for example from the system's keyring or a prompt.
///
/// ```swift
/// struct Prompt: StoreKeyProvider {
///   func key(for request: StoreKeyRequest) async throws -> SecretBytes {
///     SecretBytes(utf8: try await ask(request.attempt == 1 ? "Passphrase:" : "That was not it. Passphrase:"))
///   }
/// }
/// ```
///
/// Opening asks it off the caller's isolation, and again after a wrong answer. An error that it throws ends the opening, which throws
/// ``StoreError`` with ``StoreError/Code/keyProviderFailed`` and that error beneath.
public protocol StoreKeyProvider: Sendable {
  /// Gives the key. 32 bytes are taken as a raw key, any other number as a passphrase.
  ///
  /// - Parameter request: Which store asks, and why.
  /// - Returns: The key.
  /// - Throws: Whatever went wrong; the store's opening then fails with that error inside. `CancellationError` means that the user gave up.
  func key(for request: StoreKeyRequest) async throws -> SecretBytes
}

/// What a key provider gets to know: which store needs a key, why, and for which time.
public struct StoreKeyRequest: Sendable {
  /// Why the key is needed.
  public enum Reason: Sendable, Hashable {
    /// An existing store is opened.
    case open
    /// A new store is created, and this becomes its first key.
    case create
    /// A slot is added or changed.
    case changeKeys
  }

  /// The store's file.
  public let url: URL
  /// The store's identifier in its key file; `nil` for a new store.
  public let storeID: UUID?
  /// The slots of the key file, to choose from.
  public let slots: [KeySlot]
  /// 1 for the first time, more after a key that did not fit.
  public let attempt: Int
  /// Why the key is needed.
  public let reason: Reason

  package init(url: URL, storeID: UUID?, slots: [KeySlot], attempt: Int, reason: Reason) {
    self.url = url
    self.storeID = storeID
    self.slots = slots
    self.attempt = attempt
    self.reason = reason
  }
}
