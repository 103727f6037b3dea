import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import Synchronization
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Participants in a commit are notified of its phases in list order, for nested transactions as for whole ones.
final class TransactionParticipantTests: XCTestCase {
  private struct Stop: Error {}

  /// The notifications that participants received, in order.
  private final class Log: Sendable {
    private let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    func take() -> [String] {
      lines.withLock { lines in
        defer { lines = [] }
        return lines
      }
    }
  }

  private final class Recorder: TransactionParticipant {
    let name: String
    let log: Log
    let fails: Bool

    init(name: String, log: Log, fails: Bool = false) { (self.name, self.log, self.fails) = (name, log, fails) }

    private func note(_ moment: String, _ transaction: WriteTransaction) {
      log.add("\(name) \(moment)\(transaction.isPart ? " a part" : "")")
    }
    func didBegin(_ transaction: WriteTransaction) throws { note("begins", transaction) }
    func willCommit(_ transaction: WriteTransaction) throws {
      note("prepares", transaction)
      if fails { throw Stop() }
    }
    func didCommit(_ transaction: WriteTransaction) { note("commits", transaction) }
    func didRollBack(_ transaction: WriteTransaction) { note("rolls back", transaction) }
  }

  private let log = Log()
  private func recorders(fails: Bool = false) -> [Recorder] {
    [Recorder(name: "A", log: log), Recorder(name: "B", log: log, fails: fails), Recorder(name: "C", log: log)]
  }

  private func engine(_ open: OpenStore) throws -> StoreEngine {
    try XCTUnwrap(open.store as? SQLCipherIncrementalStore).engine(.read)
  }

  private func onWriter(_ body: (Connection) throws -> Void) throws {
    let store = try TestStore()
    let open = try store.open()
    try engine(open).pool.withWriter(body)
    try open.close()
  }

  // MARK: Phases

  func testParticipantsAreCalledInListOrder() throws {
    try onWriter { connection in
      try WriteTransaction.run(on: connection, recorders()) { _ in log.add("statements") }
      XCTAssertEqual(
        log.take(),
        ["A begins", "B begins", "C begins", "statements", "A prepares", "B prepares", "C prepares", "A commits", "B commits", "C commits"])
    }
  }

  func testThrowingParticipantRollsBackEverything() throws {
    try onWriter { connection in
      XCTAssertThrowsError(
        try WriteTransaction.run(on: connection, recorders(fails: true)) { try $0.connection.execute("CREATE TABLE extra (a)") }
      ) { XCTAssertTrue($0 is Stop) }
      XCTAssertEqual(
        log.take(), ["A begins", "B begins", "C begins", "A prepares", "B prepares", "A rolls back", "B rolls back", "C rolls back"])
      XCTAssertTrue(connection.isInAutocommit)
      XCTAssertThrowsError(try connection.execute("SELECT a FROM extra"))
    }
  }

  func testFailedNestedTransactionRollsBackAlone() throws {
    try onWriter { connection in
      let recorders = [Recorder(name: "A", log: log)]
      try connection.execute("CREATE TEMP TABLE noted (a)")
      try WriteTransaction.run(on: connection, recorders) { whole in
        try WriteTransaction.begin(partOf: whole, recorders).run { try $0.connection.execute("INSERT INTO noted VALUES (1)") }
        XCTAssertThrowsError(
          try WriteTransaction.begin(partOf: whole, recorders).run { part in
            try part.connection.execute("INSERT INTO noted VALUES (2)")
            throw Stop()
          })
      }
      XCTAssertEqual(
        log.take(),
        ["A begins", "A prepares a part", "A commits a part", "A rolls back a part", "A prepares", "A commits"])
      let statement = try connection.statement(sql: "SELECT group_concat(a) FROM noted")
      XCTAssertTrue(try statement.step())
      XCTAssertEqual(statement.text(0), "1")
    }
  }

  func testEndedTransactionRejectsNestedTransactions() throws {
    try onWriter { connection in
      let whole = try WriteTransaction.begin(on: connection, recorders())
      whole.rollBack()
      _ = log.take()
      assertStoreError(.invalidRequest) { try WriteTransaction.begin(partOf: whole, recorders()) }
      whole.rollBack()
      XCTAssertEqual(log.take(), [], "The end is reported once.")
    }
  }

  // MARK: The list

  func testStoreHasTheExpectedParticipantsInOrder() throws {
    var poster = AttributeDescription(name: "poster", type: .binary)
    poster.allowsExternalBinaryDataStorage = true
    var sought = AttributeDescription(name: "sought", type: .string)
    sought.derivationExpression = "canonical:(title)"
    let title = AttributeDescription(name: "title", type: .string)
    let model = try SpecificationModels.frozen([
      EntityDescription(name: "Film", properties: [title, poster, sought].map { .attribute($0) })
    ])
    func names(_ open: OpenStore) throws -> [String] { try engine(open).participants.map { "\(type(of: $0))" } }
    let (films, books) = (try TestStore(), try TestStore())
    XCTAssertEqual(
      try names(try films.open(model)),
      ["ModelChangeDetector", "DerivedValues", "ObservedTransactions", "LargeValues", "StoreHistory", "ReservedKeys", "TableSizes"])
    XCTAssertEqual(
      try names(try books.open()), ["ModelChangeDetector", "ObservedTransactions", "StoreHistory", "ReservedKeys", "TableSizes"],
      "Who has nothing to do is not asked.")
  }

  // MARK: Requests

  func testWriterIsReleasedAfterEveryOutcome() throws {
    let store = try TestStore()
    let open = try store.open()
    let engine = try engine(open)
    try engine.begin().commit()
    try engine.begin().rollBack()
    XCTAssertThrowsError(try engine.write { _ in throw Stop() })
    XCTAssertThrowsError(try engine.transaction { throw Stop() })
    XCTAssertThrowsError(
      try engine.transaction {
        try engine.write { $0.connection.abandonTransaction() }
      })
    // Another thread would wait forever.
    _ = try waitFor { try open.insert("Tag", ["name": .text("red")]) }
    XCTAssertEqual(try open.count("Tag"), 1)
  }

  func testRequestOfATaskStartedByTheBodyIsOutsideTheTransaction() async throws {
    let store = try TestStore()
    let open = try store.open()
    let counted = Mutex<Int?>(nil)
    let isCounted = DispatchSemaphore(value: 0)
    try open.store.performTransaction {
      try open.insert("Tag", ["name": .text("red")])
      Task { @Sendable in
        let count = try? open.count("Tag")
        counted.withLock { $0 = count }
        isCounted.signal()
      }
      isCounted.wait()
      XCTAssertEqual(try open.count("Tag"), 1)
    }
    XCTAssertEqual(counted.withLock { $0 }, 0)
    XCTAssertEqual(try open.count("Tag"), 1)
  }
}
