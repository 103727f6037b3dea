import ObjectStore

/// A part of a migration, in words and in SQL.
struct MigrationStep {
  /// What is done.
  enum Work {
    /// Statements that touch the schema only.
    case schema([String])
    /// A statement that goes through a table in portions.
    case portions(Portions)
    /// References that are written into a column from another table's links.
    case links(LinkFill)
    /// Triggers and full-text tables go, as rows change under them; they are made and filled again in the end.
    case dropFollowers
    /// Indexes that the newer schema does not have go, before rows change under them.
    case dropIndexes
    /// The application does its part.
    case handler(StoreMigrationStep)
    /// Indexes, triggers, full-text tables and derived values are brought in step.
    case makeAuxiliaries
  }

  /// What is done, in words.
  let summary: String
  let work: Work
  /// What the step counts as in the progress: the query of the number of its rows, asked before the migration begins.
  var countSQL: String?
  /// The numbers of the older entities whose objects the step concerns, where nothing else decides which.
  var entities: [Int]?
}

/// Links read from one table and written into a to-one column of another, a portion at a time: correlated subqueries would need indexes.
struct LinkFill {
  /// Reads key, reference, the reference's entity number and the order; with the bounds of a range of keys as placeholders.
  let read: Portions
  /// Writes one row: the key is placeholder 1, then what was read. A row that has a reference already keeps it.
  let write: String
  /// The number of values that `read` gives and `write` takes.
  let valueCount: Int32
}

/// A question to the stored rows that has to be answered with 0 before a migration may begin.
struct MigrationCheck {
  /// Counts what stands against the migration.
  let sql: String
  /// The error for a count above 0.
  let error: (Int) -> StoreError
}
