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
    var changes = BatchChanges()
    changes.links = .listed([])
    guard try select() > 0 else { return changes }
    let updated = try batch.references(updatedRows.references)
    changes.links = try changedLinks(of: updated)
    // Before any row changes.
    if batch.transaction.changes != nil {
      try batch.reportUpdates(of: updated, by: plan, completing: completed(), of: table, in: updatedRows)
    }
    let partners = try clearInverses(of: updated)
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
    changes.updated = updated + partners
    return changes
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

  private func selection(_ values: (QueryGenerator, QueryScope) throws -> [SQLFragment]) throws -> SQLFragment {
    // Bind each list as one placeholder. The statement is not reused, so its shape does not matter.
    let onePerList = QueryGenerator.Constants.placeholders(listCapacities: Array(repeating: -1, count: plan.fetch.constants.count))
    let direct = try selection(values, onePerList)
    return direct.binders.count <= SelectGenerator.maximumBinderCount ? direct : try selection(values, .packed)
  }

  private func selection(
    _ values: (QueryGenerator, QueryScope) throws -> [SQLFragment], _ constants: QueryGenerator.Constants
  ) throws -> SQLFragment {
    let generator = QueryGenerator(schema: schema, constants: constants)
    let scope = QueryScope(
      table: table, alias: generator.makeAlias("t"), of: plan.fetch.entity.number,
      required: QueryGenerator.requiredSteps(of: plan.fetch.predicate, scope: 0))
    // Generating the condition and the values adds joins to the scope.
    let condition = try generator.condition(of: plan.fetch, scope)
    let selected = [SQLFragment(table.reference(alias: scope.alias))] + (try values(generator, scope))
    var statement = scope.query(SQLFragment.joined(selected, by: ", "), where: condition)
    if case .packed = constants { statement.binders.insert(.packedConstants, at: 0) }
    return statement
  }

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

  private func select() throws -> Int {
    let insertion = try selection { generator, scope in
      try computed.map { item in
        let value = try generator.value(item.expression, [scope])
        let assigned: SQLFragment = "\(SQLFunctions.assign)(\(plan.entity.number), \(item.slot.index), \(value))"
        return keepsExternals(item.slot) ? "\(SQLFunctions.keep)(\(assigned))" : assigned
      }
    }
    do {
      return try bound(updatedRows.insertion, insertion) { statement in
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
    var values = try selection { generator, scope in try computed.map { try generator.value($0.expression, [scope]) } }
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

  private func changedLinks(of updated: [ObjectReference]) throws -> BatchLinks {
    let relationships = plan.assignments.compactMap { assignment -> (CompiledRelationship, TableColumn, ObjectReference)? in
      guard let relationship = assignment.slot.relationship, let column = column(of: assignment.slot) else { return nil }
      guard case .constant(.int(let word)) = assignment.value else { return (relationship, column, ObjectReference(rawValue: 0)) }
      return (relationship, column, ObjectReference(rawValue: word))
    }
    if relationships.isEmpty { return .listed([]) }
    if updated.count > BatchLinks.maximumRowCount { return .unknown }
    var changes: [LinkChanges] = []
    for (relationship, column, destination) in relationships {
      guard let previous = try batch.links(by: column, of: table, in: updatedRows) else { return .unknown }
      let staying = Set(previous.filter { $0.destination == destination }.map(\.source))
      let arriving = destination.isNull ? [] : updated.filter { !staying.contains($0) }
      changes.append(
        LinkChanges(
          relationshipID: relationship.id, added: arriving.map { LinkChanges.Link(source: $0, destination: destination) },
          removed: previous.filter { $0.destination != destination }))
    }
    return .listed(changes)
  }

  /// Clears the inverses of one-to-one relationships that are set to nil.
  private func clearInverses(of updated: [ObjectReference]) throws -> [ObjectReference] {
    var partners: [ObjectReference] = []
    var released = ReleasedReferences(batch)
    for assignment in plan.assignments {
      guard let relationship = assignment.slot.relationship, let inverse = schema.model.inverse(of: relationship), !inverse.isToMany,
        case .column(let index, let column) = schema.relationships[inverse.id]
      else { continue }
      let target = schema.tables[index]
      let found = try batch.references(target.references(where: target.refers(by: column, to: updatedRows), isNaming: false))
      if found.isEmpty { continue }
      if !inverse.isOptional {
        throw BatchError(required: inverse, schema.model, found.map { space.objectID(of: $0) })
      }
      try released.add(column, of: target, where: target.refers(by: column, to: updatedRows), isOnly: plan.assignments.count == 1)
      try batch.run(target.releasing(column, from: updatedRows, isUpdated: index == table.index))
      partners += found
    }
    try released.report()
    guard !partners.isEmpty else { return [] }
    var seen = Set(updated)
    return partners.filter { seen.insert($0).inserted }
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
