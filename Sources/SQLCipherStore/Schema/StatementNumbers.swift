import ObjectModel
import SQLCipherConnection
import StoreKeys

/// Hands out ranges of numbers, each behind the one before.
struct NumberRanges {
  private(set) var end: Int

  init(behind end: Int) { self.end = end }

  mutating func take(_ count: Int) -> Range<Int> {
    defer { end += count }
    return end..<(end + count)
  }
}

/// The numbers of the statements over a schema's tables. Those over the bookkeeping tables and the history come before them, and are the same on
/// all connections (``BookkeepingStatement``, ``HistoryStatement``).
struct StatementNumbers: Sendable {
  /// Connections keep a statement for each plan that has a number, so there is a bound; plans that come later are prepared anew at each use.
  static let planCapacity = 1_000

  private let tables: Int
  private let entities: Int
  private let relationships: Int
  private let sides: Int
  /// For updates of combinations of slots, in the order in which they are first used.
  let updates: Range<Int>
  /// For fetches, in the order in which their shapes are first seen.
  let fetches: Range<Int>
  /// The first number behind all of them.
  let end: Int

  /// - Parameter others: The numbers of another schema that the connection's statements are over too.
  init(for schema: StoreSchema, behind others: StatementNumbers? = nil) {
    var ranges = NumberRanges(behind: others?.end ?? HistoryStatement.end)
    tables = ranges.take(schema.tables.count * EntityStatement.countOfTable).lowerBound
    entities = ranges.take(schema.model.entities.count * EntityStatement.countOfEntity).lowerBound
    relationships = ranges.take(schema.model.relationships.count * EntityStatement.countOfRelationship).lowerBound
    sides = ranges.take(schema.layout.joinTables.count * JoinSide.countOfTable * JoinStatement.countOfSide).lowerBound
    updates = ranges.take(Self.planCapacity)
    fetches = ranges.take(Self.planCapacity)
    end = ranges.end
  }

  @inline(__always) func number(of statement: EntityStatement) -> Int {
    switch statement.place {
    case .table(let index, let offset): tables + index * EntityStatement.countOfTable + offset
    case .entity(let number, let offset): entities + number * EntityStatement.countOfEntity + offset
    case .relationship(let id, let offset): relationships + id * EntityStatement.countOfRelationship + offset
    }
  }

  @inline(__always) func number(of statement: JoinStatement) -> Int {
    let (side, offset) = statement.place
    return sides + side * JoinStatement.countOfSide + offset
  }
}

/// The statements of a schema on the connections of its store, which keep them.
struct StoreStatements: Sendable {
  let schema: StoreSchema
  let numbers: StatementNumbers

  /// - Parameter others: The statements of another schema that the connections are used for too.
  init(_ schema: StoreSchema, behind others: StoreStatements? = nil) {
    self.schema = schema
    numbers = StatementNumbers(for: schema, behind: others?.numbers)
  }

  /// A prepared statement over an entity's table. The connection keeps it: reset it after use, and do not use it twice at once.
  @inline(__always) func statement(_ statement: EntityStatement, on connection: Connection) throws(StoreAccessError) -> Statement {
    try connection.statement(numbers.number(of: statement), statement.sql(in: schema))
  }

  /// A prepared statement over a join table.
  @inline(__always) func statement(_ statement: JoinStatement, on connection: Connection) throws(StoreAccessError) -> Statement {
    try connection.statement(numbers.number(of: statement), statement.sql(in: schema))
  }
}
