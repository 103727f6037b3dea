import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection

// The rows of a request are in temporary tables, which SQLite keeps in memory. If a request selects more rows than a chunk, their keys are
// kept in compact sets (`ChosenRows.swift`), and the temporary tables contain one chunk of rows after the other.

extension BatchTransaction {
  /// The maximum number of rows of a chunk: about 10 MB of keys.
  @TaskLocal static var chunkSize = 1_000_000

  /// Returns the selection of the rows of a table: key, entity, and values.
  ///
  /// - Parameters:
  ///   - range: The range of the keys of a chunk. The rows of the chunk are those in the set with the table's number. If the range is `nil`,
  ///     the rows are those that meet the condition of the fetch.
  ///   - values: Returns the values to select.
  func selection(
    of fetch: ResolvedFetch, from table: EntityTable, in range: ClosedRange<Int64>? = nil,
    _ values: (QueryGenerator, QueryScope) throws -> [SQLFragment] = { _, _ in [] }
  ) throws -> SQLFragment {
    // Bind each list as one placeholder. The statement is not reused, so its shape does not matter.
    let onePerList = QueryGenerator.Constants.placeholders(listCapacities: Array(repeating: -1, count: fetch.constants.count))
    let direct = try selection(of: fetch, from: table, in: range, values, onePerList)
    if direct.binders.count <= SelectGenerator.maximumBinderCount { return direct }
    return try selection(of: fetch, from: table, in: range, values, .packed)
  }

  private func selection(
    of fetch: ResolvedFetch, from table: EntityTable, in range: ClosedRange<Int64>?,
    _ values: (QueryGenerator, QueryScope) throws -> [SQLFragment], _ constants: QueryGenerator.Constants
  ) throws -> SQLFragment {
    let generator = QueryGenerator(schema: schema, constants: constants)
    let scope = QueryScope(
      table: table, alias: generator.makeAlias("t"), of: fetch.entity.number,
      required: range == nil ? QueryGenerator.requiredSteps(of: fetch.predicate, scope: 0) : [])
    // Generating the condition and the values adds joins to the scope.
    let condition: SQLFragment? =
      if let range {
        SQLFragment(EntityTable.isKey(scope.key, in: range, of: .chosen(table.index)))
      } else {
        try generator.condition(of: fetch, scope)
      }
    let selected = [SQLFragment(table.reference(alias: scope.alias))] + (try values(generator, scope))
    var statement = scope.query(
      SQLFragment.joined(selected, by: ", "), hint: range == nil ? "" : EntityTable.scanHint, where: condition)
    if case .packed = constants { statement.binders.insert(.packedConstants, at: 0) }
    return statement
  }

  /// Inserts rows into an empty batch table if they are not more than a chunk.
  ///
  /// - Parameter insert: Inserts the rows, given the text to append to their selection, and returns their number.
  /// - Returns: The number of rows, or `nil` if they are more. The table is empty then.
  func insertChunk(into table: BatchTable, _ insert: (_ limit: String) throws -> Int) throws -> Int? {
    let count = try insert(EntityTable.limit(Self.chunkSize + 1))
    if count <= Self.chunkSize { return count }
    try empty(table)
    return nil
  }

  /// Returns the set of the keys that a statement selects.
  func keys(_ statement: Statement) throws -> RowKeySet {
    var keys = RowKeySet()
    defer { statement.reset() }
    while try statement.step() { keys.insert(statement.int64(0)) }
    return keys
  }

  /// Calls a closure for each chunk of a set, whose keys are in a batch table.
  ///
  /// - Parameters:
  ///   - number: The number of the set.
  ///   - source: The table of the rows.
  ///   - table: The batch table, which is empty before and after each call.
  func forEachChunk(
    of number: Int, from source: EntityTable, in table: BatchTable, _ chosen: ChosenRows, _ body: () throws -> Void
  ) throws {
    try chosen[number].forEachRange(of: Self.chunkSize) { range in
      try run(source.insertingKeys(in: table, from: .chosen(number)), range.lowerBound, range.upperBound)
      try body()
      try empty(table)
    }
  }
}
