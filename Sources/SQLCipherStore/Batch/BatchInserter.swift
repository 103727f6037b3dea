import Foundation
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys

/// Inserts one chunk of a batch insertion in a transaction. Rows without conflicts are inserted as in a save; others are skipped or merged.
struct BatchInserter {
  private let batch: BatchTransaction
  private let insertion: BatchInsertion
  private let merging: BatchRowMerging
  private let table: EntityTable
  private let probes: [Probe]
  private let orders: [OrderedSide]
  private var executor: SaveExecutor
  /// The rows that were inserted and merged individually. A uniqueness conflict is among them.
  private var written: [RowImage] = []
  /// The last position assigned in the order of an owner's members.
  private var lastPositions: [SaveExecutor.OrderedMember: Int64] = [:]
  private var schema: StoreSchema { batch.schema }

  /// A query of the row with given values of a uniqueness constraint.
  private struct Probe {
    let slots: [CompiledSlot]
    let sql: String
  }

  /// A to-one relationship of the rows with an ordered inverse.
  private struct OrderedSide {
    let relationshipID: Int
    let slot: Int
    let column: String
    let order: String
  }

  init(_ batch: BatchTransaction, _ insertion: BatchInsertion, space: ObjectIDSpace) throws {
    self.batch = batch
    self.insertion = insertion
    let model = batch.schema.model
    merging = try BatchRowMerging(insertion, model: model)
    let table = try batch.schema.table(of: merging.entity.number)
    self.table = table
    let entity = merging.entity
    probes = entity.constraints(in: model).map { constraint in
      let columns = constraint.slots.map { table.column(entity: entity.number, slot: $0.index)?.name ?? "NULL" }
      let entities = table.entityCondition(constraint.entity, includesSubentities: true, model: model, alias: "t")
      return Probe(slots: constraint.slots, sql: table.row(with: columns, entities: entities))
    }
    orders = entity.slots.compactMap { slot in
      guard let relationship = slot.relationship, let inverse = model.inverse(of: relationship),
        case .inverse(let side) = batch.schema.relationships[inverse.id], let order = side.order
      else { return nil }
      return OrderedSide(relationshipID: inverse.id, slot: slot.index, column: side.column.name, order: order)
    }
    var request = SaveChangesRequest()
    request.inserted = insertion.rows
    if merging.entity.hasDerivedSlots { request = try request.withLocalValues(model, now: Date().timeIntervalSinceReferenceDate) }
    executor = SaveExecutor(engine: batch.engine, transaction: batch.transaction, request: request, space: space)
  }

  mutating func run(space: ObjectIDSpace) throws -> BatchChanges {
    if insertion.onConflict == .error {
      for position in insertion.rows.indices {
        try merging.checkComplete(position)
        try place(insertion.rows[position])
      }
      try executor.run()
      try executor.report()
      // Only whole rows were written, including their local derived values.
      if !schema.derivations.isEmpty { batch.engine.marks.removeLocalMarks() }
      return BatchChanges(counting: insertion.rows.count, updated: 0, deleted: 0)
    }
    do {
      return try mergeRows(space: space)
    } catch let error as StoreAccessError where error.extendedCode == ConstraintCode.unique {
      // For a row that was changed twice, keep the last values.
      var seen: Set<ObjectReference> = []
      let rows = written.reversed().filter { seen.insert($0.reference).inserted }
      throw try executor.uniquenessConflict(error, UniqueClaims(rows.reversed(), model: schema.model))
    }
  }

  private mutating func mergeRows(space: ObjectIDSpace) throws -> BatchChanges {
    var (insertedCount, updatedCount) = (0, 0)
    var known: Set<ObjectReference> = []
    for position in insertion.rows.indices {
      let new = insertion.rows[position]
      switch try merging.resolution(of: position, holders: holders(of: new), space: space) {
      case .inserted:
        try place(new)
        written.append(new)
        try executor.insertRow(position)
        try batch.transaction.changes?.insert(new)
        known.insert(new.reference)
        insertedCount += 1
      case .skipped: break
      case .merged(let holder, let slots):
        let isFirst = known.insert(holder.reference).inserted
        try merge(new, slots, into: holder, version: holder.version + (isFirst ? 1 : 0))
        if isFirst { updatedCount += 1 }
      }
    }
    return BatchChanges(counting: insertedCount, updated: updatedCount, deleted: 0)
  }

  /// Returns the stored rows with the same values as a row under uniqueness constraints.
  private func holders(of row: RowImage) throws -> [RowImage] {
    var found: [RowImage] = []
    for probe in probes where !probe.slots.contains(where: { row.isNull($0.index) }) {
      let values = try probe.slots.map { slot -> Slot in
        slot.kind == .reference ? .int(row.reference(slot.index).key) : try row.slot(slot.index, kind: slot.kind)
      }
      let statement = try batch.statement(probe.sql, values)
      defer { statement.reset() }
      guard try statement.step() else { continue }
      let writer = batch.engine.makeRowWriter(rowCapacity: 1)
      try table.readRow(statement, into: writer)
      let holder = writer.endRow()
      if !found.contains(where: { $0.reference == holder.reference }) { found.append(holder) }
    }
    return found
  }

  private mutating func merge(_ new: RowImage, _ slots: SlotMask, into holder: RowImage, version: Int64) throws {
    let writer = batch.engine.makeRowWriter(rowCapacity: 1)
    let row = holder.edited(
      taking: slots, from: new, of: schema.model.entities[holder.entityNumber], version: version, into: writer)
    let plan = try batch.engine.saveStatements.update(holder.entityNumber, slots, schema)
    // Statements bind the row's memory without copying.
    written.append(row)
    try withExtendedLifetime(writer) {
      try executor.run(plan, row, oldVersion: holder.version)
      try batch.transaction.changes?.update(row.reference, slots, old: holder, new: row)
    }
    for side in orders where slots.contains(side.slot) {
      let place: Slot = try nextPosition(side, row).map { .int($0) } ?? .null
      try batch.run(
        table.positioning(side.order), [place, .int(row.key)])
    }
  }

  // MARK: Orders

  /// Assigns positions after all existing members to a new row.
  private mutating func place(_ row: RowImage) throws {
    for side in orders {
      guard let place = try nextPosition(side, row) else { continue }
      executor.insertedOrders[SaveExecutor.OrderedMember(relationship: side.relationshipID, key: row.key)] = place
    }
  }

  /// Returns the position after all members of a row's owner, or `nil` if it has no owner.
  private mutating func nextPosition(_ side: OrderedSide, _ row: RowImage) throws -> Int64? {
    guard !row.isNull(side.slot) else { return nil }
    let owner = SaveExecutor.OrderedMember(relationship: side.relationshipID, key: row.reference(side.slot).key)
    let last =
      try lastPositions[owner] ?? batch.number(table.lastPosition(side.order, of: side.column), owner.key)
      ?? 0
    // At the maximum position, keys decide the order, and those of new members are greater.
    let (next, isTooFar) = last.addingReportingOverflow(OrderKeys.gap)
    lastPositions[owner] = isTooFar ? .max : next
    return lastPositions[owner]
  }
}
