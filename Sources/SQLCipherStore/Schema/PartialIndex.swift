// PartialIndex: the predicate of a partial index as SQL.
import ObjectModel
import ObjectQuery
import ObjectStore

enum PartialIndex {
  /// The condition of an entity's partial index, for its predicate in format language.
  static func condition(_ format: String, of entity: CompiledEntity, schema: StoreSchema) throws -> String {
    throw StoreError(.invalidRequest, "The partial index of “\(entity.name)” cannot be created yet: \(format)", operation: "create")
  }
}
