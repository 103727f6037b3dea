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
    var total = 0
    let all = try insertion(after: nil)
    try batch.forEachChunk(in: updatedRows, isDivisible: { isDivisible(all) }, select: { try select($0, all) }) {
      total += try update($0)
    }
    return BatchChanges(counting: 0, updated: total, deleted: 0)
  }

  /// Returns whether the rows can be updated in several chunks: no row's new values or uniqueness depend on other rows.
  private func isDivisible(_ selection: SQLFragment) -> Bool {
    let setsPairs = plan.assignments.contains { assignment in
      assignment.slot.relationship.flatMap { schema.model.inverse(of: $0) }.map { !$0.isToMany } ?? false
    }
    return !setsPairs && uniqueColumns().isEmpty && selection.isOfOneTable
  }

  /// Updates the rows in the batch table.
  ///
  /// - Parameter count: The number of these rows.
  /// - Returns: The number of rows that were changed.
  private func update(_ count: Int) throws -> Int {
    // Before any row changes.
    if let changes = batch.transaction.changes {
      changes.expect(count)
      try batch.reportUpdates(by: plan, completing: completed, of: table, in: updatedRows)
    }
    let partnerCount = try clearInverses()
    try assignPositions()
    let unique = uniqueColumns()
    if !unique.isEmpty {
      // Clear unique values first, so that they can move between rows.
      try batch.run(table.clearing(unique, in: updatedRows))
    }
    do { try assign() } catch let error as StoreAccessError where error.extendedCode == ConstraintCode.unique {
      throw try constraintConflict(error)
    }
    try checkComposites()
    return count + partnerCount
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
  private func insertion(after last: Int64?) throws -> SQLFragment {
    try batch.selection(of: plan.fetch, from: table, after: last) { generator, scope in
      try computed.map { item in
        let value = try generator.value(item.expression, [scope])
        let assigned: SQLFragment = "\(SQLFunctions.assign)(\(plan.entity.number), \(item.slot.index), \(value))"
        return keepsExternals(item.slot) ? "\(SQLFunctions.keep)(\(assigned))" : assigned
      }
    }
  }

  /// - Parameter all: The selection of all rows.
  private func select(_ chunk: BatchTransaction.Chunk, _ all: SQLFragment) throws -> Int {
    var selection = all
    if case .after(let last) = chunk { selection = try insertion(after: last) } else { selection.text += chunk.limit }
    do {
      return try bound(updatedRows.insertion, selection) { statement in
        try statement.run()
        return batch.connection.changes
      }
    } catch let error as StoreAccessError where BatchFunctions.isRejection(error) {
      try throwRejectedValueError()
      throw error
    }
  }

  /// Finds the rejected value again, and throws the error that describes it.
  private func throwRejectedValueError() throws {
    var values = try batch.selection(of: plan.fetch, from: table) { generator, scope in
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

  // MARK: Relationships

  /// Clears the inverses of one-to-one relationships that are set to nil.
  ///
  /// - Returns: The number of rows that were changed and are not updated themselves.
  private func clearInverses() throws -> Int {
    var partnerCount = 0
    var released = ReleasedReferences(batch)
    var prepared: Set<Int> = []
    for assignment in plan.assignments {
      guard let relationship = assignment.slot.relationship, let inverse = schema.model.inverse(of: relationship), !inverse.isToMany,
        case .column(let index, let column) = schema.relationships[inverse.id]
      else { continue }
      let target = schema.tables[index]
      let condition = target.refers(by: column, to: updatedRows)
      if !inverse.isOptional {
        let emptied = try batch.references(target.references(where: condition, isNaming: true))
        if !emptied.isEmpty { throw BatchError(required: inverse, schema.model, emptied.map { space.objectID(of: $0) }) }
        continue
      }
      if prepared.insert(index).inserted { try batch.prepare(.released(index)) }
      let others = index == table.index ? updatedRows.lacks("\(target.name).\(target.key)") : ""
      let count = try batch.run(target.insertingKeys(in: .released(index), where: condition + others))
      // Rows that are updated themselves, or already in the table, are not counted.
      if count == 0, try batch.number(target.hasRow(where: condition)) == nil { continue }
      partnerCount += count
      try released.add(column, of: target, where: condition, isOnly: plan.assignments.count == 1)
      try batch.run(target.releasing(column, from: updatedRows, isUpdated: index == table.index))
    }
    try released.report()
    for index in prepared { try batch.empty(.released(index)) }
    return partnerCount
  }

  /// Moves rows with a new owner to the end of its ordered members, and clears the positions of rows without an owner.
  private func assignPositions() throws {
    for assignment in plan.assignments {
      guard let relationship = assignment.slot.relationship, let inverse = schema.model.inverse(of: relationship),
        case .inverse(let side) = schema.relationships[inverse.id], let order = side.order
      else { continue }
      guard case .constant(.int(let word)) = assignment.value else {
        try batch.run(table.clearing([order], in: updatedRows))
        continue
      }
      let owner = ObjectReference(rawValue: word).key
      let column = side.column.name
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

  private func assign() throws {
    var assignments: [(column: String, value: String)] = []
    var arguments: [Slot] = []
    for assignment in plan.assignments {
      guard let column = column(of: assignment.slot) else { continue }
      let (sql, argument) = value(assignment, of: table.name)
      assignments.append((column.name, sql))
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
  private func constraintConflict(_ error: StoreAccessError) throws -> StoreError {
    var conflicts: [ConstraintConflict] = []
    for number in table.root.subtree {
      for constraint in schema.model.entities[number].constraints(in: schema.model) where constraint.entity == number {
        try addConflicts(under: constraint, to: &conflicts)
      }
    }
    let path = batch.engine.path
    if let failure = StoreError(conflicts, operation: .batchUpdate, path: path, underlying: error) { return failure }
    return StoreError(.duplicateValues(entity: plan.entity.name, properties: []), operation: .batchUpdate, path: path, underlying: error)
  }

  private func addConflicts(under constraint: DeclaredConstraint, to conflicts: inout [ConstraintConflict]) throws {
    var columns: [String] = []
    var arguments: [Slot] = []
    for slot in constraint.slots {
      guard let column = table.column(entity: constraint.entity, slot: slot.index) else { return }
      var now = "t.\(column.name)"
      if let assignment = plan.assignments.first(where: { $0.slot.index == slot.index && $0.slot.declaringEntity == slot.declaringEntity })
      {
        let (sql, argument) = value(assignment, of: "t")
        now = "CASE WHEN t.\(table.key) IN \(updatedRows.keys) THEN \(sql) ELSE \(now) END"
        if let argument { arguments.append(argument) }
      }
      columns.append(now)
    }
    let ofEntity = table.entityCondition(constraint.entity, includesSubentities: true, model: schema.model, alias: "t")
    let statement = try batch.statement(table.pairs(withSame: columns, where: ofEntity), arguments)
    defer { statement.reset() }
    while try statement.step() {
      let rows = [statement.int64(0), statement.int64(1)]
      let found = try rows.compactMap { key in
        try batch.references(table.presence, key).first
      }
      let changed = try found.filter { try batch.number(updatedRows.presence, $0.key) != nil }
      conflicts.append(
        ConstraintConflict(
          entityName: schema.model.entities[constraint.entity].name, constraint: constraint.names,
          objectIDs: changed.map { space.objectID(of: $0) },
          databaseObjectID: found.first { !changed.contains($0) }.map { space.objectID(of: $0) }))
    }
  }
}

/// The SQL function that converts computed values to attribute values by the same rules as in memory. Batch updates call it.
enum BatchFunctions {
  private static let rejection = "cd_assign refuses a value"

  static func register(on connection: Connection, model: CompiledModel) throws {
    try connection.registerFunction(name: SQLFunctions.assign, argumentCount: 3) { call in
      let (number, index) = (Int(call.int64(0)), Int(call.int64(1)))
      guard model.entities.indices.contains(number), model.entities[number].slots.indices.contains(index) else {
        return call.setFailure(.rejection, rejection)
      }
      let entity = model.entities[number]
      do throws(BatchError) {
        SQLFunctions.set(try BatchUpdatePlan.assigned(SQLFunctions.slot(call, 2), to: entity.slots[index], of: entity), call)
      } catch {
        call.setFailure(.rejection, rejection)
      }
    }
  }

  /// Returns whether a statement failed because the function rejected a value.
  static func isRejection(_ error: StoreAccessError) -> Bool { error.extendedCode == FunctionFailure.rejection.rawValue }
}
