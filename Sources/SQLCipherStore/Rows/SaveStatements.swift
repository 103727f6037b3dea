import ObjectModel
import ObjectStore
import SQLCipherConnection
import Synchronization

/// How the rows of an entity are inserted.
struct InsertPlan: Sendable {
  let table: EntityTable
  let steps: [BindStep]
  /// The relationships that order the members in this table, in the order of the order columns.
  let orders: [Int]
  /// The rows of a statement of each size.
  let rowCounts: [Int]

  init(entityNumber: Int, table: EntityTable, orders: [Int]) {
    self.table = table
    steps = table.columns(of: entityNumber).map(BindStep.init)
    self.orders = orders
    let count = table.insertedCount(of: entityNumber, orderCount: orders.count)
    rowCounts = InsertionSize.allCases.map { EntityTable.rowCount($0, valuesPerRow: count) }
  }

  /// The greatest statement that a number of rows fills.
  func size(for count: Int) -> InsertionSize {
    rowCounts[InsertionSize.many.rawValue] <= count ? .many : rowCounts[InsertionSize.few.rawValue] <= count ? .few : .one
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
    sql = table.update(of: columns)
  }
}

/// Update plans by entity and changed slots. Safe to use from any thread.
final class SaveStatementCache: Sendable {
  private struct Key: Hashable {
    let entity: Int
    let slots: SlotMask
  }
  private struct Updates {
    var plans: [Key: UpdatePlan] = [:]
    /// The statement numbers that no plan has yet; a combination that finds none left is prepared anew at each use.
    var numbers: Range<Int>
  }
  private let updates: Mutex<Updates>
  private let inserts = Mutex<[Int: InsertPlan]>([:])

  init(numbers: Range<Int>) { updates = Mutex(Updates(numbers: numbers)) }

  func update(_ entityNumber: Int, _ slots: SlotMask, _ schema: StoreSchema) throws -> UpdatePlan {
    let key = Key(entity: entityNumber, slots: slots)
    if let known = updates.withLock({ $0.plans[key] }) { return known }
    let table = try schema.table(of: entityNumber)
    let columns = table.columns(of: entityNumber).filter { slots.contains($0.slot.index) }
    return updates.withLock { updates in
      if let known = updates.plans[key] { return known }
      let plan = UpdatePlan(table: table, columns: columns, number: updates.numbers.popFirst())
      if plan.number != nil { updates.plans[key] = plan }
      return plan
    }
  }

  func insert(_ entityNumber: Int, _ schema: StoreSchema) throws -> InsertPlan {
    if let known = inserts.withLock({ $0[entityNumber] }) { return known }
    let table = try schema.table(of: entityNumber)
    let entity = schema.model.entities[entityNumber]
    guard !entity.isAbstract else {
      throw StoreError(.abstractEntity(entity.name), operation: .save)
    }
    let plan = InsertPlan(entityNumber: entityNumber, table: table, orders: schema.orderColumns(in: table).map(\.relationship))
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
    if row.isNull(slot) {
      if row.isUnreadable(slot) { throw StoreError(.unreadableSlot, operation: .save) }
      return try bindNothing(at: &index, to: statement)
    }
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
      throw StoreError(.misuse(.noPermanentID), operation: .save)
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
