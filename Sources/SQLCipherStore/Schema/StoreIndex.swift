import ObjectStore

/// An index of a store's file.
struct StoreIndex: Sendable {
  /// The unquoted name in the file.
  let name: String
  let sql: String
  /// The quoted name of its table.
  let table: String
  /// The columns and expressions, as SQL text.
  let elements: [String]
  /// The condition of a partial index, including ` WHERE `; empty if there is none.
  let condition: String
  /// The index in terms of the model.
  let meaning: FetchExplanation.Index
  /// The query that counts the rows of its table.
  let rowCount: String
}
