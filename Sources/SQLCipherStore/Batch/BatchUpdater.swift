import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import StoreKeys

/// Performs a batch update with set-based statements in one transaction. A temporary table first receives the rows' keys and computed
/// values, so that every value is computed from the unchanged rows.
struct BatchUpdater {
  private let batch: BatchTransaction
  private let space: ObjectIDSpace
  private let plan: BatchUpdatePlan
  private let table: EntityTable
  private var schema: StoreSchema { batch.schema }
  /// The computed assignments. Their values are in the columns `v0`, `v1` and so on.
  private let computed: [(slot: CompiledSlot, expression: ResolvedExpression)]
  private let updatedRows: BatchTable

  init(_ batch: BatchTransaction, plan: BatchUpdatePlan, space: ObjectIDSpace) throws {
    self.batch = batch
    self.plan = plan
    self.space = space
    table = try batch.schema.table(of: plan.entity.number)
    computed = plan.assignments.compactMap { assignment in
      if case .computed(let expression) = assignment.value { (assignment.slot, expression) } else { nil }
    }
    updatedRows = .updated(valueCount: computed.count)
  }

  func run() throws -> BatchChanges {
    let slots = plan.assignments.map(\.slot) + plan.completions.flatMap(\.defaults)
    guard slots.contains(where: keepsExternals), let files = batch.transaction.files else { return try update() }
    return try files.keeping { try update() }
  }

  private func update() throws -> BatchChanges {
    try checkDestinations()
    try batch.prepare(updatedRows)
    defer { try? batch.empty(updatedRows) }
    let all = try selection(in: nil)
    var total = 0
    if let count = try batch.insertChunk(into: updatedRows, { try insert(all, nil, $0) }) {
      if count > 0 { total = try updateTogether(count) }
    } else if try isDivisible() {
      let rows = ChosenRows()
      total = try ChosenRows.$current.withValue(rows) { try updateInChunks(rows) }
    } else {
      total = try updateTogether(try insert(all, nil, ""))
    }
    return BatchChanges(counting: 0, updated: total, deleted: 0)
  }

  /// Updates the rows in the batch table.
  ///
  /// - Parameter count: The number of these rows.
  /// - Returns: The number of rows that were changed.
  private func updateTogether(_ count: Int) throws -> Int {
    let inverses = inverses(of: .table(updatedRows))
    // Before any row changes.
    batch.transaction.changes?.expect(count)
    try reportUpdates()
    let partnerCount = try report(inverses, of: .table(updatedRows))
    try clear(inverses, of: .table(updatedRows))
    try assignPositions()
    let unique = uniqueColumns()
    if !unique.isEmpty {
      // Clear unique values first, so that they can move between rows.
      try batch.run(table.clearing(unique, in: updatedRows))
    }
    do { try assign(parking: []) } catch let error as StoreAccessError where error.extendedCode == ConstraintCode.unique {
      throw try constraintConflict(error, parking: [])
    }
    try checkComposites()
    return count + partnerCount
  }

  // MARK: Chunks

  /// Updates the rows that meet the predicate in chunks.
  ///
  /// - Returns: The number of rows that were changed.
  private func updateInChunks(_ rows: ChosenRows) throws -> Int {
    try batch.transaction.giveUpSavepoint()
    let chosen = BatchRows.chosen(table.index)
    rows[table.index] = try bound("", try batch.selection(of: plan.fetch, from: table)) { try batch.keys($0) }
    let inverses = inverses(of: chosen)
    batch.transaction.changes?.expect(rows[table.index].count)
    var partnerCount = 0
    if !inverses.isEmpty {
      // Before any row changes: a row can be the partner of a row in another chunk.
      if batch.transaction.changes != nil { try forEachChunk(rows) { _ in try reportUpdates() } }
      partnerCount = try report(inverses, of: chosen)
    }
    let parked = parkedColumns()
    try forEachChunk(rows) { range in
      if inverses.isEmpty { try reportUpdates() }
      try clear(inverses, of: chosen)
      try assignPositions()
      do { try assign(parking: parked) } catch let error as StoreAccessError where error.extendedCode == ConstraintCode.unique {
        throw try constraintConflict(error, parking: parked, upTo: range.upperBound)
      }
      try checkComposites()
    }
    if !parked.isEmpty { try unpark(parked, rows) }
    return rows[table.index].count + partnerCount
  }

