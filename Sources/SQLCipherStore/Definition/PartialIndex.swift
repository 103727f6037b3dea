import ObjectModel
import ObjectQuery
import ObjectStore

/// Translates predicates of partial indexes to SQL.
enum PartialIndex {
  /// Returns the SQL condition for the predicate format of an entity's partial index, or `nil` if SQLite cannot index it.
  ///
  /// Paths to other objects, functions of this library (later versions of SQLite do not allow a schema to call them), and invalid formats
  /// (``IndexFormats``) cannot be indexed.
  static func condition(_ format: String, of entity: CompiledEntity, schema: StoreSchema) throws -> String? {
    guard let fetch = try? IndexFormats.resolved(format, of: entity, in: schema.model) else { return nil }
    let table = try schema.table(of: entity.number)
    let generator = QueryGenerator(schema: schema, constants: .literals(fetch.constants))
    let scope = QueryScope(table: table, alias: table.name)
    let condition = try generator.condition(fetch.predicate, [scope])
    guard scope.joinCount == 0, !condition.hasSubquery, !condition.text.contains("cd_") else { return nil }
    return condition.text
  }
}
