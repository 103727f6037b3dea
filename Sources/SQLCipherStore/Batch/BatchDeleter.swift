import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection

/// Performs a batch deletion and its delete rules with set-based statements in one transaction. A temporary table for each entity table
/// contains the keys of the rows to delete.
struct BatchDeleter {
  private let batch: BatchTransaction
  private let space: ObjectIDSpace
  private var schema: StoreSchema { batch.schema }
  private var toDelete: Set<Int> = []
  private var released: Set<Int> = []

  init(_ batch: BatchTransaction, space: ObjectIDSpace) {
    self.batch = batch
    self.space = space
  }

  mutating func run(_ request: BatchDeleteRequest) throws -> BatchChanges {
    let start = try request.fetch.map { [try schema.table(of: entity(of: $0).number).index] } ?? tables(of: request.objectIDs)
    try prepareTables(from: start)
    if let fetch = request.fetch { try fill(fetch) } else { try fill(request.objectIDs) }
    try cascade(from: start)
    try checkDenyRules()
    let updated = try releaseReferences()
    var deleted: [ObjectReference] = []
    for index in toDelete.sorted() {
      let table = schema.tables[index]
      deleted += try batch.references(table.references(in: .toDelete(index)))
    }
    var changes = BatchChanges(updated: updated, deleted: deleted)
    changes.links = try links(of: deleted)
    try reportDeletions(deleted)
    if !deleted.isEmpty { try deleteRows() }
    for index in toDelete { try batch.empty(.toDelete(index)) }
    for index in released { try batch.empty(.released(index)) }
    return changes
  }

  // MARK: Selection

  private func entity(of fetch: FetchSpecification) throws -> CompiledEntity {
    guard let entity = schema.model.entity(named: fetch.entityName) else { throw FetchPredicateError.unknownEntity(name: fetch.entityName) }
    return entity
  }

  private func own(_ objectIDs: [ManagedObjectID]) -> [ManagedObjectID] { objectIDs.filter { space.key(of: $0) > 0 } }

  private func tables(of objectIDs: [ManagedObjectID]) throws -> [Int] {
    var found: Set<Int> = []
    for id in own(objectIDs) { found.insert(try schema.table(of: Int(id.entityNumber)).index) }
    return found.sorted()
  }

  private mutating func prepareTables(from start: [Int]) throws {
    var waiting = start
    toDelete = Set(start)
    while let table = waiting.popLast() {
      for cascade in cascades(from: table) where toDelete.insert(cascade.destination).inserted { waiting.append(cascade.destination) }
    }
    for index in toDelete.sorted() {
      try batch.prepare(.toDelete(index))
    }
  }

  private func fill(_ specification: FetchSpecification) throws {
    var specification = specification
    specification.resultType = .objectIDs
    let fetch = try FetchResolver(model: schema.model).resolve(specification)
    let plan = try batch.engine.plan(fetch, specification, FetchShape(fetch, specification: specification))
    guard case .identifiers(let numbering) = plan.output else {
      throw StoreError(.resultTypeMismatch, operation: .batchDelete)
    }
    var withEntities = false
    if case .stored = numbering { withEntities = true }
    let statement = try batch.connection.statement(
      sql: BatchTable.toDelete(plan.table.index).inserting(plan.sql, withEntities: withEntities))
    try batch.engine.bind(plan.binders, fetch, specification, space, to: statement)
    batch.engine.trace.record(statement)
    try statement.run()
  }

  private func fill(_ objectIDs: [ManagedObjectID]) throws {
    var keys: [Int: Set<Int64>] = [:]
    for id in own(objectIDs) { keys[try schema.table(of: Int(id.entityNumber)).index, default: []].insert(id.key) }
    for (index, keys) in keys.sorted(by: { $0.key < $1.key }) {
      let table = schema.tables[index]
      try KeyListSize.forEachChunk(of: Array(keys).sortedKeys()[...]) { chunk, size in
        let statement = try batch.connection.statement(
          sql: table.insertingKeys(in: .toDelete(index), size))
        try size.bind(chunk, to: statement)
        batch.engine.trace.record(statement)
        try statement.run()
      }
    }
  }

