import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection

// The keys of the rows of a request are kept in temporary tables, which SQLite keeps in memory. If a request selects many rows and each of
// them can be processed on its own, they are processed in chunks, in the order of their keys.

extension BatchTransaction {
  /// The maximum number of rows of a chunk: about 10 MB of keys.
  @TaskLocal static var chunkSize = 1_000_000

  /// The rows to select.
  enum Chunk {
    case all
    /// One row more than a chunk holds, if there are so many.
    case first
    /// The next rows after a key.
    case after(Int64)

    /// The text to append to a selection of all rows.
    var limit: String {
      if case .first = self { EntityTable.limit(BatchTransaction.chunkSize + 1).text } else { "" }
    }
  }

  /// Returns the selection of the rows of a table that meet the condition of a fetch: key, entity, and values.
  ///
  /// - Parameters:
  ///   - last: The key after which the rows of a chunk begin, or `nil` for all rows.
  ///   - values: Returns the values to select.
  func selection(
    of fetch: ResolvedFetch, from table: EntityTable, after last: Int64? = nil,
    _ values: (QueryGenerator, QueryScope) throws -> [SQLFragment] = { _, _ in [] }
  ) throws -> SQLFragment {
    // Bind each list as one placeholder. The statement is not reused, so its shape does not matter.
    let onePerList = QueryGenerator.Constants.placeholders(listCapacities: Array(repeating: -1, count: fetch.constants.count))
    let direct = try selection(of: fetch, from: table, after: last, values, onePerList)
    if direct.binders.count <= SelectGenerator.maximumBinderCount { return direct }
    return try selection(of: fetch, from: table, after: last, values, .packed)
  }

  private func selection(
    of fetch: ResolvedFetch, from table: EntityTable, after last: Int64?,
    _ values: (QueryGenerator, QueryScope) throws -> [SQLFragment], _ constants: QueryGenerator.Constants
  ) throws -> SQLFragment {
    let generator = QueryGenerator(schema: schema, constants: constants)
    let scope = QueryScope(
      table: table, alias: generator.makeAlias("t"), of: fetch.entity.number,
      required: QueryGenerator.requiredSteps(of: fetch.predicate, scope: 0))
    // Generating the condition and the values adds joins to the scope.
    var condition = try generator.condition(of: fetch, scope)
    let selected = [SQLFragment(table.reference(alias: scope.alias))] + (try values(generator, scope))
    if let last { condition = table.following(last, scope.key, condition) }
    var statement = scope.query(
      SQLFragment.joined(selected, by: ", "), hint: last == nil ? "" : EntityTable.scanHint, where: condition)
    if last != nil { statement.append(EntityTable.limit(Self.chunkSize, by: scope.key)) }
    if case .packed = constants { statement.binders.insert(.packedConstants, at: 0) }
    return statement
  }

  /// Calls a closure for the rows in a batch table: once, or if a request selects too many rows, for each chunk of them.
  ///
  /// - Parameters:
  ///   - isDivisible: Returns whether the request can be divided.
  ///   - select: Selects rows into the empty table and returns their number.
  ///   - body: Processes the rows, given their number.
  func forEachChunk(
    in table: BatchTable, isDivisible: () -> Bool, select: (Chunk) throws -> Int, _ body: (_ count: Int) throws -> Void
  ) throws {
    let first = try select(.first)
    if first == 0 { return }
    if first <= Self.chunkSize { return try body(first) }
    try empty(table)
    guard isDivisible() else { return try body(try select(.all)) }
    var last: Int64 = 0
    while true {
      let count = try select(.after(last))
      if count == 0 { return }
      last = try number(table.greatestKey) ?? .max
      try body(count)
      if count < Self.chunkSize { return }
      try empty(table)
    }
  }
}
