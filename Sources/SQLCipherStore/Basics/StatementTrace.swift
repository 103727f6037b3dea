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
    isOn = observer?.notesTexts ?? false || logger.logLevel <= .debug
  }

  @inline(__always) func note(_ connection: Connection, _ text: @autoclosure () -> String) {
    if isOn { report(text()) }
  }

  @inline(__always) func note(_ statement: Statement) {
    if isOn { report(statement.sql) }
  }

  /// Records that objects request their rows or members.
  @inline(__always) func note(_ subject: @autoclosure () -> LaterReads.Subject, objects: Int) {
    if isOn { observer?.note(subject(), objects: objects) }
  }

  private func report(_ text: String) {
    logger.debug("\(text)")
    observer?.note(text)
  }
}
