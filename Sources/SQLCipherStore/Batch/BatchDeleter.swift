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
    var (updatedCount, deletedCount) = (0, 0)
    if let fetch = request.fetch {
      let selection = try selection(fetch)
      if fetch.fetchLimit > 0 || fetch.fetchOffset > 0 {
        let count = try fill(selection, .all)
        if count > 0 { (updatedCount, deletedCount) = try delete(count, from: start) }
      } else {
        let (tables, schema) = (toDelete, schema)
        try batch.forEachChunk(
          in: .toDelete(start[0]), isDivisible: { Self.isDivisible(selection, tables, schema) }, select: { try fill(selection, $0) }
        ) {
          let counts = try delete($0, from: start)
          (updatedCount, deletedCount) = (updatedCount + counts.updated, deletedCount + counts.deleted)
        }
      }
    } else {
      let count = try fill(request.objectIDs)
      if count > 0 { (updatedCount, deletedCount) = try delete(count, from: start) }
    }
    return BatchChanges(counting: 0, updated: updatedCount, deleted: deletedCount)
  }

  /// Returns whether the rows can be deleted in several chunks: whether a row can be deleted, and what is changed with it, does not depend
  /// on which other rows are deleted.
  private static func isDivisible(_ selection: Selection, _ toDelete: Set<Int>, _ schema: StoreSchema) -> Bool {
    guard SQLFragment(selection.plan.sql).isOfOneTable else { return false }
    var sources: Set<Int> = []
    for relationship in schema.model.relationships where relationship.deleteEffect == .forbidsDeletion && !relationship.isTransient {
      if let source = schema.tableIfStored(relationship.sourceEntity), toDelete.contains(source.index) { return false }
    }
    for release in schema.model.nullifiedRelationships {
      guard case .column(let index, _) = schema.relationships[release.relationship.id],
        let target = schema.tableIfStored(release.relationship.destinationEntity), toDelete.contains(target.index)
      else { continue }
      // No reference remains after a cascade.
      if release.isMutual, release.leading.deleteEffect == .deletesMembers { continue }
      // A row that is changed must not be deleted by a later chunk, or be changed again.
      guard release.relationship.isOptional, release.isMutual, !toDelete.contains(index), sources.insert(index).inserted
      else { return false }
    }
    return true
  }

  /// Deletes the rows in the batch tables, and empties these.
  ///
  /// - Parameters:
  ///   - count: The number of the rows, without those that cascades add.
  ///   - start: The tables at which cascades start.
  private mutating func delete(_ count: Int, from start: [Int]) throws -> (updated: Int, deleted: Int) {
    let deletedCount = count + (try cascade(from: start))
    try checkDenyRules()
    batch.transaction.changes?.expect(deletedCount)
    let updatedCount = try releaseReferences()
    try reportDeletions()
    try deleteRows()
    for index in toDelete { try batch.empty(.toDelete(index)) }
    for index in released { try batch.empty(.released(index)) }
    return (updatedCount, deletedCount)
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
      try batch.prepare(.toDelete(index, hasCascades: !cascades(from: index).isEmpty))
    }
  }

  /// The selection of the results of a fetch.
  private struct Selection {
    let specification: FetchSpecification
    let fetch: ResolvedFetch
    let plan: SelectPlan
    let withEntities: Bool
  }

  private func selection(_ specification: FetchSpecification) throws -> Selection {
    var specification = specification
    specification.resultType = .objectIDs
    let fetch = try FetchResolver(model: schema.model).resolve(specification)
    let plan = try batch.engine.plan(fetch, specification, FetchShape(fetch, specification: specification))
    guard case .identifiers(let numbering) = plan.output else {
      throw StoreError(.resultTypeMismatch, operation: .batchDelete)
    }
    var withEntities = false
    if case .stored = numbering { withEntities = true }
    return Selection(specification: specification, fetch: fetch, plan: plan, withEntities: withEntities)
  }

  private func fill(_ selection: Selection, _ chunk: BatchTransaction.Chunk) throws -> Int {
    let target = BatchTable.toDelete(selection.plan.table.index)
    var (query, withEntities) = (SQLFragment(selection.plan.sql, binders: selection.plan.binders), selection.withEntities)
    if case .after(let last) = chunk {
      (query, withEntities) = (try batch.selection(of: selection.fetch, from: selection.plan.table, after: last), true)
    }
    let statement = try batch.connection.statement(sql: target.inserting(query.text, withEntities: withEntities) + chunk.limit)
    try batch.engine.bind(query.binders, selection.fetch, selection.specification, space, to: statement)
    batch.engine.trace.record(statement)
    try statement.run()
    return batch.connection.changes
  }

  private func fill(_ objectIDs: [ManagedObjectID]) throws -> Int {
    var count = 0
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
        count += batch.connection.changes
      }
    }
    return count
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
  ///
  /// - Returns: The number of rows that were found.
  private func cascade(from start: [Int]) throws -> Int {
    var total = 0
    let cascades = Dictionary(uniqueKeysWithValues: toDelete.map { ($0, self.cascades(from: $0)) })
    var frontier = Set(start)
    var generation: Int64 = 0
    while !frontier.isEmpty {
      var next: Set<Int> = []
      for table in frontier.sorted() {
        for cascade in cascades[table] ?? [] {
          let count = try batch.run(cascade.sql, generation + 1, generation)
          if count > 0 { next.insert(cascade.destination) }
          total += count
        }
      }
      frontier = next
      generation += 1
    }
    return total
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
  ///
  /// - Returns: The number of rows that were changed.
  private mutating func releaseReferences() throws -> Int {
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
    return try released.sorted().reduce(0) { count, index in
      count + (try batch.run(schema.tables[index].bumping(in: .released(index))))
    }
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

  private func reportDeletions() throws {
    guard batch.transaction.changes != nil else { return }
    for relationship in schema.model.relationships {
      guard !schema.model.leading(relationship).isReversed,
        case .join(let side) = schema.relationships[relationship.id]
      else { continue }
      let (near, far) = (schema.tableIfStored(side.nearEntityNumber)?.index, schema.tableIfStored(side.farEntityNumber)?.index)
      try batch.reportRemovedLinks(side, of: relationship, near: near.flatMap(batchTable), far: far.flatMap(batchTable))
    }
    for index in toDelete.sorted() { try batch.reportDeletions(from: schema.tables[index], in: .toDelete(index)) }
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