  // MARK: Delete rules

  /// A relationship with the delete rule cascade. The statement adds its destinations; its placeholders are their generation and that of
  /// their sources.
  private struct Cascade {
    let destination: Int
    let sql: String
  }

  private func cascades(from source: Int) -> [Cascade] {
    schema.model.relationships.compactMap { relationship in
      guard relationship.deleteEffect == .deletesMembers, !relationship.isTransient,
        schema.tableIfStored(relationship.sourceEntity)?.index == source,
        let table = schema.tableIfStored(relationship.destinationEntity)
      else { return nil }
      let (sources, found) = (BatchTable.toDelete(source), BatchTable.toDelete(table.index))
      let sql: String
      switch schema.relationships[relationship.id] {
      case .column(let index, let column): sql = table.cascade(into: found, through: column, of: schema.tables[index], sources)
      case .inverse(let side): sql = table.cascade(into: found, throughInverse: side.column, sources)
      case .join(let side): sql = side.cascade(into: found, of: table, sources)
      case .none: return nil
      }
      return Cascade(destination: table.index, sql: sql)
    }
  }

  /// Follows cascades from the rows found last until there are no new ones.
  private func cascade(from start: [Int]) throws {
    let cascades = Dictionary(uniqueKeysWithValues: toDelete.map { ($0, self.cascades(from: $0)) })
    var frontier = Set(start)
    var generation: Int64 = 0
    while !frontier.isEmpty {
      var next: Set<Int> = []
      for table in frontier.sorted() {
        for cascade in cascades[table] ?? [] {
          if try batch.run(cascade.sql, generation + 1, generation) > 0 { next.insert(cascade.destination) }
        }
      }
      frontier = next
      generation += 1
    }
  }

  /// Returns the rows of a table to delete, or `nil` if none can be.
  private func batchTable(_ table: Int) -> BatchTable? { toDelete.contains(table) ? .toDelete(table) : nil }

  private func checkDenyRules() throws {
    for relationship in schema.model.relationships where relationship.deleteEffect == .forbidsDeletion && !relationship.isTransient {
      guard let table = schema.tableIfStored(relationship.sourceEntity), toDelete.contains(table.index),
        let other = schema.tableIfStored(relationship.destinationEntity)
      else { continue }
      let condition: String
      switch schema.relationships[relationship.id] {
      case .column(_, let column): condition = other.isReferred(by: column, besides: batchTable(other.index))
      case .inverse(let side): condition = other.refers(by: side.column, to: table, besides: batchTable(other.index))
      case .join(let side): condition = side.linkExists(of: table, besides: batchTable(other.index))
      case .none: continue
      }
      let denying = try batch.references(table.denying(in: .toDelete(table.index), where: condition))
      if !denying.isEmpty {
        throw BatchError(denied: relationship, schema.model, denying.map { space.objectID(of: $0) })
      }
    }
  }

  /// Sets references from remaining rows to deleted rows to NULL, and increments the version of each of these rows by one.
  private mutating func releaseReferences() throws -> [ObjectReference] {
    var references = ReleasedReferences(batch)
    let releases = schema.model.nullifiedRelationships
    var counts: [Int: Int] = [:]
    for release in releases where batch.transaction.changes != nil {
      if case .column(let index, _) = schema.relationships[release.relationship.id] { counts[index, default: 0] += 1 }
    }
    for release in releases {
      let relationship = release.relationship
      guard case .column(let index, let column) = schema.relationships[relationship.id],
        let target = schema.tableIfStored(relationship.destinationEntity), toDelete.contains(target.index)
      else { continue }
      let table = schema.tables[index]
      var condition = table.refers(by: column, to: .toDelete(target.index), besides: batchTable(index))
      if !release.isMutual {
        guard let link = link(by: release.leading, to: table, column) else { continue }
        condition += " AND \(link)"
      }
      if !relationship.isOptional {
        let emptied = try batch.references(table.references(where: condition, isNaming: true))
        guard emptied.isEmpty else {
          throw BatchError(required: relationship, schema.model, emptied.map { space.objectID(of: $0) })
        }
        continue
      }
      if released.insert(index).inserted { try batch.prepare(.released(index)) }
      let count = try batch.run(table.insertingKeys(in: .released(index), where: condition))
      // Rows already in the table are not counted, but have this reference too.
      if count == 0, try batch.number(table.hasRow(where: condition)) == nil { continue }
      var order: String?
      if let inverse = schema.model.inverse(of: relationship), case .inverse(let side) = schema.relationships[inverse.id] {
        order = side.order
      }
      try references.add(column, of: table, where: condition, isOnly: counts[index] == 1)
      try batch.run(table.releasing(column, order: order, where: condition))
    }
    try references.report()
    var updated: [ObjectReference] = []
    for index in released.sorted() {
      let table = schema.tables[index]
      try batch.run(table.bumping(in: .released(index)))
      updated += try batch.references(table.references(in: .released(index)))
    }
    return updated
  }

