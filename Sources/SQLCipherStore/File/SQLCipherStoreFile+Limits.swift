package import ObjectModel
import ObjectStore

extension SQLCipherStoreFile {
  /// What a new store of a model exceeds of the linked library's limits, as issues of the entities concerned.
  package static func limitIssues(of model: CompiledModel) -> [ModelIssue] {
    let layout = TableLayout(model: model, entityNumbers: model.entities.map(\.number))
    guard let schema = try? StoreSchema(model: model, layout: layout), let problem = SchemaLimits(schema: schema).problem else { return [] }
    let error = StoreError(problem, operation: .create)
    return [ModelIssue(entityName: error.entityName, reason: error.message)]
  }
}
