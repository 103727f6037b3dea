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
