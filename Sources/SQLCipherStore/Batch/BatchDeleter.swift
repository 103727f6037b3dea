import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection

/// Performs a batch deletion and its delete rules with set-based statements in one transaction. A temporary table for each entity table
/// contains the keys of the rows to delete, or if there are many, those of a chunk of them.
struct BatchDeleter {
  private let batch: BatchTransaction
  private let space: ObjectIDSpace
  private var schema: StoreSchema { batch.schema }
  /// The tables that can have rows to delete.
  private var toDelete: Set<Int> = []
  /// The sets of the rows to delete, by table, if they are more than a chunk.
  private var chosen: ChosenRows?

  init(_ batch: BatchTransaction, space: ObjectIDSpace) {
    self.batch = batch
    self.space = space
  }

  mutating func run(_ request: BatchDeleteRequest) throws -> BatchChanges {
    let start = try request.fetch.map { [try schema.table(of: entity(of: $0).number).index] } ?? tables(of: request.objectIDs)
    try prepareTables(from: start)
    var counts = (updated: 0, deleted: 0)
    let rows = ChosenRows()
    try ChosenRows.$current.withValue(rows) {
      if let fetch = request.fetch {
        let selection = try selection(fetch)
        if let count = try batch.insertChunk(into: .toDelete(start[0]), { try fill(selection, $0) }) {
          if count > 0 { counts = try delete(count, from: start, rows) }
        } else {
          rows[start[0]] = try batch.keys(statement(selection, head: "", limit: ""))
          counts = try deleteMany(from: start, rows)
        }
      } else {
        let count = try fill(request.objectIDs)
        if count > 0 { counts = try delete(count, from: start, rows) }
      }
    }
    return BatchChanges(counting: 0, updated: counts.updated, deleted: counts.deleted)
  }

  /// Deletes the rows in the batch tables, and empties these.
  ///
  /// - Parameters:
  ///   - count: The number of the rows, without those that cascades add.
  ///   - start: The tables at which cascades start.
  private mutating func delete(_ count: Int, from start: [Int], _ rows: ChosenRows) throws -> (updated: Int, deleted: Int) {
    let deletedCount = count + (try cascade(from: start))
    if deletedCount > BatchTransaction.chunkSize {
      for index in toDelete.sorted() {
        rows[index] = try batch.keys(batch.statement(BatchTable.toDelete(index).allKeys, []))
        try batch.empty(.toDelete(index))
      }
      return try deleteChosen(deletedCount, rows)
    }
    let updatedCount = try delete(deletedCount)
    for index in toDelete { try batch.empty(.toDelete(index)) }
    return (updatedCount, deletedCount)
  }

  /// Deletes the chosen rows of the first table, and those to which cascades lead.
  private mutating func deleteMany(from start: [Int], _ rows: ChosenRows) throws -> (updated: Int, deleted: Int) {
    try cascade(from: start, rows)
    return try deleteChosen(toDelete.reduce(0) { $0 + rows[$1].count }, rows)
  }

  private mutating func deleteChosen(_ count: Int, _ rows: ChosenRows) throws -> (updated: Int, deleted: Int) {
    try batch.transaction.giveUpSavepoint()
    chosen = rows
    return (try delete(count), count)
  }

  /// Deletes the rows whose keys are known.
  ///
  /// - Returns: The number of other rows that were changed.
  private func delete(_ count: Int) throws -> Int {
    try checkDenyRules()
    batch.transaction.changes?.expect(count)
    let updatedCount = try releaseReferences()
    try reportRemovedLinks()
    for index in toDelete.sorted() {
      try forEachChunk(of: index) {
        try batch.reportDeletions(from: schema.tables[index], in: .toDelete(index))
        try deleteRows(of: schema.tables[index])
      }
    }
    return updatedCount
  }

  /// Calls a closure for each chunk of the rows of a table to delete, whose keys are in its batch table.
  private func forEachChunk(of index: Int, _ body: () throws -> Void) throws {
    guard let chosen else { return try body() }
    try batch.forEachChunk(of: index, from: schema.tables[index], in: .toDelete(index), chosen, body)
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
    /// Whether the fetch has a limit or an offset.
    let isLimited: Bool
  }

