import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection

// The changes of batch requests are reported row by row, before the statements that make them, so that former values can be read and no
// list of rows is kept.

extension BatchTransaction {
  // MARK: Updates

  /// Reports the rows that a batch update is about to change.
  ///
  /// - Parameters:
  ///   - completed: Returns the parts of composites that receive their default values, by row.
  ///   - batchTable: The batch table of the rows and their computed values.
  func reportUpdates(
    by plan: BatchUpdatePlan, completing completed: () throws -> [ObjectReference: SlotMask], of table: EntityTable,
    in batchTable: BatchTable
  ) throws {
    guard let changes = transaction.changes, plan.entity.subtree.contains(where: changes.needs.includes) else { return }
    let completed = try completed()
    var mask = SlotMask()
    for assignment in plan.assignments { mask.insert(assignment.slot.index) }
    func slots(of reference: ObjectReference) -> SlotMask {
      guard let parts = completed[reference] else { return mask }
      var slots = mask
      slots.formUnion(parts)
      return slots
    }
    guard plan.entity.subtree.contains(where: { changes.needs[$0].includesOldRow || changes.needs[$0].includesNewRow }) else {
      try forEachReference(batchTable.references) { try changes.update($0, slots(of: $0), old: nil, new: nil) }
      return
    }
    let computed = plan.assignments.filter { if case .computed = $0.value { true } else { false } }
    try forEachRow(table.rows(in: batchTable, valueCount: computed.count), of: table) { reference, row, statement in
      guard let row else { return try changes.update(reference, slots(of: reference), old: nil, new: nil) }
      var (values, position) = ([Int: Slot](), table.readColumnCount)
      for assignment in plan.assignments {
        switch assignment.value {
        case .constant(let value): values[assignment.slot.index] = value
        case .computed:
          values[assignment.slot.index] = statement.slot(position)
          position += 1
        }
      }
      for slot in plan.entity.slots where completed[row.reference]?.contains(slot.index) == true { values[slot.index] = slot.defaultValue }
      try changes.update(row.reference, slots(of: row.reference), old: row, new: edited(row, values))
    }
  }

  /// Returns a copy of a row with some values replaced. A number in place of bytes refers to a value that the request wrote to a file.
  private func edited(_ row: RowImage, _ values: [Int: Slot]) -> RowImage {
    let writer = engine.makeRowWriter(rowCapacity: 1)
    let entity = schema.model.entities[row.entityNumber]
    writer.beginRow(entityNumber: entity.number, slotCount: entity.slots.count, key: row.key, version: row.version + 1)
    for slot in entity.slots where slot.kind != .none {
      switch values[slot.index] {
      case .int(let number)? where slot.kind == .bytes:
        guard let storage = engine.externals else { continue }
        let place = StoredLargeValue.Place(object: row.reference, slot: slot.index)
        writer.setExternal(ExternalData(content: StoredLargeValue(storage: storage, id: number, place: place)), at: slot.index)
      case let value?: writer.set(value, at: slot.index)
      case nil: writer.copy(slot.index, kind: slot.kind, from: row)
      }
    }
    return writer.endRow()
  }

  // MARK: Deletions

  /// Reports rows before they are deleted.
  ///
  /// - Parameter toDelete: The batch table of these rows.
  func reportDeletions(from table: EntityTable, in toDelete: BatchTable) throws {
    guard let changes = transaction.changes, table.root.subtree.contains(where: changes.needs.includes) else { return }
    guard table.root.subtree.contains(where: { changes.needs[$0].includesDeletedRow }) else {
      let needsDestinations = table.root.subtree.contains { changes.needs[$0].includesDeletedDestinations }
      let columns = needsDestinations ? table.columns.filter { $0.slot.relationship != nil } : []
      return try reportDeletions(from: table, in: toDelete, with: columns, to: changes)
    }
    try forEachRow(table.rows(in: toDelete), of: table) { reference, row, _ in try changes.delete(reference, row) }
  }

  /// Reports rows before they are deleted, with their destinations. If a destination is invalid, the row is reported without them: it can
  /// still be deleted.
  private func reportDeletions(
    from table: EntityTable, in toDelete: BatchTable, with columns: [TableColumn], to changes: ChangeStream
  ) throws {
    let statement = try statement(table.references(in: toDelete, with: columns), [])
    defer { statement.reset() }
    var writer = engine.makeRowWriter(rowCapacity: columns.isEmpty ? 0 : Self.rowsPerWriter)
    while try statement.step() {
      let reference = try schema.reference(key: statement.int64(0), entity: statement.int(1))
      if columns.isEmpty {
        try changes.delete(reference, nil)
        continue
      }
      if writer.count == Self.rowsPerWriter { writer = engine.makeRowWriter(rowCapacity: Self.rowsPerWriter) }
      writer.beginRow(
        entityNumber: reference.entity, slotCount: schema.model.entities[reference.entity].slots.count, key: reference.key, version: 0)
      var (position, isValid) = (Int32(2), true)
      for column in columns {
        if !statement.isNull(position) {
          if let destination = column.destination.object(of: statement, key: position, entity: position + 1) {
            writer.setReference(destination, at: column.slot.index)
          } else {
            isValid = false
          }
        }
        position += column.entityColumn == nil ? 1 : 2
      }
      if !isValid { writer.abandonRow() }
      try changes.delete(reference, isValid ? writer.endRow() : nil)
    }
  }

