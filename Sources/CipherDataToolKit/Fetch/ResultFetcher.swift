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

// MARK: - Computed columns

extension ResultFetcher {
  /// Writes the result of a dictionary request.
  ///
  /// Groups are few and are fetched together. Rows of single objects are fetched in batches, so that memory does not grow with their
  /// number.
  func writeComputed(_ specification: FetchSpecification, format: OutputFormat, to sink: OutputSink) throws {
    let resolved = try FetchResolver(model: model).resolve(specification)
    guard let projection = resolved.projection else { throw StoreError(.noColumns) }
    let writer = try format.writer(columns: projection.columns.map(\.name), to: sink)
    if projection.isGrouped || projection.isDistinct {
      try write(try context.dictionaryResults(of: specification), format, writer)
    } else {
      try forEachBatch(specification) { try write($0, format, writer) }
    }
    try writer.finish()
    try sink.flush()
  }

  /// Fetches the objects' IDs, and then computes the columns batch by batch.
  private func forEachBatch(_ specification: FetchSpecification, _ body: (DictionaryResults) throws -> Void) throws {
    let names = Dictionary(specification.propertiesToFetch.map { ($0.name, $0.expression) }, uniquingKeysWith: { first, _ in first })
    var request = FetchRequest<ManagedObjectID>(entityName: specification.entityName, predicate: specification.predicate)
    request.sortDescriptors = specification.sortDescriptors.map { key in
      var key = key
      if let expression = key.keyPath.flatMap({ names[$0] }) { key.expression = expression }
      return key
    }
    request.fetchLimit = specification.fetchLimit
    request.fetchOffset = specification.fetchOffset
    let ids = try context.fetch(request)
    for start in stride(from: 0, to: ids.count, by: batchSize) {
      let batch = ids[start..<min(start + batchSize, ids.count)]
      var part = FetchSpecification(entityName: specification.entityName)
      part.resultType = .dictionaries
      part.predicate = .comparison(
        FetchComparison(left: .evaluatedObject, op: .in, right: .constant(.list(batch.map(FetchConstant.object)))))
      // The last column is the object itself, to restore the order of rows.
      part.propertiesToFetch = specification.propertiesToFetch + [.expression(.evaluatedObject, as: "")]
      let found = try context.dictionaryResults(of: part)
      let byObject = Dictionary(found.rows.map { ($0.values.last, $0) }, uniquingKeysWith: { first, _ in first })
      let ordered = batch.compactMap { byObject[.int($0.reference.rawValue)] }
      try body(DictionaryResults(columns: found.columns.dropLast(), rows: ordered, entity: found.entity, model: model))
    }
  }

  private func write(_ results: DictionaryResults, _ format: OutputFormat, _ writer: any ResultWriter) throws {
    let isCell = format.hasCells
    for start in stride(from: 0, to: results.rows.count, by: batchSize) {
      let batch = results.rows[start..<min(start + batchSize, results.rows.count)]
      let labels = try labels(of: batch, results)
      for row in batch {
        try writer.write(
          results.columns.indices.map { column in
            let value = row.values[column]
            return switch results.columns[column].content {
            case .attribute(let attribute): ValueCoding.output(value, type: attribute.type, isCell: isCell)
            case .value(let type): ValueCoding.output(value, type: type, isCell: isCell)
            case .object: results.objectID(row, column).flatMap { labels[$0] } ?? .null
            case .entity: entityName(value)
            }
          })
      }
    }
  }

  private func entityName(_ value: Slot) -> JSONValue {
    guard case .int(let number) = value, model.entities.indices.contains(Int(number)) else { return .null }
    return .string(model.entities[Int(number)].name)
  }

  /// Returns the names of the objects in columns: the values of their keys, as in other results.
  private func labels(of rows: ArraySlice<DictionaryResults.Row>, _ results: DictionaryResults) throws -> [ManagedObjectID: JSONValue] {
    var idsByEntity: [UInt32: Set<ManagedObjectID>] = [:]
    for (index, column) in results.columns.enumerated() {
      guard case .object = column.content else { continue }
      for id in rows.compactMap({ results.objectID($0, index) }) { idsByEntity[id.entityNumber, default: []].insert(id) }
    }
    guard !idsByEntity.isEmpty else { return [:] }
    let identities = IdentityTable(model)
    var labels: [ManagedObjectID: JSONValue] = [:]
    for (number, ids) in idsByEntity {
      for object in try context.objects(with: Array(ids), entityName: model.entities[Int(number)].name) {
        labels[object.objectID] = identities.label(of: object)
      }
      if let error = context.pendingError { throw error }
    }
    context.releaseAllObjects()
    return labels
  }
}

extension DictionaryResults {
  /// Returns the object ID in a column.
  fileprivate func objectID(_ row: Row, _ column: Int) -> ManagedObjectID? {
    guard case .int(let word) = row.values[column] else { return nil }
    let reference = ObjectReference(rawValue: word)
    return ManagedObjectID(space: row.space, entityNumber: UInt32(reference.entity), key: reference.key)
  }
}

extension StoreError.Reason {
  static var noColumns: Self { Self(.internalInconsistency, "The fetch has no columns.") }
}
