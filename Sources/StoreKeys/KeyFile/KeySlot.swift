public import Foundation

/// One way to unlock a store, as the key file describes it to everybody who can read it: what kind of key, since when, under which label. The key itself
/// is not in it.
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
/// Adding a passphrase costs the time that one attempt to guess it costs, about half a second. The last slot that opens a store cannot be removed: `removeKey`
/// throws ``StoreError``.
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
  /// How the passphrase is stretched; `nil` where nothing is stretched.
  public let kdf: KDF?
}
