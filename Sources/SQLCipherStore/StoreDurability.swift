/// What a power cut may cost.
///
/// ```swift
/// var description = PersistentStoreDescription(url: url, key: key)
/// description.durability = .fast
/// ```
///
/// Neither choice can damage a store. It holds for the saves of one opening, and is not kept in the file.
public enum StoreDurability: Sendable, Hashable {
  /// No acknowledged save is lost (`synchronous=FULL`); a save waits for the disk, about 4 ms.
  case full
  /// A power cut may lose the last saves; the file stays sound (`synchronous=NORMAL`). A crash of the process loses nothing.
  case fast
}