  /// Calls a closure for each chunk of the rows to update, which are in the batch table with their computed values.
  private func forEachChunk(_ rows: ChosenRows, _ body: (ClosedRange<Int64>) throws -> Void) throws {
    try rows[table.index].forEachRange(of: BatchTransaction.chunkSize) { range in
      _ = try insert(try selection(in: range), range, "")
      try body(range)
      try batch.empty(updatedRows)
    }
  }

  /// Replaces parked values by the values themselves, when no row has its former value.
  private func unpark(_ columns: [String], _ rows: ChosenRows) throws {
    try rows[table.index].forEachRange(of: BatchTransaction.chunkSize) { range in
      let condition = EntityTable.isKey("\(table.name).\(table.key)", in: range, of: .chosen(table.index))
      do { try batch.run(table.unparking(columns, where: condition)) } catch let error as StoreAccessError
        where error.extendedCode == ConstraintCode.unique
      { throw try constraintConflict(error, parking: columns) }
    }
  }

  /// Returns the unique columns whose new values can be the former values of other rows. If a request sets columns of a constraint to constants
  /// only, a conflict of a new value with a former one is also one of the new values.
  private func parkedColumns() -> [String] { computed.isEmpty ? [] : uniqueColumns() }

  /// Returns whether the computed values of a chunk can be computed after the rows of other chunks have been changed: they depend on nothing of
  /// other rows that the request writes.
  private func isDivisible() throws -> Bool {
    if computed.isEmpty { return true }
    let inverses = inverses(of: .chosen(table.index))
    var root = ""
    let text = try batch.selection(of: plan.fetch, from: table, in: 0...0) { generator, scope in
      root = scope.alias
      return try values(generator, scope)
    }.text
    func reads(_ column: String, besides alias: String? = nil) -> Bool {
      (alias.map { text.replacing("\($0).\(column)", with: "") } ?? text).contains(".\(column)")
    }
    for cleared in inverses where text.contains(cleared.table.name) && cleared.columns.contains(where: { reads($0.column.name) }) {
      return false
    }
    if text.ranges(of: table.name).count == 1 { return true }
    let written = (plan.assignments.map(\.slot) + plan.completions.flatMap(\.defaults)).compactMap(column)
    let orders = plan.assignments.compactMap { $0.slot.relationship.flatMap(order) }
    return !(written.flatMap { [$0.name] + [$0.entityColumn].compactMap { $0 } } + orders).contains { reads($0, besides: root) }
  }

  private func checkDestinations() throws {
    for assignment in plan.assignments {
      guard let relationship = assignment.slot.relationship, case .constant(.int(let word)) = assignment.value else { continue }
      let reference = ObjectReference(rawValue: word)
      let found = try schema.tableIfStored(relationship.destinationEntity).flatMap { target in
        try batch.references(target.presence, reference.key)
          .first
      }
      if found != reference { throw BatchUpdatePlan.missingDestination(of: assignment.slot, plan.entity) }
    }
  }

  // MARK: Selection

  private func bound<Result>(
    _ head: String, _ selection: SQLFragment, _ body: (Statement) throws -> Result
  ) throws -> Result {
    let statement = try batch.connection.statement(sql: head + selection.text)
    defer { statement.reset() }
    try batch.engine.bind(
      selection.binders, plan.fetch, FetchSpecification(entityName: plan.entity.name), space, to: statement)
    batch.engine.trace.record(statement)
    return try body(statement)
  }

  /// Returns the selection of the rows, or of a chunk of them, with the computed values.
  private func selection(in range: ClosedRange<Int64>?) throws -> SQLFragment {
    try batch.selection(of: plan.fetch, from: table, in: range, values)
  }

  private func values(_ generator: QueryGenerator, _ scope: QueryScope) throws -> [SQLFragment] {
    try computed.map { item in
      let value = try generator.value(item.expression, [scope])
      let assigned: SQLFragment = "\(SQLFunctions.assign)(\(plan.entity.number), \(item.slot.index), \(value))"
      return keepsExternals(item.slot) ? "\(SQLFunctions.keep)(\(assigned))" : assigned
    }
  }

