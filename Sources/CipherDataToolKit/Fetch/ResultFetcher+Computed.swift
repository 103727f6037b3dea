// ResultFetcher+Computed: the columns that the store computes, of objects or of groups, written row by row.
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore

extension ResultFetcher {
  /// Writes the result of a request for dictionaries.
  ///
  /// Groups are few: they come at once. The rows of single objects come in batches, so that memory does not grow with the values.
  func writeComputed(_ specification: FetchSpecification, format: OutputFormat, to sink: OutputSink) throws {
    let resolved = try FetchResolver(model: model).resolve(specification)
    guard let projection = resolved.projection else { throw StoreError(.internalInconsistency, "The fetch has no columns.") }
    let writer = try format.writer(columns: projection.columns.map(\.name), to: sink)
    for store in context.persistentStoreCoordinator.persistentStores {
      if projection.isGrouped || projection.isDistinct {
        try write(try rows(specification, of: store), of: store, format, writer)
      } else {
        try forEachBatch(specification, of: store) { try write($0, of: store, format, writer) }
      }
    }
    try writer.finish()
    try sink.flush()
  }

  private func rows(_ specification: FetchSpecification, of store: PersistentStore) throws -> DictionaryRows {
    let scope = RequestScope(objectIDSpace: store.space)
    guard case .dictionaries(let rows) = try context.persistentStoreCoordinator.fetch(specification, from: store, scope: scope) else {
      throw StoreError(.internalInconsistency, "The store answered with a result of another kind.", operation: "fetch")
    }
    return rows
  }

  /// Finds the objects first, then computes the columns of a batch of them after the other.
  private func forEachBatch(_ specification: FetchSpecification, of store: PersistentStore, _ body: (DictionaryRows) throws -> Void) throws
  {
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
      // The object itself comes last, to find each row's place.
      part.propertiesToFetch = specification.propertiesToFetch + [.expression(.evaluatedObject, as: "")]
      let found = try rows(part, of: store)
      let byObject = Dictionary(
        found.rows.compactMap { row in row.last.map { ($0, Array(row.dropLast())) } }, uniquingKeysWith: { first, _ in first })
      try body(DictionaryRows(columns: found.columns.dropLast(), rows: batch.compactMap { byObject[.int($0.reference.rawValue)] }))
    }
  }

  private func write(_ rows: DictionaryRows, of store: PersistentStore, _ format: OutputFormat, _ writer: any ResultWriter) throws {
    let isCell = format.hasCells
    for start in stride(from: 0, to: rows.rows.count, by: batchSize) {
      let batch = rows.rows[start..<min(start + batchSize, rows.rows.count)]
      let labels = try labels(of: batch, rows.columns, in: store)
      for row in batch {
        try writer.write(
          zip(rows.columns, row).map { column, value in
            switch column.content {
            case .attribute(let attribute): ValueCoding.output(value, type: attribute.type, isCell: isCell)
            case .value(let type): ValueCoding.output(value, type: type, isCell: isCell)
            case .object: labels[value] ?? .null
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

  /// What the objects in columns are called: the values of their keys, as in other results.
  private func labels(of rows: ArraySlice<[Slot]>, _ columns: [DictionaryRows.Column], in store: PersistentStore) throws -> [Slot:
    JSONValue]
  {
    var idsByEntity: [Int: Set<ManagedObjectID>] = [:]
    for (index, column) in columns.enumerated() {
      guard case .object = column.content else { continue }
      for row in rows {
        guard case .int(let word) = row[index] else { continue }
        let reference = ObjectReference(rawValue: word)
        let id = ManagedObjectID(space: store.space.number, entityNumber: UInt32(reference.entity), key: reference.key)
        idsByEntity[Int(reference.entity), default: []].insert(id)
      }
    }
    guard !idsByEntity.isEmpty else { return [:] }
    let identities = IdentityTable(model)
    var labels: [Slot: JSONValue] = [:]
    for (number, ids) in idsByEntity {
      for object in try context.objects(with: Array(ids), entityName: model.entities[number].name) {
        labels[.int(object.objectID.reference.rawValue)] = identities.label(of: object)
      }
    }
    context.forgetEverything()
    return labels
  }
}
