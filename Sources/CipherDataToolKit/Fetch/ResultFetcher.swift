package import ObjectContext
package import ObjectModel
package import ObjectQuery
import ObjectStore

/// A writer for fetched objects. Memory holds the IDs of the result and one batch of objects.
package struct ResultFetcher {
  let context: ManagedObjectContext
  let model: CompiledModel
  let batchSize: Int

  /// Creates a fetcher for a context, which must not be used elsewhere.
  package init(_ context: ManagedObjectContext, batchSize: Int = 500) {
    self.context = context
    model = context.persistentStoreCoordinator.compiledModel
    self.batchSize = batchSize
  }

  /// Returns the entity with a name.
  ///
  /// - Throws: ``ToolError`` with ``ExitStatus/usage`` and the names of existing entities.
  package func entity(named name: String) throws -> CompiledEntity {
    try model.requireEntity(named: name)
  }

  /// Returns the default columns of an entity: its attributes.
  package func defaultPaths(of entity: CompiledEntity) -> [String] {
    entity.slots.filter { $0.attribute != nil && !$0.isTransient && $0.kind != .none }.map(\.name)
  }

  /// Writes the result of a request.
  ///
  /// - Parameters:
  ///   - specification: The request.
  ///   - paths: The columns.
  ///   - format: The output format.
  ///   - sink: The destination of the rows.
  package func write(_ specification: FetchSpecification, paths: [String], format: OutputFormat, to sink: OutputSink) throws {
    let entity = try entity(named: specification.entityName)
    let columns = try paths.map { try PropertyPath($0, of: entity, in: model) }
    let identities = IdentityTable(model)
    var request = FetchRequest<ManagedObjectID>(entityName: entity.name)
    request.specification = specification
    let ids = try context.fetch(request)
    let writer = try format.writer(columns: paths, to: sink)
    let isCell = format.hasCells
    for start in stride(from: 0, to: ids.count, by: batchSize) {
      let chunk = Array(ids[start..<min(start + batchSize, ids.count)])
      for object in try context.objects(with: chunk, entityName: entity.name) {
        let row = columns.map { $0.value(of: object, identities: identities, isCell: isCell) }
        // A value that could not be read would look like a missing one.
        if let error = context.pendingError { throw error }
        try writer.write(row)
      }
      context.releaseAllObjects()
    }
    try writer.finish()
    try sink.flush()
  }
}

extension CompiledModel {
  /// Returns the entity with a name.
  ///
  /// - Throws: ``ToolError`` with ``ExitStatus/usage`` and the names of existing entities.
  package func requireEntity(named name: String) throws -> CompiledEntity {
    guard let entity = entity(named: name) else {
      throw ToolError(.usage, "The store has no entity “\(name)”; \(ToolError.advice(for: name, among: entities.map(\.name)))")
    }
    return entity
  }
}