  private func selection(_ specification: FetchSpecification) throws -> Selection {
    var specification = specification
    specification.resultType = .objectIDs
    // An order matters only for a limit. Sorting would keep all rows in memory.
    let isLimited = specification.fetchLimit > 0 || specification.fetchOffset > 0
    if !isLimited { specification.sortDescriptors = [] }
    let fetch = try FetchResolver(model: schema.model).resolve(specification)
    let plan = try batch.engine.plan(fetch, specification, FetchShape(fetch, specification: specification))
    guard case .identifiers(let numbering) = plan.output else {
      throw StoreError(.resultTypeMismatch, operation: .batchDelete)
    }
    var withEntities = false
    if case .stored = numbering { withEntities = true }
    return Selection(specification: specification, fetch: fetch, plan: plan, withEntities: withEntities, isLimited: isLimited)
  }

  /// Returns a statement that selects the rows, ready to run.
  private func statement(_ selection: Selection, head: String, limit: String) throws -> Statement {
    let text = selection.isLimited && !limit.isEmpty ? BatchTable.all(of: selection.plan.sql) : selection.plan.sql
    let statement = try batch.connection.statement(sql: head + text + limit)
    try batch.engine.bind(selection.plan.binders, selection.fetch, selection.specification, space, to: statement)
    batch.engine.trace.record(statement)
    return statement
  }

