import ObjectModel
import ObjectQuery
import ObjectStore

/// Conditions of partial indexes.
enum PartialIndex {
  /// The condition of an entity's partial index, for its predicate in format language; nil where SQLite cannot index by it: paths to other objects,
  /// functions of ours, which a later version of SQLite would not let a schema call, and a predicate that cannot be read (``IndexFormats``).
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
