import ObjectStore
import SQLCipherConnection

extension ReadTransaction {
  func queryPlan(of sql: String) throws -> [QueryPlanLine] {
    try QueryPlanLine.lines(try statement(sql: QueryPlanLine.statement(about: sql)))
  }

  /// Returns whether a statement only scans one whole table.
  func isScan(_ sql: String) throws -> Bool {
    let lines = try queryPlan(of: sql)
    return lines.count == 1 && lines[0].children.isEmpty && QueryPlanFacts(lines[0].detail).access == .scan
  }
}
