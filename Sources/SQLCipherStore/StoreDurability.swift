// StoreDurability: what a power cut may cost.

/// What a power cut may cost.
public enum StoreDurability: Sendable, Hashable {
  /// No acknowledged save is lost (`synchronous=FULL`); a save waits for the disk, about 4 ms.
  case full
  /// A power cut may lose the last saves; the file stays sound (`synchronous=NORMAL`). A crash of the process loses nothing.
  case fast
}
