/// One thing that ``SQLCipherStoreFile/findings(_:progress:)`` has found.
///
/// ```swift
/// let file = try await SQLCipherStoreFile.unlock(at: url, key: key)
/// let findings = try await file.findings(.quick)
/// if findings.contains(where: { $0.kind == .damage }) { print("restore a backup") }
/// if findings.contains(where: { $0.kind == .leftOver }) { try await file.sweepExternalFiles() }
/// ```
public struct StoreFinding: Sendable, Hashable, CustomStringConvertible {
  /// How bad it is.
  public enum Kind: Sendable, Hashable {
    /// Something that the store has is wrong, missing or changed: restore a backup.
    case damage
    /// Something lies beside the store that belongs to nothing in it, such as the file of a large value of a process that was killed while it saved. The store
    /// is sound. ``SQLCipherStoreFile/sweepExternalFiles()`` removes such files, and so does the next opening for writing.
    case leftOver
  }

  /// How bad it is.
  public var kind: Kind
  /// What was found, in one line: names of tables, indexes and files, numbers of pages; no values.
  public var description: String

  init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }
}
