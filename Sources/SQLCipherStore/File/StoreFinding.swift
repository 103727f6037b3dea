/// A result of ``SQLCipherStoreFile/findings(_:progress:)``.
///
/// ```swift
/// let file = try await SQLCipherStoreFile.unlock(at: url, key: key)
/// let findings = try await file.findings(.quick)
/// if findings.contains(where: { $0.kind == .damage }) { print("restore a backup") }
/// if findings.contains(where: { $0.kind == .leftover }) { try await file.sweepExternalFiles() }
/// ```
public struct StoreFinding: Sendable, Hashable, CustomStringConvertible {
  /// The severity of a finding.
  public enum Kind: Sendable, Hashable {
    /// Data of the store is wrong, missing or changed. Restore a backup.
    case damage
    /// A file next to the store is not referenced, such as that of a large value whose process was killed during a save. The store is
    /// intact. ``SQLCipherStoreFile/sweepExternalFiles()`` and the next opening for writing remove such files.
    case leftover
  }

  /// The severity.
  public var kind: Kind
  /// A description in one line. It contains names of tables, indexes and files, and page numbers, but no values.
  public var description: String

  init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }
}
