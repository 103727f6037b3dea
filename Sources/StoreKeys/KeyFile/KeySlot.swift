public import Foundation

/// A key slot of a store: a key that unlocks it, as anyone who can read the key file sees it. It has a kind, a creation date and a label,
/// but does not contain the key.
///
/// ```swift
/// let file = try await SQLCipherStoreFile.unlock(at: url, key: key)
/// let recovery = try await file.addRecoveryKey()
/// print("write this down:", recovery.text)
/// for slot in file.keySlots where slot.kind == .recovery && slot.id != recovery.slot.id {
///   try await file.removeKey(slot.id)
/// }
/// ```
///
/// Adding a passphrase takes as long as one attempt to guess it, about half a second. The last slot of a store cannot be removed:
/// `removeKey` throws ``StoreError``.
public struct KeySlot: Sendable, Hashable, Identifiable {
  /// The kind of key that unlocks the slot.
  public enum Kind: UInt8, Sendable, Hashable {
    /// A passphrase.
    case passphrase = 1
    /// A raw key of 32 bytes.
    case rawKey = 2
    /// A printed recovery key.
    case recovery = 3
  }

  /// The slot's identifier.
  public let id: UUID
  /// The kind of key that unlocks the slot.
  public let kind: Kind
  /// The label of the slot. It is not secret.
  public let label: String
  /// The creation date.
  public let created: Date
  /// The key derivation function of a passphrase, or `nil` for other kinds.
  public let kdf: KDF?
}
