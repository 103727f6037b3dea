/// The result of ``SQLCipherStoreFile/compact(updatesStatistics:progress:)``.
///
/// ```swift
/// let compaction = try await SQLCipherStoreFile.unlock(at: url, key: key).compact()
/// print("\(compaction.bytesBefore - compaction.bytesAfter) bytes were given back")
/// ```
public struct StoreCompaction: Sendable, Hashable {
  /// The size of the database and its log before, in bytes.
  public var bytesBefore: Int
  /// The size of the database after, in bytes. Without unused pages, it can be the same as before.
  public var bytesAfter: Int
}
