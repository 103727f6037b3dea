import Logging
import SQLCipherConnection

/// Reports SQL to the log and to recording observers before it runs. Without either, the cost is one test of a Boolean.
struct StatementTrace: Sendable {
  private let logger: Logger
  private let observer: SQLObserver?
  private let isOn: Bool

  init(observer: SQLObserver?) {
    let logger = Logger(label: "CipherData.SQL")
    self.logger = logger
    self.observer = observer
    isOn = observer?.recordsStatements ?? false || logger.logLevel <= .debug
  }

  @inline(__always) func record(_ connection: Connection, _ text: @autoclosure () -> String) {
    if isOn { report(text()) }
  }

  @inline(__always) func record(_ statement: Statement) {
    if isOn { report(statement.sql) }
  }

  /// Records that objects request their rows or members.
  @inline(__always) func record(_ subject: @autoclosure () -> FaultReads.Subject, objects: Int) {
    if isOn { observer?.record(subject(), objects: objects) }
  }

  private func report(_ text: String) {
    logger.debug("\(text)")
    observer?.record(text)
  }
}

/// Counts of the rows or members that objects requested from the store after their fetch.
package struct FaultReads: Sendable, Equatable {
  /// What was read: rows of an entity, or members of a relationship.
  package enum Subject: Sendable, Hashable {
    case rows(entity: String)
    case members(entity: String, relationship: String)
  }

  package let subject: Subject
  package internal(set) var requests = 0
  package internal(set) var objects = 0
  /// The number of requests for a single object.
  package internal(set) var singleReads = 0
}

// MARK: - Tracing queries

extension Connection {
  /// Returns the single number that a query selects, or 0 if it returns no row.
  ///
  /// - Parameter trace: The trace that records the statement.
  func number(_ sql: String, trace: StatementTrace? = nil) throws -> Int {
    let statement = try statement(sql: sql)
    defer { statement.reset() }
    trace?.record(statement)
    return try statement.step() ? statement.int(0) : 0
  }
}
