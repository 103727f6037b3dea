/// The durability of saves when power fails.
///
/// ```swift
/// var description = PersistentStoreDescription(url: url, key: key)
/// description.durability = .fast
/// ```
///
/// Neither setting risks damage to the store. It applies to the saves of one opening, and is not stored in the file.
public enum StoreDurability: Sendable, Hashable {
  /// No acknowledged save is lost (`synchronous=FULL`). Each save waits for the disk, about 4 ms.
  case full
  /// A power failure can lose the most recent saves, but does not damage the file (`synchronous=NORMAL`). A crash of the process loses
  /// nothing.
  case fast
}
