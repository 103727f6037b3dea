package import ObjectModel
import ObjectStore

extension SQLCipherStoreFile {
  /// Returns the limits of the linked library that a new store of a model would exceed, as issues of the affected entities.
  package static func limitIssues(of model: CompiledModel) -> [ModelIssue] {
    let layout = TableLayout(model: model, entityNumbers: model.entities.map(\.number))
    guard let schema = try? StoreSchema(model: model, layout: layout), let problem = SchemaLimits(schema: schema).problem else { return [] }
    let error = StoreError(problem, operation: .create)
    return [ModelIssue(entityName: error.entityName, reason: error.message)]
  }
}
