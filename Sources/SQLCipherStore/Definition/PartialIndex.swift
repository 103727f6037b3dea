// PartialIndex: the predicate of a partial index as SQL.
import ObjectModel
import ObjectQuery
import ObjectStore

/// Conditions of partial indexes.
enum PartialIndex {
  /// The condition of an entity's partial index, for its predicate in format language; nil where SQLite cannot index by it: paths to other objects,
  /// and functions of ours, which a later version of SQLite would not let a schema call.
  ///
  /// - Throws: ``StoreError`` where the predicate is none, or asks for what the model does not have.
  static func condition(_ format: String, of entity: CompiledEntity, schema: StoreSchema) throws -> String? {
    let fetch: ResolvedFetch
    do {
      fetch = try FetchResolver(model: schema.model).resolve(FetchPredicate(format: format, argumentArray: []), entity: entity)
    } catch {
      throw StoreError(.unusablePredicate(ofIndexOf: entity.name, problem: "\(error)"), operation: .create, underlying: error)
    }
    let table = try schema.table(of: entity.number)
    let generator = QueryGenerator(schema: schema, constants: .literals(fetch.constants))
    let scope = QueryScope(table: table, alias: table.name)
    let condition = try generator.condition(fetch.predicate, [scope])
    guard scope.joinCount == 0, !condition.hasSubquery, !condition.text.contains("cd_") else { return nil }
    return condition.text
  }
}
