import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys

/// The tables of the history; `Documentation/FileFormat.md` describes them. This file contains all SQL that uses them.
enum HistoryTables {
  static let history = "cipherdata_history"
  /// The names of authors, contexts and openings, each with a number.
  static let names = "cipherdata_history_names"
  /// The registered consumers, with the position that each has read.
  static let consumers = "cipherdata_history_consumers"

  /// Returns the number of a row or a clock, unless it cannot be valid.
  static func checked(_ number: Int64) throws -> Int64 {
    guard number > 0, number < Int64.max / 2 else { throw SideTableFailure(component: all.name, error: nil) }
    return number
  }

  /// The history as a component with side tables. Its statements are prepared directly, since each save runs some of them.
  static let all = SideTables(
    name: "history", format: 1, isRequiredByWriters: true,
    tables: [
      SideTables.Table(
        history,
        "(number INTEGER PRIMARY KEY, start INTEGER, kind INTEGER NOT NULL, clock INTEGER NOT NULL, time REAL NOT NULL,"
          + " opening INTEGER NOT NULL, author INTEGER, context INTEGER, mark INTEGER NOT NULL, changes BLOB NOT NULL)"),
      SideTables.Table(names, "(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)"),
      SideTables.Table(consumers, "(name TEXT PRIMARY KEY, number INTEGER, mark INTEGER, seen REAL NOT NULL) WITHOUT ROWID"),
    ])
}

/// A cached statement on the tables of the history. Its number follows those of ``BookkeepingStatement``.
enum HistoryStatement: Int, CaseIterable, Sendable {
  /// Select the number and clock of the newest row, and insert a row.
  case newest, insertion
  /// Select the number of a name, and insert a name.
  case name, newName
  /// Select the number of the first row after the record that begins the history, the oldest complete transaction, the newest transaction,
  /// and the mark of a row.
  case first, oldest, newestTransaction, position
  /// Select the oldest transaction since a time, the n-th newest transaction, and the lowest position of all consumers.
  case oldestSince, beforeLast, oldestConsumed
  /// Deletes the rows before a number.
  case deletion
  /// Select the consumers by name, insert or update one, and delete one.
  case consumers, consumer, removal
  /// Selects the size and digest of a large value.
  case largeValue
  /// Selects all rows in order, for verification.
  case records

  static let count = allCases.count
  /// The first number after these statements.
  static let end = BookkeepingStatement.count + count

  /// The number by which connections cache the statement.
  var number: Int { BookkeepingStatement.count + rawValue }

  var sql: String {
    let (history, names, consumers) = (HistoryTables.history, HistoryTables.names, HistoryTables.consumers)
    return switch self {
    case .newest: "SELECT number, clock FROM \(history) ORDER BY number DESC LIMIT 1"
    case .insertion: "INSERT INTO \(history) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    case .name: "SELECT id FROM \(names) WHERE text = ?"
    case .newName: "INSERT INTO \(names) (text) VALUES (?)"
    case .first: "SELECT number FROM \(history) WHERE kind <> \(HistoryKind.begin.rawValue) ORDER BY number LIMIT 1"
    case .oldest: "SELECT number, mark FROM \(history) WHERE start IS NULL ORDER BY number LIMIT 1"
    case .oldestSince: "SELECT number FROM \(history) WHERE start IS NULL AND time >= ? ORDER BY number LIMIT 1"
    case .beforeLast: "SELECT number FROM \(history) WHERE start IS NULL ORDER BY number DESC LIMIT 1 OFFSET ?"
    case .oldestConsumed: "SELECT min(coalesce(number, 0)) FROM \(consumers)"
    case .newestTransaction:
      "SELECT t.number, t.mark, l.number FROM (SELECT number, coalesce(start, number) AS first FROM \(history) ORDER BY number DESC LIMIT 1) l"
        + " JOIN \(history) t ON t.number = l.first"
    case .position: "SELECT mark FROM \(history) WHERE number = ?"
    case .deletion: "DELETE FROM \(history) WHERE number < ?"
    case .consumers: "SELECT name, number, mark, seen FROM \(consumers) ORDER BY name"
    case .consumer: "INSERT OR REPLACE INTO \(consumers) VALUES (?, ?, ?, ?)"
    case .removal: "DELETE FROM \(consumers) WHERE name = ?"
    case .records: "SELECT number, start, kind, changes, clock FROM \(history) ORDER BY number"
    case .largeValue: "SELECT size, digest FROM \(BookkeepingTables.externals) WHERE id = ?"
    }
  }

  /// Returns the statement that selects the rows of a query.
  ///
  /// - Returns: The SQL text and its arguments.
  static func entries(_ query: HistoryQuery) -> (sql: String, arguments: [Slot]) {
    var (conditions, arguments) = (["h.number > ?"], [Slot.int(max(query.after, query.behindRow))])
    func add(_ condition: String, _ values: Slot...) {
      conditions.append(condition)
      arguments += values
    }
    // Skip the remaining rows of the transaction itself.
    if query.after > 0 { add("(h.start IS NULL OR h.start > ?)", .int(query.after)) }
    if query.upTo < .max {
      // The rows of a transaction are contiguous, so the scan ends where the next transaction begins.
      let next = "SELECT n.number FROM \(HistoryTables.history) n WHERE n.start IS NULL AND n.number > ? ORDER BY n.number LIMIT 1"
      add("h.number < coalesce((\(next)), \(Int64.max))", .int(query.upTo))
    }
    func names(_ column: String, _ texts: Set<String>?) {
      guard let texts else { return }
      let marks = texts.map { _ in "?" }.joined(separator: ", ")
      conditions.append("h.\(column) IN (SELECT id FROM \(HistoryTables.names) WHERE text IN (\(marks)))")
      arguments += texts.sorted().map { .text($0) }
    }
    names("author", query.authors)
    names("context", query.contexts)
    if let kinds = query.kinds {
      conditions.append("h.kind IN (\(kinds.map { "\($0.rawValue)" }.sorted().joined(separator: ", ")))")
    }
    if query.omitsBeginning { conditions.append("h.kind <> \(HistoryKind.begin.rawValue)") }
    if let since = query.since { add("h.time >= ?", .real(since)) }
    if let before = query.before { add("h.time < ?", .real(before)) }
    let names = HistoryTables.names
    return (
      "SELECT h.number, h.start, h.kind, h.clock, h.time, o.text, a.text, c.text, h.mark, h.changes FROM \(HistoryTables.history) h"
        + " LEFT JOIN \(names) o ON o.id = h.opening LEFT JOIN \(names) a ON a.id = h.author LEFT JOIN \(names) c ON c.id = h.context"
        + " WHERE \(conditions.joined(separator: " AND ")) ORDER BY h.number", arguments
    )
  }
}

extension Connection {
  /// Returns a prepared statement on the tables of the history. The connection caches it: reset it after use, and do not use it twice at
  /// the same time.
  func statement(_ statement: HistoryStatement) throws(StoreAccessError) -> Statement {
    try self.statement(statement.number, statement.sql)
  }
}
