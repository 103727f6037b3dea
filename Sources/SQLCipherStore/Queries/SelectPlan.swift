import ObjectModel
import ObjectQuery
import ObjectStore

/// A compiled fetch.
final class SelectPlan: Sendable {
  /// What a row becomes.
  enum Output: Sendable {
    /// A row image, by the table's read plans; brought into an order afterwards, where one is given.
    case rows(order: [RowSortKey])
    /// A row image of each of the first rows in an order: the statement gives the keys and what they are ordered by, of all.
    case topRows([TopRows.SortKey])
    /// An ID: the key in column 0, then the entity, unless it is fixed.
    case identifiers(EntityEncoding)
    /// The number in the only column.
    case count
    /// A dictionary; where there is a condition in a column, only if it is true.
    case dictionaries([DictionaryColumn], condition: Int32?)
  }

  /// A column of dictionaries.
  struct DictionaryColumn: Sendable {
    let column: DictionaryRows.Column
    /// What brings values into the type that was asked for; nil where they are of it.
    let conversion: ResolvedColumn?
    /// What the column of the statement holds; a number may be a double instead, where integers or decimals could not hold it.
    let kind: SlotKind
    /// How a reference's entity is known; `stored` reads the column behind.
    let destination: EntityEncoding
    let index: Int32
  }

  let sql: String
  let binders: [SQLBinder]
  let output: Output
  let table: EntityTable
  /// The statement that finds the same rows from the last to the first key; nil for one that has an order.
  let backwardSQL: String?
  /// The number under which connections keep the statement; nil for a plan that is one of too many.
  let number: Int?
  /// Other plans of the fetch, of which one is taken if a count says so.
  let choice: DrivingChoice?

  init(
    sql: String, backwardSQL: String? = nil, binders: [SQLBinder], output: Output, table: EntityTable, number: Int?,
    choice: DrivingChoice? = nil
  ) {
    self.sql = sql
    self.backwardSQL = backwardSQL
    self.binders = binders
    self.output = output
    self.table = table
    self.number = number
    self.choice = choice
  }

  /// The plan with others to choose from.
  func with(_ choice: DrivingChoice) -> SelectPlan {
    SelectPlan(
      sql: sql, backwardSQL: backwardSQL, binders: binders, output: output, table: table, number: number, choice: choice)
  }
}
