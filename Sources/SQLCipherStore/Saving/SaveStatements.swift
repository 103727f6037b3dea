import ObjectModel
import ObjectStore
import SQLCipherConnection
import Synchronization

/// How rows of an entity are inserted.
struct InsertPlan: Sendable {
  let table: EntityTable
  let steps: [BindStep]
  /// The relationships that store their members' order in this table, in the order of the columns.
  let orders: [Int]
  /// The number of rows of each statement size.
  let rowCounts: [Int]

  init(entityNumber: Int, table: EntityTable, orders: [Int]) {
    self.table = table
    steps = table.columns(of: entityNumber).map(BindStep.init)
    self.orders = orders
    let count = table.insertedCount(of: entityNumber, orderCount: orders.count)
    rowCounts = InsertionSize.allCases.map { EntityTable.rowCount($0, valuesPerRow: count) }
  }

  /// Returns the largest statement size that does not exceed a number of rows.
  func size(for count: Int) -> InsertionSize {
    rowCounts[InsertionSize.many.rawValue] <= count ? .many : rowCounts[InsertionSize.few.rawValue] <= count ? .few : .one
  }
}

/// How a combination of slots of an entity's rows is updated.
final class UpdatePlan: Sendable {
  let steps: [BindStep]
  let sql: String
  /// The statement number, or `nil` if all numbers are in use.
  let number: Int?

  init(table: EntityTable, columns: [TableColumn], number: Int?) {
    steps = columns.map(BindStep.init)
    self.number = number
    sql = table.update(of: columns)
  }
}

/// A thread-safe cache of update plans, by entity and changed slots, and of insertion plans.
final class SaveStatementCache: Sendable {
  private struct Key: Hashable {
    let entity: Int
    let slots: SlotMask
  }
  private struct Updates {
    var plans: [Key: UpdatePlan] = [:]
    /// The unused statement numbers. When none are left, further combinations are prepared at each use.
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

/// How a slot of a row is bound. It contains plain numbers, since copying a `TableColumn` for each value would cost more than binding it.
struct BindStep: Sendable {
  let kind: SlotKind
  let slot: Int
  /// Whether the column of the destination's entity follows.
  let hasEntity: Bool
  /// The offset that is subtracted from the destination's entity number, or `nil` if no entity number is stored.
  let entityOffset: Int?
  /// Whether the value can come from outside the saved row, and whether the store writes large values to files.
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

  /// Binds a slot of a row without copying. The row must outlive the binding.
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
      throw StoreError(.noPermanentID, operation: .save)
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

  @inline(__always) func bindNothing(at index: inout Int32, to statement: Statement) throws {
    index += 1
    try statement.bindNull(index)
    if hasEntity {
      index += 1
      try statement.bindNull(index)
    }
  }
}