  /// Reports the links in a join table that are removed with rows.
  ///
  /// - Parameters:
  ///   - side: The side of the relationship that comes first in the model.
  ///   - near: The deleted near objects, or `nil` if none is deleted. `far`: The far objects.
  func reportRemovedLinks(_ side: JoinSide, of relationship: CompiledRelationship, near: BatchRows?, far: BatchRows?) throws {
    guard let changes = transaction.changes, changes.needsLinks(of: relationship),
      let sql = side.links(withNearIn: near, orFarIn: far)
    else { return }
    let statement = try statement(sql, [])
    defer { statement.reset() }
    var (source, members): (ObjectReference?, [ObjectReference]) = (nil, [])
    func report() throws {
      guard let source, !members.isEmpty else { return }
      try changes.links(relationship, of: source, added: [], removed: members)
      members.removeAll(keepingCapacity: true)
    }
    while try statement.step() {
      guard let owner = side.nearNumbering.object(of: statement, key: 0, entity: 1),
        let member = side.farNumbering.object(of: statement, key: 2, entity: 3)
      else { continue }
      if owner != source || members.count == Self.maximumMemberCount {
        try report()
        source = owner
      }
      members.append(member)
    }
    try report()
  }

  /// The maximum number of members that one change lists.
  private static var maximumMemberCount: Int { 1_000 }

  // MARK: Cleared references

  /// Reports the rows of which a request is about to clear references, with one change for each row.
  func report(_ cleared: ClearedReferences) throws {
    let table = cleared.table
    guard let changes = transaction.changes, table.root.subtree.contains(where: changes.needs.includes) else { return }
    // Without a second column, all rows have the same cleared reference.
    let flags = cleared.columns.count > 1 ? cleared.columns.map { "(\($0.condition))" } : []
    let all = SlotMask(slots: cleared.columns.map(\.column.slot.index))
    func slots(_ statement: Statement, _ position: Int32) -> SlotMask {
      guard !flags.isEmpty else { return all }
      var (slots, position) = (SlotMask(), position)
      for (column, _, _) in cleared.columns {
        if statement.int64(position) != 0 { slots.insert(column.slot.index) }
        position += 1
      }
      return slots
    }
    guard table.root.subtree.contains(where: { changes.needs[$0].includesOldRow || changes.needs[$0].includesNewRow }) else {
      let statement = try statement(table.references(flags, where: cleared.condition), [])
      defer { statement.reset() }
      while try statement.step() {
        let reference = try schema.reference(key: statement.int64(0), entity: statement.int(1))
        try changes.update(reference, slots(statement, 2), old: nil, new: nil)
      }
      return
    }
    try forEachRow(table.rows(flags, where: cleared.condition), of: table) { reference, old, statement in
      let slots = slots(statement, table.readColumnCount)
      let new = old.map { row in
        row.edited(
          Dictionary(uniqueKeysWithValues: slots.slots(below: row.slotCount).map { ($0, Slot.null) }),
          of: schema.model.entities[reference.entity], version: row.version + 1)
      }
      try changes.update(reference, slots, old: old, new: new)
    }
  }

  // MARK: Rows

  private static var rowsPerWriter: Int { 64 }

  /// Calls a closure with each row of a statement. A row that cannot be read, because it refers to an invalid object, is nil: it can still
  /// be changed or deleted.
  private func forEachRow(
    _ sql: String, of table: EntityTable, _ body: (ObjectReference, RowImage?, Statement) throws -> Void
  ) throws {
    let statement = try statement(sql, [])
    defer { statement.reset() }
    // Few rows share a writer, since a batch can be very large.
    var (writer, count) = (engine.makeRowWriter(rowCapacity: Self.rowsPerWriter), 0)
    while try statement.step() {
      if count == Self.rowsPerWriter { (writer, count) = (engine.makeRowWriter(rowCapacity: Self.rowsPerWriter), 0) }
      count += 1
      do { try table.readRow(statement, into: writer) } catch {
        writer.abandonRow()
        try body(try table.reference(of: statement), nil, statement)
        continue
      }
      let row = writer.endRow()
      try body(row.reference, row, statement)
    }
  }
}

/// The references that a batch request clears in the rows of one table, with the condition of the rows for each column.
struct ClearedReferences {
  let table: EntityTable
  var columns: [(column: TableColumn, order: String?, condition: String)] = []

  /// The condition of all rows.
  var condition: String { columns.count == 1 ? columns[0].condition : BalancedCondition.any(columns.map { "(\($0.condition))" }) }
}

extension [ClearedReferences] {
  /// Adds a column of a table.
  ///
  /// - Parameter order: The column of the row's position among the members of the object that it refers to.
  mutating func add(_ column: TableColumn, of table: EntityTable, order: String? = nil, where condition: String) {
    let position = firstIndex { $0.table.index == table.index } ?? endIndex
    if position == endIndex { append(ClearedReferences(table: table)) }
    self[position].columns.append((column, order, condition))
  }
}
