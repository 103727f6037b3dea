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

/// The length of a list of keys in a statement. Shorter lists repeat their last key, so that few different statements are prepared. The raw
/// value is the length.
enum KeyListSize: Int, CaseIterable, Sendable {
  case one = 1
  case eight = 8
  case forty = 40
  case twoHundred = 200
  case fiveHundred = 500

  /// Creates the smallest size that holds a number of keys, or the greatest size if none does.
  init(holding count: Int) {
    switch count {
    case ...Self.one.rawValue: self = .one
    case ...Self.eight.rawValue: self = .eight
    case ...Self.forty.rawValue: self = .forty
    case ...Self.twoHundred.rawValue: self = .twoHundred
    default: self = .fiveHundred
    }
  }

  /// The index among all sizes.
  @inline(__always) var position: Int {
    switch self {
    case .one: 0
    case .eight: 1
    case .forty: 2
    case .twoHundred: 3
    case .fiveHundred: 4
    }
  }

  static let maximum = KeyListSize.fiveHundred
  /// The number of cases: the statement numbers of a statement that is cached in every size.
  @inline(__always) static var count: Int { KeyListSize.fiveHundred.position + 1 }

  /// Calls `body` with consecutive slices of a list, each with its size.
  static func forEachChunk(of keys: ArraySlice<Int64>, _ body: (ArraySlice<Int64>, KeyListSize) throws -> Void) rethrows {
    var rest = keys
    while !rest.isEmpty {
      let chunk = rest.prefix(maximum.rawValue)
      try body(chunk, KeyListSize(holding: chunk.count))
      rest = rest.dropFirst(chunk.count)
    }
  }

  /// The comparison `= ?` or `IN (?, ...)`.
  var condition: String {
    self == .one ? "= ?" : "IN (" + Array(repeating: "?", count: rawValue).joined(separator: ", ") + ")"
  }

  /// Binds a slice to the first placeholders. The last key is bound to the remaining ones.
  func bind(_ keys: ArraySlice<Int64>, to statement: Statement) throws {
    var place: Int32 = 1
    for key in keys {
      try statement.bind(place, key)
      place += 1
    }
    guard let last = keys.last else { return }
    while place <= Int32(rawValue) {
      try statement.bind(place, last)
      place += 1
    }
  }
}
