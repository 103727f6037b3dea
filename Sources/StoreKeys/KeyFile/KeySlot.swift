// A slot of a key file as everybody may see it.

public import Foundation

/// One way to unlock a store, as the key file describes it to everybody who can read it: what kind of key, since when, under which label. The key itself is not in it.
///
/// ``SQLCipherStoreFile/keySlots`` lists them, and ``SQLCipherStoreFile/removeKey(_:)`` takes a slot's ``id``.
public struct KeySlot: Sendable, Hashable, Identifiable {
  /// What unlocks the slot.
  public enum Kind: UInt8, Sendable, Hashable {
    /// A passphrase.
    case passphrase = 1
    /// 32 bytes.
    case rawKey = 2
    /// A printed recovery key.
    case recovery = 3
  }

  /// The slot's identifier.
  public let id: UUID
  /// What unlocks it.
  public let kind: Kind
  /// The name that was given to it; not secret.
  public let label: String
  /// When it was made.
  public let created: Date
  /// How the passphrase is stretched; `nil` where nothing is.
  public let kdf: KDF?
}
