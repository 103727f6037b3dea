/// The settings of a connection: journal, durability, cache, waiting. Each is read back after it is set.
package struct ConnectionOptions: Sendable, Hashable {
  /// The journal mode.
  package enum JournalMode: String, Sendable, Hashable {
    /// Write-ahead log: readers and the writer do not block each other.
    case wal
    /// Rollback journal, for a database that must consist of a single file.
    case delete
  }

  /// The guarantee for commits after a power failure.
  package enum Durability: Sendable, Hashable {
    /// No acknowledged commit is lost (`synchronous=FULL`).
    case full
    /// The last commits may be lost, but the file stays consistent (`synchronous=NORMAL`).
    case fast
  }

  package var journalMode: JournalMode = .wal
  package var durability: Durability = .full
  /// The page cache of each connection, in KiB. The default is 16 MiB: with SQLite's 2 MB, inserts take twice as long and deletes 5.5
  /// times.
  package var cacheSizeKiB = 16_384
  /// The maximum time to wait for another connection's lock, in milliseconds.
  package var busyTimeoutMilliseconds = 5_000
  package var isReadOnly = false
  /// Whether declared foreign keys are enforced.
  package var enforcesForeignKeys = false
  /// The number of pages in the write-ahead log after which a commit starts a checkpoint.
  package var checkpointPages = 1_000

  /// Whether the journal mode of the file stays unchanged. Changing it writes.
  var keepsJournalMode = false

  /// Whether to omit settings that keep SQLCipher's export from writing the copy's schema. For connections that only export.
  var isForExport = false

  /// Whether to skip the check of the log's pages. Set for further connections of a pool, whose first connection has checked them.
  var trustsLog = false

  /// Whether the file and its folder cannot be written, so that SQLite needs neither locks nor an index of the log. For read-only access.
  var isImmutable = false

  package init() {}
}
