import ObjectStore

/// An index of a store's file.
struct StoreIndex: Sendable {
  /// Its name in the file, not quoted.
  let name: String
  /// The statement that makes it.
  let sql: String
  /// The quoted table.
  let table: String
  /// The columns and expressions, as the statement has them.
  let elements: [String]
  /// The condition of a partial index with ` WHERE ` before it; empty where there is none.
  let condition: String
  /// What the model knows it as.
  let meaning: FetchExplanation.Index
  /// The query of how many rows its table has.
  let rowCount: String
}