  private func fill(_ selection: Selection, _ limit: String) throws -> Int {
    let target = BatchTable.toDelete(selection.plan.table.index)
    try statement(selection, head: target.inserting("", withEntities: selection.withEntities), limit: limit).run()
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

  /// A relationship with the delete rule cascade. The statement selects its destinations; its placeholders are their generation and that of
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
      let sources = BatchTable.toDelete(source)
      let sql: String
      switch schema.relationships[relationship.id] {
      case .column(let index, let column): sql = table.cascade(through: column, of: schema.tables[index], sources)
      case .inverse(let side): sql = table.cascade(throughInverse: side.column, sources)
      case .join(let side): sql = side.cascade(of: table, sources)
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
          let count = try batch.run(
            BatchTable.toDelete(cascade.destination).inserting(cascade: cascade.sql), generation + 1, generation)
          if count > 0 { next.insert(cascade.destination) }
          total += count
        }
      }
      frontier = next
      generation += 1
    }
    return total
  }

  /// Follows cascades from the chosen rows of the start tables until there are no new ones.
  private func cascade(from start: [Int], _ rows: ChosenRows) throws {
    let cascades = Dictionary(uniqueKeysWithValues: toDelete.map { ($0, self.cascades(from: $0)) })
    var frontier = Dictionary(uniqueKeysWithValues: start.map { ($0, rows[$0]) })
    while !frontier.isEmpty {
      var next: [Int: RowKeySet] = [:]
      for (index, keys) in frontier.sorted(by: { $0.key < $1.key }) {
        guard let cascades = cascades[index], !cascades.isEmpty else { continue }
        // The frontier has a set of its own, since the other one grows.
        let number = schema.tables.count
        rows[number] = keys
        try batch.forEachChunk(of: number, from: schema.tables[index], in: .toDelete(index), rows) {
          for cascade in cascades {
            var (known, new) = (rows[cascade.destination], next.removeValue(forKey: cascade.destination) ?? RowKeySet())
            rows[cascade.destination] = RowKeySet()
            let statement = try batch.statement(cascade.sql, [.int(0), .int(0)])
            defer { statement.reset() }
            while try statement.step() {
              let key = statement.int64(0)
              if known.insert(key) { new.insert(key) }
            }
            rows[cascade.destination] = known
            if !new.isEmpty { next[cascade.destination] = new }
          }
        }
        rows[number] = RowKeySet()
      }
      frontier = next
    }
  }

  /// Returns the rows of a table to delete, or `nil` if none can be.
  private func rowsToDelete(_ table: Int) -> BatchRows? {
    if !toDelete.contains(table) { return nil }
    return chosen == nil ? .table(.toDelete(table)) : .chosen(table)
  }

  private func checkDenyRules() throws {
    for relationship in schema.model.relationships where relationship.deleteEffect == .forbidsDeletion && !relationship.isTransient {
      guard let table = schema.tableIfStored(relationship.sourceEntity), toDelete.contains(table.index),
        let other = schema.tableIfStored(relationship.destinationEntity)
      else { continue }
      let condition: String
      switch schema.relationships[relationship.id] {
      case .column(_, let column): condition = other.isReferred(by: column, besides: rowsToDelete(other.index))
      case .inverse(let side): condition = other.refers(by: side.column, to: table, besides: rowsToDelete(other.index))
      case .join(let side): condition = side.linkExists(of: table, besides: rowsToDelete(other.index))
      case .none: continue
      }
      var denying: [ObjectReference] = []
      try forEachChunk(of: table.index) {
        if denying.count >= EntityTable.maximumNamedCount { return }
        denying += try batch.references(table.denying(in: .toDelete(table.index), where: condition))
      }
      if !denying.isEmpty { throw BatchError(denied: relationship, schema.model, denying.map { space.objectID(of: $0) }) }
    }
  }

  /// Sets references from remaining rows to deleted rows to NULL, and increments the version of each of these rows by one.
  ///
  /// - Returns: The number of rows that were changed.
  private func releaseReferences() throws -> Int {
    var cleared: [ClearedReferences] = []
    for release in schema.model.nullifiedRelationships {
      let relationship = release.relationship
      guard case .column(let index, let column) = schema.relationships[relationship.id],
        let target = schema.tableIfStored(relationship.destinationEntity), let deleted = rowsToDelete(target.index)
      else { continue }
      let table = schema.tables[index]
      var condition = table.refers(by: column, to: deleted, besides: rowsToDelete(index))
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
      var order: String?
      if let inverse = schema.model.inverse(of: relationship), case .inverse(let side) = schema.relationships[inverse.id] {
        order = side.order
      }
      cleared.add(column, of: table, order: order, where: condition)
    }
    return try cleared.reduce(0) { $0 + (try clear($1)) }
  }

  /// - Returns: The number of rows that were changed.
  private func clear(_ cleared: ClearedReferences) throws -> Int {
    let (table, released) = (cleared.table, BatchTable.released(cleared.table.index))
    func apply(_ condition: (String) -> String) throws {
      for (column, order, own) in cleared.columns { try batch.run(table.releasing(column, order: order, where: condition(own))) }
      try batch.run(table.bumping(in: released))
    }
    try batch.prepare(released)
    if let count = try batch.insertChunk(
      into: released, { try batch.run(table.insertingKeys(in: released, where: cleared.condition) + $0) })
    {
      if count == 0 { return 0 }
      try batch.report(cleared)
      try apply { $0 }
      try batch.empty(released)
      return count
    }
    try batch.transaction.giveUpSavepoint()
    try batch.report(cleared)
    let (number, rows) = (schema.tables.count, ChosenRows.current ?? ChosenRows())
    rows[number] = try batch.keys(batch.statement(table.keys(where: cleared.condition), []))
    try batch.forEachChunk(of: number, from: table, in: released, rows) { try apply { "\(table.isIn(released)) AND \($0)" } }
    defer { rows[number] = RowKeySet() }
    return rows[number].count
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

  private func reportRemovedLinks() throws {
    guard batch.transaction.changes != nil else { return }
    for relationship in schema.model.relationships {
      guard !schema.model.leading(relationship).isReversed,
        case .join(let side) = schema.relationships[relationship.id]
      else { continue }
      let (near, far) = (schema.tableIfStored(side.nearEntityNumber)?.index, schema.tableIfStored(side.farEntityNumber)?.index)
      try batch.reportRemovedLinks(side, of: relationship, near: near.flatMap(rowsToDelete), far: far.flatMap(rowsToDelete))
    }
  }

  /// Deletes the rows of a table whose keys are in its batch table, and their links.
  private func deleteRows(of table: EntityTable) throws {
    struct Side: Hashable {
      let relationship: Int
      let isReversed: Bool
    }
    var done: Set<Side> = []
    for entity in table.root.subtree {
      for side in schema.joinSides[entity]
      where done.insert(Side(relationship: side.relationshipID, isReversed: side.isReversed)).inserted {
        try batch.run(side.deletion(in: .toDelete(table.index)))
      }
    }
    try batch.run(table.deletion(in: .toDelete(table.index)))
  }
}
