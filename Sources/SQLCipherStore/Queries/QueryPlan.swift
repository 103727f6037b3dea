import Foundation
import ObjectStore
import SQLCipherConnection

/// A line of EXPLAIN QUERY PLAN with its nested lines.
struct QueryPlanLine {
  var detail: String
  var children: [QueryPlanLine] = []

  /// Returns the statement that explains another one.
  static func statement(about sql: String) -> String { "EXPLAIN QUERY PLAN " + sql }

  /// Returns the plan that such a statement selects, as a tree.
  static func lines(_ statement: Statement) throws -> [QueryPlanLine] {
    defer { statement.reset() }
    var rows: [(id: Int, parent: Int, detail: String)] = []
    while try statement.step() { rows.append((statement.int(0), statement.int(1), statement.text(3))) }
    return LibraryVersion.hasPlanTree ? tree(rows, of: 0) : selects(rows)
  }

  private static func tree(_ rows: [(id: Int, parent: Int, detail: String)], of parent: Int) -> [QueryPlanLine] {
    rows.filter { $0.parent == parent && $0.id != parent }.map { QueryPlanLine(detail: $0.detail, children: tree(rows, of: $0.id)) }
  }

  /// Before SQLite 3.24, a row contains the number of its SELECT, and the line that runs a nested SELECT refers to its number.
  private static func selects(_ rows: [(id: Int, parent: Int, detail: String)]) -> [QueryPlanLine] {
    var open = Set(rows.map(\.id))
    func lines(of select: Int) -> [QueryPlanLine] {
      open.remove(select)
      return rows.filter { $0.id == select }.map { row in
        let inner = selectNumbers(in: row.detail).filter(open.contains)
        return QueryPlanLine(detail: row.detail, children: inner.flatMap(lines))
      }
    }
    var result = lines(of: 0)
    while let rest = open.min() { result += lines(of: rest) }
    return result
  }

  private static func selectNumbers(in detail: String) -> [Int] {
    guard let range = detail.range(of: "SUBQUER") else { return [] }
    return detail[range.upperBound...].split(separator: " ").prefix(4).compactMap { Int($0) }
  }
}

/// The parsed content of a plan's line.
struct QueryPlanFacts {
  var access = FetchExplanation.Access.other
  /// The alias, or the name without an alias, of the table that is read.
  var source: String?
  /// The text after USING, such as `COVERING INDEX i_Book_isbn (isbn=?)`.
  var using: String?
  /// Whether the table is virtual. Full-text indexes are, and they are only searched for words.
  var isVirtual = false

  init(_ detail: String) {
    var rest = Substring(detail)
    if rest.hasPrefix("USE TEMP B-TREE") {
      access = .sort
      return
    }
    if rest.hasPrefix("SEARCH ") {
      access = .search
    } else if rest.hasPrefix("SCAN ") {
      access = .scan
    } else {
      return
    }
    rest = rest.drop { $0 != " " }.dropFirst()
    if rest.hasPrefix("TABLE ") { rest = rest.dropFirst(6) }
    for mark in [
      " USING INTEGER PRIMARY KEY", " USING PRIMARY KEY", " USING INDEX ", " USING COVERING INDEX ", " USING AUTOMATIC ", " VIRTUAL TABLE",
    ] {
      guard let range = rest.range(of: mark) else { continue }
      isVirtual = mark == " VIRTUAL TABLE"
      using = String(rest[range.lowerBound...].dropFirst(isVirtual ? 1 : " USING ".count))
      rest = rest[..<range.lowerBound]
      break
    }
    if using != nil, access == .scan { access = isVirtual ? .search : .indexScan }
    source = rest.range(of: " AS ", options: .backwards).map { String(rest[$0.upperBound...]) } ?? String(rest)
  }
}
