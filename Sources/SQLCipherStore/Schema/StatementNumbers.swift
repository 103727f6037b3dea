import ObjectModel
import SQLCipherConnection
import StoreKeys

/// Allocates consecutive ranges of numbers.
struct NumberRanges {
  private(set) var end: Int

  init(behind end: Int) { self.end = end }

  mutating func take(_ count: Int) -> Range<Int> {
    defer { end += count }
    return end..<(end + count)
  }
}

/// The numbers by which connections cache the statements on a schema's tables.
///
/// The numbers of the bookkeeping and history statements come first and are the same on all connections (``BookkeepingStatement``,
/// ``HistoryStatement``).
struct StatementNumbers: Sendable {
  /// The maximum number of plans with a number. Connections cache a statement for each of these; statements of further plans are prepared
  /// at each use.
  static let planCapacity = 1_000

  private let tables: Int
  private let entities: Int
  private let relationships: Int
  private let sides: Int
  /// The numbers for updates of combinations of slots, in the order of their first use.
  let updates: Range<Int>
  /// The numbers for fetches, in the order of the first use of their shapes.
  let fetches: Range<Int>
  /// The first number after all of these.
  let end: Int

  /// - Parameter others: The numbers of another schema that is used on the same connections.
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

/// The cached statements of a schema on the connections of its store.
struct StoreStatements: Sendable {
  let schema: StoreSchema
  let numbers: StatementNumbers

  /// - Parameter others: The statements of another schema that is used on the same connections.
  init(_ schema: StoreSchema, behind others: StoreStatements? = nil) {
    self.schema = schema
    numbers = StatementNumbers(for: schema, behind: others?.numbers)
  }

  /// Returns a prepared statement on an entity's table. The connection caches it: reset it after use, and do not use it twice at the same
  /// time.
  @inline(__always) func statement(_ statement: EntityStatement, on connection: Connection) throws(StoreAccessError) -> Statement {
    try connection.statement(numbers.number(of: statement), statement.sql(in: schema))
  }

  /// Returns a prepared statement on a join table, cached like those on tables of entities.
  @inline(__always) func statement(_ statement: JoinStatement, on connection: Connection) throws(StoreAccessError) -> Statement {
    try connection.statement(numbers.number(of: statement), statement.sql(in: schema))
  }
}