  /// Inserts rows into the batch table.
  ///
  /// - Parameters:
  ///   - selection: The selection of all rows, or of the chunk of a range.
  ///   - limit: The text to append to the selection.
  /// - Returns: The number of rows.
  private func insert(_ selection: SQLFragment, _ range: ClosedRange<Int64>?, _ limit: String) throws -> Int {
    var selection = selection
    selection.text += limit
    do {
      return try bound(updatedRows.insertion, selection) { statement in
        try statement.run()
        return batch.connection.changes
      }
    } catch let error as StoreAccessError where BatchFunctions.isRejection(error) {
      try throwRejectedValueError(in: range)
      throw error
    }
  }

  /// Finds the rejected value again, and throws the error that describes it.
  private func throwRejectedValueError(in range: ClosedRange<Int64>?) throws {
    var values = try batch.selection(of: plan.fetch, from: table, in: range) { generator, scope in
      try computed.map { try generator.value($0.expression, [scope]) }
    }
    values.append(" ORDER BY 1")
    try bound("", values) { statement in
      while try statement.step() {
        for (position, item) in computed.enumerated() {
          _ = try BatchUpdatePlan.assigned(statement.slot(Int32(position + 2)), to: item.slot, of: plan.entity)
        }
      }
    }
  }

  private func reportUpdates() throws {
    if batch.transaction.changes == nil { return }
    try batch.reportUpdates(by: plan, completing: completed, of: table, in: updatedRows)
  }

  // MARK: Relationships

  /// Returns the inverses of one-to-one relationships that are set to nil.
  private func inverses(of rows: BatchRows) -> [ClearedReferences] {
    var cleared: [ClearedReferences] = []
    for assignment in plan.assignments {
      guard let relationship = assignment.slot.relationship, let inverse = schema.model.inverse(of: relationship), !inverse.isToMany,
        case .column(let index, let column) = schema.relationships[inverse.id]
      else { continue }
      let target = schema.tables[index]
      cleared.add(column, of: target, where: target.refers(by: column, to: rows))
    }
    return cleared
  }

  /// Reports the rows whose references are about to be cleared.
  ///
  /// - Returns: The number of these rows that are not updated themselves.
  private func report(_ inverses: [ClearedReferences], of rows: BatchRows) throws -> Int {
    var partnerCount = 0
    for cleared in inverses {
      let target = cleared.table
      for (column, _, condition) in cleared.columns {
        guard let inverse = column.slot.relationship, !inverse.isOptional else { continue }
        let emptied = try batch.references(target.references(where: condition, isNaming: true))
        if !emptied.isEmpty { throw BatchError(required: inverse, schema.model, emptied.map { space.objectID(of: $0) }) }
      }
      let others = target.index == table.index ? rows.lacks("\(target.name).\(target.key)") : ""
      partnerCount += Int(try batch.number(target.rowCount(where: "(\(cleared.condition))\(others)")) ?? 0)
      try batch.report(cleared)
    }
    return partnerCount
  }

  /// Clears references to the rows in the batch table.
  ///
  /// - Parameter rows: All rows to update.
  private func clear(_ inverses: [ClearedReferences], of rows: BatchRows) throws {
    for cleared in inverses {
      for (column, _, _) in cleared.columns where column.slot.relationship?.isOptional ?? true {
        try batch.run(cleared.table.releasing(column, from: updatedRows, besides: cleared.table.index == table.index ? rows : nil))
      }
    }
  }

  /// Returns the column of the positions of the objects of a to-one relationship among the members of its inverse.
  private func order(of relationship: CompiledRelationship) -> String? {
    guard let inverse = schema.model.inverse(of: relationship), case .inverse(let side) = schema.relationships[inverse.id] else {
      return nil
    }
    return side.order
  }

  /// Moves rows with a new owner to the end of its ordered members, and clears the positions of rows without an owner.
  private func assignPositions() throws {
    for assignment in plan.assignments {
      guard let relationship = assignment.slot.relationship, let order = order(of: relationship),
        let column = column(of: assignment.slot)?.name
      else { continue }
      guard case .constant(.int(let word)) = assignment.value else {
        try batch.run(table.clearing([order], in: updatedRows))
        continue
      }
      let owner = ObjectReference(rawValue: word).key
      let last = try batch.number(table.lastPosition(order, of: column), owner) ?? 0
      try batch.run(table.positioningLast(order, of: column, in: updatedRows), last, owner)
    }
  }

