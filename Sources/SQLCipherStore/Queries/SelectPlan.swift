import ObjectModel
import ObjectQuery
import ObjectStore
import Synchronization

/// A compiled fetch: the SQL of a fetch's shape, the meaning of its placeholders, and how to read its columns.
final class SelectPlan: Sendable {
  /// What is made of each row.
  enum Output: Sendable {
    /// A row image, read with the table's read plans. If an order is given, the images are sorted by it after reading.
    case rows(order: [RowSortKey])
    /// Row images of the first rows in an order. The statement selects the keys and sort values of all rows.
    case topRows([TopRows.SortKey])
    /// An ID: the key in column 0, followed by the entity unless it is fixed.
    case identifiers(EntityEncoding)
    /// The number in the only column.
    case count
    /// A dictionary. If there is a column with a condition, only if it is true.
    case dictionaries([DictionaryColumn], condition: Int32?)
  }

  struct DictionaryColumn: Sendable {
    let column: DictionaryRows.Column
    /// The conversion to the requested type, or `nil` if values have it already.
    let conversion: ResolvedColumn?
    /// The kind of the statement's values. A number can be a double instead, if integers or decimals cannot represent it.
    let kind: SlotKind
    /// How a reference's entity is determined. `stored` reads the next column.
    let destination: EntityEncoding
    let index: Int32
  }

  let sql: String
  let binders: [SQLBinder]
  let output: Output
  let table: EntityTable
  /// The statement that returns the same rows in descending order of their keys, or `nil` if the statement has an order.
  let backwardSQL: String?
  /// The number by which connections cache the statement, or `nil` if all numbers are in use.
  let number: Int?
  /// Alternative plans of the fetch. A count decides between them.
  let choice: PlanAlternatives?

  init(
    sql: String, backwardSQL: String? = nil, binders: [SQLBinder], output: Output, table: EntityTable, number: Int?,
    choice: PlanAlternatives? = nil
  ) {
    self.sql = sql
    self.backwardSQL = backwardSQL
    self.binders = binders
    self.output = output
    self.table = table
    self.number = number
    self.choice = choice
  }

  func with(_ choice: PlanAlternatives) -> SelectPlan {
    SelectPlan(
      sql: sql, backwardSQL: backwardSQL, binders: binders, output: output, table: table, number: number, choice: choice)
  }
}

/// A cache of plans by fetch shape. A lookup costs one hash of the shape's tree.
final class SelectPlanCache: Sendable {
  private struct State {
    var plans: [FetchShape: SelectPlan] = [:]
    /// The unused statement numbers. When none are left, further shapes are planned at each use.
    var numbers: Range<Int>
  }
  private let state: Mutex<State>

  init(numbers: Range<Int>) { state = Mutex(State(numbers: numbers)) }

  /// Returns the plan of a shape. It is made on first use, with a statement number if one is left.
  func plan(for shape: FetchShape, make: (Int?) throws -> SelectPlan) rethrows -> SelectPlan {
    if let known = state.withLock({ $0.plans[shape] }) { return known }
    let number = state.withLock { $0.numbers.popFirst() }
    let plan = try make(number)
    guard number != nil else { return plan }
    return state.withLock { state in
      // Another thread may have planned the same shape. The first plan and its statement number remain.
      if let known = state.plans[shape] { return known }
      state.plans[shape] = plan
      return plan
    }
  }
}
