// StatementTrace: who hears of the SQL that runs: the log, and tests that count statements.
import Logging
import SQLCipherConnection
import Synchronization

/// Rows or members that objects have asked for after they were fetched.
package struct LaterReads: Sendable, Equatable {
  /// What was read: an entity's rows, or a relationship's members.
  package enum Subject: Sendable, Hashable {
    case rows(entity: String)
    case members(entity: String, relationship: String)
  }

  package let subject: Subject
  /// How often the store was asked.
  package internal(set) var requests = 0
  /// For how many objects.
  package internal(set) var objects = 0
  /// How often for one object alone.
  package internal(set) var alone = 0
}

/// Counts the statements of a store, for tests and for the tool. Set one with ``PersistentStoreDescription/sqlObserver``.
package final class SQLObserver: Sendable {
  private let texts = Mutex<[String]>([])
  private let reads = Mutex<[LaterReads]>([])
  private let heard: (@Sendable (String) -> Void)?

  /// - Parameter heard: Called with each statement, just before it runs, on its thread.
  package init(_ heard: (@Sendable (String) -> Void)? = nil) { self.heard = heard }

  /// The texts of the statements run so far, without arguments.
  package var statements: [String] { texts.withLock { $0 } }
  /// How many statements were run.
  package var count: Int { texts.withLock { $0.count } }
  /// What objects have asked for after they were fetched, in the order in which it was first asked for.
  package var laterReads: [LaterReads] { reads.withLock { $0 } }
  /// Forgets them.
  package func reset() {
    texts.withLock { $0 = [] }
    reads.withLock { $0 = [] }
  }

  func note(_ text: String) {
    texts.withLock { $0.append(text) }
    heard?(text)
  }

  func note(_ subject: LaterReads.Subject, objects: Int) {
    reads.withLock { reads in
      let index = reads.firstIndex { $0.subject == subject } ?? reads.endIndex
      if index == reads.endIndex { reads.append(LaterReads(subject: subject)) }
      reads[index].requests += 1
      reads[index].objects += objects
      if objects == 1 { reads[index].alone += 1 }
    }
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

  /// Objects ask for their rows, or for members.
  @inline(__always) func note(_ subject: @autoclosure () -> LaterReads.Subject, objects: Int) {
    if isOn { observer?.note(subject(), objects: objects) }
  }

  private func report(_ text: String) {
    logger.debug("\(text)")
    observer?.note(text)
  }
}
