// SaveStatements: the texts of a save's statements and the numbers under which connections keep them.
import ObjectModel
import ObjectStore
import SQLCipherConnection
import Synchronization

/// How the rows of an entity are inserted.
struct InsertPlan: Sendable {
  /// The greatest number of placeholders of a statement on SQLCipher 3.4.1.
  static let greatestVariableCount = 999
  /// More rows a statement gain nothing.
  static let greatestRowCount = 20

  let table: EntityTable
  let steps: [BindStep]
  /// The relationships that order the members in this table, in the order of the order columns.
  let orders: [Int]
  /// The rows of the statements 0, 1 and 2 of the entity.
  let rowCounts: [Int]
  let variablesPerRow: Int
  private let head: String

  init(entityNumber: Int, table: EntityTable, orders: [(relationship: Int, column: String)]) {
    self.table = table
    let columns = table.columns(of: entityNumber)
    steps = columns.map(BindStep.init)
    self.orders = orders.map(\.relationship)
    var names = [table.key, table.version]
    if let entity = table.entity { names.append(entity) }
    for column in columns {
      names.append(column.name)
      if let entityColumn = column.entityColumn { names.append(entityColumn) }
    }
    names += orders.map(\.column)
    variablesPerRow = names.count
    let most = max(1, min(Self.greatestRowCount, Self.greatestVariableCount / names.count))
    rowCounts = [most, min(5, most), 1]
    head = "INSERT OR FAIL INTO \(table.name) (\(names.joined(separator: ", "))) VALUES "
  }

  /// `OR FAIL`: a plain statement of several rows opens a journal of its own, which SQLCipher encrypts, at up to 14 times the price. The rows that
  /// stay after a failure go with the transaction.
  func sql(_ rowCount: Int) -> String {
    let row = "(" + Array(repeating: "?", count: variablesPerRow).joined(separator: ", ") + ")"
    return head + Array(repeating: row, count: rowCount).joined(separator: ", ")
  }
}

/// How some slots of an entity's rows are updated.
final class UpdatePlan: Sendable {
  let steps: [BindStep]
  let sql: String
  /// nil for a plan that is one of too many.
  let number: Int?

  init(table: EntityTable, columns: [TableColumn], number: Int?) {
    steps = columns.map(BindStep.init)
    self.number = number
    var assignments = ["\(table.version) = ?"]
    for column in columns {
      assignments.append("\(column.name) = ?")
      if let entityColumn = column.entityColumn { assignments.append("\(entityColumn) = ?") }
    }
    sql =
      "UPDATE OR FAIL \(table.name) SET \(assignments.joined(separator: ", "))"
      + " WHERE \(table.name).\(table.key) = ? AND \(table.name).\(table.version) = ?"
  }
}

/// Update plans by entity and changed slots. Safe to use from any thread.
final class SaveStatementCache: Sendable {
  /// Connections keep a statement for each, so there is a bound; later combinations are prepared anew at each use.
  static let capacity = 1_000

  private struct Key: Hashable {
    let entity: Int
    let slots: SlotMask
  }
  private let plans = Mutex<[Key: UpdatePlan]>([:])
  private let inserts = Mutex<[Int: InsertPlan]>([:])
  private let firstNumber: Int

  init(firstNumber: Int) { self.firstNumber = firstNumber }

  func update(_ entityNumber: Int, _ slots: SlotMask, _ schema: StoreSchema) throws -> UpdatePlan {
    let key = Key(entity: entityNumber, slots: slots)
    if let known = plans.withLock({ $0[key] }) { return known }
    let table = try schema.table(of: entityNumber)
    let columns = table.columns(of: entityNumber).filter { slots.contains($0.slot.index) }
    return plans.withLock { plans in
      if let known = plans[key] { return known }
      let isNumbered = plans.count < Self.capacity
      let plan = UpdatePlan(table: table, columns: columns, number: isNumbered ? firstNumber + plans.count : nil)
      if isNumbered { plans[key] = plan }
      return plan
    }
  }

  func insert(_ entityNumber: Int, _ schema: StoreSchema) throws -> InsertPlan {
    if let known = inserts.withLock({ $0[entityNumber] }) { return known }
    let table = try schema.table(of: entityNumber)
    let entity = schema.model.entities[entityNumber]
    guard !entity.isAbstract else {
      var error = StoreError(.invalidRequest, "The entity “\(entity.name)” is abstract: it has no objects.", operation: .save)
      error.entityName = entity.name
      throw error
    }
    var orders: [(relationship: Int, column: String)] = []
    for relationship in schema.model.relationships {
      guard case .inverse(let side) = schema.relationships[relationship.id], side.table == table.index, let order = side.order else {
        continue
      }
      orders.append((relationship.id, order))
    }
    let plan = InsertPlan(entityNumber: entityNumber, table: table, orders: orders)
    inserts.withLock { $0[entityNumber] = plan }
    return plan
  }
}

/// How a slot of a row is bound: plain numbers, since copying a `TableColumn` for each value would cost more than binding it.
struct BindStep: Sendable {
  let kind: SlotKind
  let slot: Int
  /// Whether the column of the destination's entity follows.
  let hasEntity: Bool
  /// What is taken from the destination's entity number; nothing is stored for an unknown numbering.
  let entityOffset: Int?
  /// Whether the value may be outside the row that is saved, and whether the store keeps it so.
  let isLarge: Bool
  let keepsExternals: Bool

  init(_ column: TableColumn) {
    kind = column.slot.kind
    slot = column.slot.index
    hasEntity = column.entityColumn != nil
    isLarge = column.isLarge
    keepsExternals = column.keepsExternals
    if case .stored(let offset, _) = column.destination { entityOffset = offset } else { entityOffset = nil }
  }

  /// Binds a slot of a row without copying: the row has to live until the statement is bound anew.
  @inline(__always) func bind(_ row: RowImage, at index: inout Int32, to statement: Statement) throws {
    if row.isNull(slot) { return try bindNothing(at: &index, to: statement) }
    index += 1
    switch kind {
    case .int: try statement.bind(index, row.int(slot))
    case .real: try statement.bind(index, row.real(slot))
    case .text: try statement.bindStaticText(index, row.bytes(slot))
    case .bytes: try statement.bindStaticBlob(index, row.bytes(slot))
    case .reference: try bindReference(row, at: &index, to: statement)
    case .none: try statement.bindNull(index)
    }
  }

  private func bindReference(_ row: RowImage, at index: inout Int32, to statement: Statement) throws {
    let reference = row.reference(slot)
    guard reference.key > 0 else {
      throw StoreError(
        .invalidRequest, "A relationship refers to an object without a permanent ID. Save that object too.", operation: .save)
    }
    try statement.bind(index, reference.key)
    guard hasEntity else { return }
    index += 1
    if let entityOffset {
      try statement.bind(index, reference.entity - entityOffset)
    } else {
      try statement.bindNull(index)
    }
  }

  /// Binds NULL.
  @inline(__always) func bindNothing(at index: inout Int32, to statement: Statement) throws {
    index += 1
    try statement.bindNull(index)
    if hasEntity {
      index += 1
      try statement.bindNull(index)
    }
  }
}
