import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection

extension TransactionRecord {
  // MARK: Deletions

  /// Records rows before they are deleted.
  ///
  /// - Parameters:
  ///   - references: The rows to delete.
  ///   - toDelete: The batch table of these rows.
  func addDeleted(_ references: [ObjectReference], of table: EntityTable, in toDelete: BatchTable, _ batch: BatchTransaction) throws {
    guard table.root.subtree.contains(where: recorder.needsPreviousRow) else {
      for reference in references { try recorder.addDeleted(reference, nil) { _, _ in nil } }
      return
    }
    try forEachRow(table.rows(in: toDelete), of: table, batch) { row, _ in
      try recorder.addDeleted(row.reference, row, Self.largeValues(batch.transaction.reading))
    }
  }

  /// Collects references before they are cleared; ``addReleased()`` records them.
  func recordReleased(_ column: TableColumn, of table: EntityTable, where condition: String, _ batch: BatchTransaction) throws {
    let statement = try batch.statement(table.destinations(by: column, where: condition), [])
    defer { statement.reset() }
    while try statement.step() {
      let source = try batch.schema.reference(key: statement.int64(0), entity: statement.int(1))
      let old = try column.destination(of: statement, at: 2, batch.schema)
      released[source, default: []].append((column.slot.index, old))
    }
  }

  /// Records the cleared references, with one change for each row.
  func addReleased() {
    let ids = recorder.ids
    for (reference, slots) in released.sorted(by: { ($0.key.entity, $0.key.key) < ($1.key.entity, $1.key.key) }) {
      if recorder.level == .values {
        let known = ids.slots(of: reference.entity)
        recorder.addUpdated(
          reference,
          slots.filter { known[$0.slot] > 0 }.map { slot, old in
            HistoryChange(property: known[slot], old: old.flatMap(ids.object).map { .reference($0) } ?? .null, new: .null)
          })
      } else {
        var mask = SlotMask()
        for (slot, _) in slots { mask.insert(slot) }
        recorder.addUpdated(reference, mask)
      }
    }
    released = [:]
  }

  // MARK: Updates

  /// Records rows before they are updated.
  ///
  /// - Parameters:
  ///   - updated: These rows.
  ///   - completed: The parts of composites that receive their default values, by row.
  ///   - batchTable: The batch table of the rows and their computed values.
  func addUpdated(
    _ updated: [ObjectReference], by plan: BatchUpdatePlan, completing completed: [ObjectReference: SlotMask], of table: EntityTable,
    in batchTable: BatchTable, _ batch: BatchTransaction
  ) throws {
    guard recorder.level == .values else {
      var mask = SlotMask()
      for assignment in plan.assignments { mask.insert(assignment.slot.index) }
      for reference in updated {
        var changed = mask
        if let parts = completed[reference] { changed.formUnion(parts) }
        recorder.addUpdated(reference, changed)
      }
      return
    }
    let computed = plan.assignments.filter { if case .computed = $0.value { true } else { false } }
    let large = Self.largeValues(batch.transaction.reading)
    try forEachRow(table.rows(in: batchTable, valueCount: computed.count), of: table, batch) { row, statement in
      let known = recorder.ids.slots(of: row.entityNumber)
      var (changes, position) = ([HistoryChange](), table.readColumnCount)
      for assignment in plan.assignments {
        let slot = assignment.slot
        let new: HistoryValue
        switch assignment.value {
        case .constant(let value): new = try self.value(value, of: slot, table, batch)
        case .computed:
          new = try self.value(statement.slot(position), of: slot, table, batch)
          position += 1
        }
        guard known[slot.index] > 0 else { continue }
        changes.append(HistoryChange(property: known[slot.index], old: try recorder.value(row, slot.index, large), new: new))
      }
      for slot in plan.entity.slots where completed[row.reference]?.contains(slot.index) == true && known[slot.index] > 0 {
        changes.append(HistoryChange(property: known[slot.index], old: .null, new: try value(slot.defaultValue, of: slot, table, batch)))
      }
      recorder.addUpdated(row.reference, changes)
    }
  }

  private func value(_ value: Slot, of slot: CompiledSlot, _ table: EntityTable, _ batch: BatchTransaction) throws -> HistoryValue {
    switch value {
    case .null: return .null
    case .int(let word) where slot.kind == .reference:
      return recorder.ids.object(ObjectReference(rawValue: word)).map { .reference($0) } ?? .null
    case .int(let number) where slot.kind == .bytes: return try Self.largeValue(number, batch.transaction.reading) ?? .null
    case .int(let number): return .int(number)
    case .real(let number): return .real(bits: number.bitPattern)
    case .text(let text): return .text(text)
    case .bytes(let data):
      let isOutside = table.column(entity: table.root.number, slot: slot.index)?.keepsExternals ?? false
      guard isOutside, let externals = batch.engine.externals, data.count >= externals.threshold else { return .bytes(data) }
      // Each row gets its own file, whose number is not assigned yet.
      return .large(id: 0, size: Int64(data.count), digest: ContentDigest.sha256(data))
    }
  }

  // MARK: Rows

  private func forEachRow(
    _ sql: String, of table: EntityTable, _ batch: BatchTransaction, _ body: (RowImage, Statement) throws -> Void
  ) throws {
    let statement = try batch.statement(sql, [])
    defer { statement.reset() }
    while try statement.step() {
      // Read one row at a time, since a batch can be very large.
      let writer = batch.engine.makeRowWriter(rowCapacity: 1)
      try table.readRow(statement, into: writer)
      try body(writer.endRow(), statement)
    }
  }
}

extension TableColumn {
  /// Returns the destination of a row, whose key is in a statement's column and whose entity number is in the next one, or `nil` if there
  /// is no valid destination.
  fileprivate func destination(of statement: Statement, at index: Int32, _ schema: StoreSchema) throws -> ObjectReference? {
    let key = statement.int64(index)
    guard !statement.isNull(index), RowKey.isKey(key) else { return nil }
    switch destination {
    case .fixed(let number): return ObjectReference(entity: number, key: key)
    case .stored(let offset, let numbers):
      let entity = statement.int(index + 1) &+ offset
      return numbers.contains(entity) ? ObjectReference(entity: entity, key: key) : nil
    case .none: return nil
    }
  }
}