  // MARK: Values

  /// Returns the assigned columns that are part of a uniqueness constraint of the entity or a subentity.
  private func uniqueColumns() -> [String] {
    var slots = SlotMask()
    for number in plan.entity.subtree {
      for constraint in schema.model.entities[number].uniquenessConstraints { for slot in constraint { slots.insert(slot) } }
    }
    return plan.assignments.filter { slots.contains($0.slot.index) }.compactMap { column(of: $0.slot)?.name }
  }

  private func column(of slot: CompiledSlot) -> TableColumn? { table.column(entity: plan.entity.number, slot: slot.index) }

  private func keepsExternals(_ slot: CompiledSlot) -> Bool { column(of: slot)?.keepsExternals ?? false }

  private func value(_ assignment: BatchUpdatePlan.Assignment, of row: String) -> (sql: String, argument: Slot?) {
    switch assignment.value {
    case .constant(.int(let word)) where assignment.slot.kind == .reference: ("?", .int(ObjectReference(rawValue: word).key))
    case .constant(let value): (keepsExternals(assignment.slot) ? "\(SQLFunctions.keep)(?)" : "?", value)
    case .computed:
      (updatedRows.value(computed.firstIndex { $0.slot.index == assignment.slot.index } ?? 0, of: "\(row).\(table.key)"), nil)
    }
  }

  /// - Parameter parked: The columns whose values are parked.
  private func assign(parking parked: [String]) throws {
    var assignments: [(column: String, value: String)] = []
    var arguments: [Slot] = []
    for assignment in plan.assignments {
      guard let column = column(of: assignment.slot) else { continue }
      let (sql, argument) = value(assignment, of: table.name)
      assignments.append((column.name, parked.contains(column.name) ? "\(SQLFunctions.park)(\(sql))" : sql))
      if let argument { arguments.append(argument) }
      guard let entityColumn = column.entityColumn, case .constant(let value) = assignment.value else { continue }
      assignments.append((entityColumn, "?"))
      if case .int(let word) = value, case .stored(let offset, _) = column.destination {
        arguments.append(.int(Int64(ObjectReference(rawValue: word).entity - offset)))
      } else {
        arguments.append(.null)
      }
    }
    for (slot, column, condition) in completedParts() {
      assignments.append(
        (column, "CASE WHEN \(condition) THEN \(keepsExternals(slot) ? "\(SQLFunctions.keep)(?)" : "?") ELSE \(table.name).\(column) END"))
      arguments.append(slot.defaultValue)
    }
    try batch.run(table.assigning(assignments, in: updatedRows), arguments)
  }

  // MARK: Composites

  /// Returns the composite parts that receive their default values, each with its condition on the row before the update.
  private func completedParts() -> [(slot: CompiledSlot, column: String, condition: String)] {
    var parts: [(slot: CompiledSlot, column: String, begun: [String])] = []
    for completion in plan.completions where !completion.defaults.isEmpty {
      let begun = completion.slots.compactMap(hasValue)
      for slot in completion.defaults {
        guard let column = column(of: slot)?.name, !begun.isEmpty else { continue }
        if let index = parts.firstIndex(where: { $0.slot.index == slot.index }) {
          parts[index].begun += begun
        } else {
          parts.append((slot, column, begun))
        }
      }
    }
    return parts.map { ($0.slot, $0.column, "\(table.name).\($0.column) IS NULL AND (\(BalancedCondition.any($0.begun)))") }
  }

  /// Returns the condition that a part has a value after the update, before default values are set, or `nil` if it cannot have one.
  private func hasValue(_ slot: CompiledSlot) -> String? {
    guard let column = column(of: slot) else { return nil }
    guard let assignment = plan.assignments.first(where: { $0.slot.index == slot.index }) else {
      return "\(table.name).\(column.name) IS NOT NULL"
    }
    switch assignment.value {
    case .constant(let value): return value.isNull ? nil : "1"
    case .computed: return "\(value(assignment, of: table.name).sql) IS NOT NULL"
    }
  }

  private func completed() throws -> [ObjectReference: SlotMask] {
    var result: [ObjectReference: SlotMask] = [:]
    for (slot, _, condition) in completedParts() {
      let rows = try batch.references(table.references(where: "\(table.isIn(updatedRows)) AND \(condition)", isNaming: false))
      for reference in rows { result[reference, default: SlotMask()].insert(slot.index) }
    }
    return result
  }

