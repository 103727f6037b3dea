/// What ``SQLCipherStoreFile/compact(updatesStatistics:progress:)`` has come to.
///
/// ```swift
/// let compaction = try await SQLCipherStoreFile.unlock(at: url, key: key).compact()
/// print("\(compaction.bytesBefore - compaction.bytesAfter) bytes were given back")
/// ```
public struct StoreCompaction: Sendable, Hashable {
  /// The bytes that the database and its log had.
  public var bytesBefore: Int
  /// The bytes that the database has now. A store that had no unused pages may be as large as before.
  public var bytesAfter: Int
}
