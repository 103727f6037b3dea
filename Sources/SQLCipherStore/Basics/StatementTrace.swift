// StatementTrace: who hears of the SQL that runs: the log, and tests that count statements.
import Logging
import SQLCipherConnection
import Synchronization

/// Counts the statements of a store, for tests. Set one with ``PersistentStoreDescription/sqlObserver``.
package final class SQLObserver: Sendable {
  private let texts = Mutex<[String]>([])
  private let heard: (@Sendable (String) -> Void)?

  /// - Parameter heard: Called with each statement, just before it runs, on its thread.
  package init(_ heard: (@Sendable (String) -> Void)? = nil) { self.heard = heard }

  /// The texts of the statements run so far, without arguments.
  package var statements: [String] { texts.withLock { $0 } }
  /// How many statements were run.
  package var count: Int { texts.withLock { $0.count } }
  /// Forgets them.
  package func reset() { texts.withLock { $0 = [] } }

  func note(_ text: String) {
    texts.withLock { $0.append(text) }
    heard?(text)
  }
}

/// Costs one test of a boolean where nobody listens.
struct StatementTrace: Sendable {
  private let logger: Logger
  private let observer: SQLObserver?
  private let isOn: Bool

  init(observer: SQLObserver?) {
    let logger = Logger(label: "CipherData.SQL")
    self.logger = logger
    self.observer = observer
    isOn = observer != nil || logger.logLevel <= .debug
  }

  @inline(__always) func note(_ connection: Connection, _ text: @autoclosure () -> String) {
    if isOn { report(text()) }
  }

  @inline(__always) func note(_ statement: Statement) {
    if isOn { report(statement.sql) }
  }

  private func report(_ text: String) {
    logger.debug("\(text)")
    observer?.note(text)
  }
}