  /// Throws if a composite with a value lacks a required part after the update.
  private func checkComposites() throws {
    for completion in plan.completions {
      let begun = BalancedCondition.any(completion.slots.compactMap { column(of: $0).map { "\(table.name).\($0.name) IS NOT NULL" } })
      for slot in completion.required where !completion.defaults.contains(where: { $0.index == slot.index }) {
        guard let column = column(of: slot)?.name else { continue }
        let condition = "\(table.isIn(updatedRows)) AND \(table.name).\(column) IS NULL AND (\(begun))"
        if try !batch.references(table.references(where: condition, isNaming: true)).isEmpty {
          throw BatchError(missingPart: slot, of: plan.entity)
        }
      }
    }
  }

  // MARK: Conflicts

  /// Returns the error that lists the violated constraints, with two of the rows for each duplicate value.
  ///
  /// - Parameters:
  ///   - parked: The columns whose values are parked.
  ///   - last: The greatest key of the rows with parked values, or `nil` if all updated rows have their new values.
  private func constraintConflict(_ error: StoreAccessError, parking parked: [String], upTo last: Int64? = nil) throws -> StoreError {
    var conflicts: [ConstraintConflict] = []
    for number in table.root.subtree {
      for constraint in schema.model.entities[number].constraints(in: schema.model) where constraint.entity == number {
        try addConflicts(under: constraint, parking: parked, upTo: last, to: &conflicts)
      }
    }
    let path = batch.engine.path
    if let failure = StoreError(conflicts, operation: .batchUpdate, path: path, underlying: error) { return failure }
    return StoreError(.duplicateValues(entity: plan.entity.name, properties: []), operation: .batchUpdate, path: path, underlying: error)
  }

  private func addConflicts(
    under constraint: DeclaredConstraint, parking parked: [String], upTo last: Int64?, to conflicts: inout [ConstraintConflict]
  ) throws {
    let chosen = ChosenRows.current
    let updated = chosen == nil ? BatchRows.table(updatedRows) : .chosen(table.index)
    let key = "t.\(table.key)"
    var columns: [String] = []
    var arguments: [Slot] = []
    var isParked = false
    for slot in constraint.slots {
      guard let column = table.column(entity: constraint.entity, slot: slot.index) else { return }
      var now = "t.\(column.name)"
      if let assignment = plan.assignments.first(where: { $0.slot.index == slot.index && $0.slot.declaringEntity == slot.declaringEntity })
      {
        let (sql, argument) = value(assignment, of: "t")
        if parked.contains(column.name) {
          isParked = true
          now =
            "CASE WHEN \(BatchRows.table(updatedRows).contains(key)) THEN \(sql)"
            + " WHEN \(updated.contains(key)) THEN \(SQLFunctions.unpark)(\(now)) ELSE \(now) END"
        } else {
          now = "CASE WHEN \(updated.contains(key)) THEN \(sql) ELSE \(now) END"
        }
        if let argument { arguments.append(argument) }
      }
      columns.append(now)
    }
    var conditions = [table.entityCondition(constraint.entity, includesSubentities: true, model: schema.model, alias: "t")].compactMap {
      $0
    }
    // A parked value can only be that of another updated row.
    if isParked, let last { conditions += ["\(key) <= \(last)", updated.contains(key)] }
    let statement = try batch.statement(
      table.pairs(withSame: columns, where: conditions.isEmpty ? nil : BalancedCondition.all(conditions)), arguments)
    defer { statement.reset() }
    while try statement.step() {
      let rows = [statement.int64(0), statement.int64(1)]
      let found = try rows.compactMap { key in
        try batch.references(table.presence, key).first
      }
      let changed = try found.filter { reference in
        if let chosen {
          chosen.contains(reference.key, in: table.index)
        } else {
          try batch.number(updatedRows.presence, reference.key) != nil
        }
      }
      conflicts.append(
        ConstraintConflict(
          entityName: schema.model.entities[constraint.entity].name, constraint: constraint.names,
          objectIDs: changed.map { space.objectID(of: $0) },
          databaseObjectID: found.first { !changed.contains($0) }.map { space.objectID(of: $0) }))
    }
  }
}