  /// Returns the condition that the destination of a row's column refers back to the row by a relationship, or `nil` if the store does not
  /// contain the relationship.
  private func link(by relationship: CompiledRelationship, to table: EntityTable, _ column: TableColumn) -> String? {
    guard let source = schema.tableIfStored(relationship.sourceEntity) else { return nil }
    switch schema.relationships[relationship.id] {
    case .column(_, let own): return source.leads(by: own, to: table, from: column)
    case .join(let side): return side.leads(to: table, from: column)
    case .inverse, .none: return nil
    }
  }

  // MARK: Deleting

  /// Returns the to-one links that are deleted with rows. Observers that have read members determine the links in join tables themselves.
  private func links(of deleted: [ObjectReference]) throws -> BatchLinks {
    if deleted.count > BatchLinks.maximumRowCount { return .unknown }
    var changes: [LinkChanges] = []
    for index in Set(deleted.compactMap { schema.tableIfStored($0.entity)?.index }).sorted() {
      let table = schema.tables[index]
      for column in table.columns {
        guard let relationship = column.slot.relationship, schema.tableIfStored(relationship.destinationEntity) != nil else { continue }
        guard let links = try batch.links(by: column, of: table, in: .toDelete(index)) else { return .unknown }
        changes.append(LinkChanges(relationshipID: relationship.id, removed: links))
      }
    }
    return .listed(changes)
  }

  private func reportDeletions(_ deleted: [ObjectReference]) throws {
    guard batch.transaction.changes != nil, !deleted.isEmpty else { return }
    for relationship in schema.model.relationships {
      // Links are reported for the relationship that comes first.
      guard relationship.id <= schema.model.inverse(of: relationship)?.id ?? .max,
        case .join(let side) = schema.relationships[relationship.id]
      else { continue }
      let (near, far) = (schema.tableIfStored(side.nearEntityNumber)?.index, schema.tableIfStored(side.farEntityNumber)?.index)
      try batch.reportRemovedLinks(side, of: relationship, near: near.flatMap(batchTable), far: far.flatMap(batchTable))
    }
    var byTable: [Int: [ObjectReference]] = [:]
    for reference in deleted { byTable[try schema.table(of: reference.entity).index, default: []].append(reference) }
    for (index, references) in byTable.sorted(by: { $0.key < $1.key }) {
      try batch.reportDeletions(of: references, of: schema.tables[index], in: .toDelete(index))
    }
  }

  private func deleteRows() throws {
    struct Side: Hashable {
      let relationship: Int
      let isReversed: Bool
    }
    var done: Set<Side> = []
    for index in toDelete.sorted() {
      let table = schema.tables[index]
      for entity in table.root.subtree {
        for side in schema.joinSides[entity]
        where done.insert(Side(relationship: side.relationshipID, isReversed: side.isReversed)).inserted {
          try batch.run(side.deletion(in: .toDelete(index)))
        }
      }
      try batch.run(table.deletion(in: .toDelete(index)))
    }
  }
}
