import ObjectStore

/// A step of a migration, with its description and its SQL.
struct MigrationStep {
  /// The kinds of changes that migrations make to a file.
  enum Work {
    /// Runs statements that change the schema only.
    case schema([String])
    /// Runs a statement on a table in batches.
    case batches(Batches)
    /// Writes references to a column from the links of another table.
    case links(LinkFill)
    /// Drops triggers and full-text tables before rows change. They are recreated and filled at the end.
    case dropFollowers
    /// Drops indexes that the newer schema does not have, before rows change.
    case dropIndexes
    /// Runs the application's handler.
    case handler(StoreMigrationStep)
    /// Updates indexes, triggers, full-text tables and derived values.
    case makeAuxiliaries
  }

  let summary: String
  let work: Work
  /// The query that counts the rows of the step for progress reports. It runs before the migration begins.
  var countSQL: String?
  /// The numbers of the older entities whose objects the step processes, if only the entity determines them.
  var entities: [Int]?
}

/// Reads links from one table and writes them to a to-one column of another, in batches. Correlated subqueries would need indexes instead.
struct LinkFill {
  /// Selects key, reference, the reference's entity number and the order in a key range.
  let read: Batches
  /// Updates one row unless it already has a reference. Placeholder 1 is the key, the other selected values follow.
  let write: String
  /// The number of values that `read` selects and `write` binds.
  let valueCount: Int32
}

/// A check of the stored rows that must count 0 before a migration can begin.
struct MigrationCheck {
  /// Counts the rows that prevent the migration.
  let sql: String
  /// Returns the error for a count above 0.
  let error: (Int) -> StoreError
}
