// StoreIndex: an index of a store's file, with what the model knows it as.
import ObjectStore

/// An index of a store's file.
struct StoreIndex: Sendable {
  /// Its name in the file, not quoted.
  let name: String
  /// The statement that makes it.
  let sql: String
  /// What the model knows it as.
  let meaning: FetchExplanation.Index
}
