// How a connection works: journal, durability, cache, waiting.

/// What a connection is set to; each value is read back after it is set.
package struct ConnectionOptions: Sendable, Hashable {
  /// How a commit is recorded.
  package enum JournalMode: String, Sendable, Hashable {
    /// Write-ahead log: readers and the writer do not wait for each other.
    case wal
    /// Rollback journal, for a file that must stand alone.
    case delete
  }

  /// What a power cut may cost.
  package enum Durability: Sendable, Hashable {
    /// No acknowledged commit is lost (`synchronous=FULL`).
    case full
    /// The last commits may be lost, the file stays sound (`synchronous=NORMAL`).
    case fast
  }

  package var journalMode: JournalMode = .wal
  package var durability: Durability = .full
  /// The page cache of each connection in KiB. 16 MiB: with SQLite's 2 MB inserts take twice as long and deletes 5.5 times.
  package var cacheSizeKiB = 16_384
  /// How long a connection waits for another one's lock.
  package var busyTimeoutMilliseconds = 5_000
  package var isReadOnly = false
  /// Whether the declared foreign keys are enforced.
  package var enforcesForeignKeys = false
  /// Pages in the write-ahead log after which a commit copies them into the file.
  package var checkpointPages = 1_000

  /// Leaves the journal mode as the file has it: changing it writes.
  var keepsJournalMode = false

  /// Leaves out what would stop SQLCipher's export from writing the copy's schema; for connections that do nothing else.
  var isForExport = false

  /// Leaves out the check of the log's pages: set for the further connections of a pool, whose first one has checked them.
  var trustsLog = false

  /// Whether nobody can write the file or beside it, so that SQLite needs no locks and no index of the log; for files that are only read.
  var isImmutable = false

  package init() {}
}
