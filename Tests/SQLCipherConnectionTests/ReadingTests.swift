import Foundation
import Synchronization
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

/// Read-only connections never change a store: not because of a log of another state, nor where nothing may be written.
final class ReadingTests: StoreTestCase {
  private var bytes: Data { get throws { try Data(contentsOf: URL(fileURLWithPath: path)) } }

  /// Makes a store with the log of an earlier state of itself: the key matches, and the log is valid but wrong.
  private func makeStoreWithForeignLog(fullText: Bool = false) throws {
    let connection = try Connection.create(path: path, key: testKey())
    try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a)")
    if fullText { try connection.execute("CREATE VIRTUAL TABLE f USING fts4(x); INSERT INTO f (x) VALUES ('one two')") }
    _ = try connection.pragma("wal_checkpoint(TRUNCATE)")
    try connection.execute("INSERT INTO t (a) VALUES (1)")
    let log = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
    connection.close()
    let later = try Connection(opening: path, key: testKey())
    try later.execute("INSERT INTO t (a) VALUES (2), (3)")
    later.close()
    try log.write(to: URL(fileURLWithPath: path + "-wal"))
  }

  func testReadingDoesNotCheckpointTheLog() throws {
    try makeStoreWithForeignLog()
    let before = try bytes
    let connection = try Connection.reading(path, key: testKey())
    XCTAssertThrowsError(try connection.execute("INSERT INTO t (a) VALUES (9)"))
    connection.close()
    XCTAssertEqual(try bytes, before)
    // A writable connection does copy it, which is the purpose of a log.
    try Connection(opening: path, key: testKey()).close()
    XCTAssertNotEqual(try bytes, before)
  }

  func testVerifyingCopyingAndExportingDoNotCheckpointTheLog() throws {
    try makeStoreWithForeignLog(fullText: true)
    let before = try bytes
    var options = ConnectionOptions()
    options.isReadOnly = true
    _ = try StoreVerification.run(path: path, key: testKey(), level: .full, options: options)
    XCTAssertEqual(try bytes, before)
    try Connection.prepare(
      path: folder + "/copy", key: testKey(3), options: ConnectionOptions(),
      contents: .copy(of: path, key: testKey(), largeValues: { _ in [] }))
    XCTAssertEqual(try bytes, before)
    try Connection.prepare(
      path: folder + "/other", key: testKey(3, format: .sqlcipher3), options: ConnectionOptions(),
      contents: .copy(of: path, key: testKey(), largeValues: { _ in [] }))
    XCTAssertEqual(try bytes, before)
    try PlaintextExchange.exportPlaintext(from: path, key: testKey(), to: folder + "/plain")
    XCTAssertEqual(try bytes, before)
  }

  func testReadingLeavesNoCompanionFiles() throws {
    try Connection.create(path: path, key: testKey()).close()
    let connection = try Connection.reading(path, key: testKey())
    XCTAssertEqual(try connection.pragma("journal_mode"), "wal")
    connection.close()
    XCTAssertEqual(try names(), ["test.store"])
  }

  func testReadingKeepsTheJournalModeOfTheFile() throws {
    var options = ConnectionOptions()
    options.journalMode = .delete
    try Connection.create(path: path, key: testKey(), options: options).close()
    let before = try bytes
    try Connection.reading(path, key: testKey()).close()
    _ = try Connection.withUnchangedFile(path, key: testKey(), options: ConnectionOptions()) { try $0.pragma("journal_mode") }
    XCTAssertEqual(try bytes, before)
  }

  // MARK: - Interrupted transactions without a log

  private func makeStoreWithoutLog() throws {
    let connection = try Connection.create(path: path, key: testKey(), options: InterruptedStore.options)
    try connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    connection.close()
  }

  private var readOnly: ConnectionOptions {
    var options = ConnectionOptions()
    options.isReadOnly = true
    return options
  }

  private let count = "SELECT count(*) FROM t"

  func testInterruptedTransactionsAreRolledBackBeforeReading() throws {
    try makeStoreWithoutLog()
    try InterruptedStore(path, testKey()).put()
    let reader = try Connection.reading(path, key: testKey(isProven: true))
    XCTAssertEqual(try reader.firstInteger(count), 1)
    reader.close()
  }

  func testInterruptedTransactionsAreRolledBackWhenOpeningReadOnly() throws {
    try makeStoreWithoutLog()
    try InterruptedStore(path, testKey()).put()
    let connection = try Connection(opening: path, key: testKey(isProven: true), options: readOnly)
    XCTAssertEqual(try connection.firstInteger(count), 1)
    XCTAssertThrowsError(try connection.execute("INSERT INTO t VALUES (2)"))
    connection.close()
    XCTAssertEqual(try names(), ["test.store"])
  }

  func testReadersCanRollBackIfTheLogIsRemovedWhileOpening() throws {
    try makeStoreWithoutLog()
    let interrupted = try InterruptedStore(path, testKey())
    var writer: Connection? = try Connection(opening: path, key: testKey())
    try writer?.execute("INSERT INTO t VALUES (2)")
    let path = path
    let parting = Parting(writer)
    writer = nil
    let isDone = Mutex(false)
    DatabaseLocation.whenLocking.withLock {
      $0 = { opened in
        guard opened == path,
          isDone.withLock({ isDone in
            defer { isDone = true }; return !isDone
          })
        else { return }
        // The last connection removes the log, and another process leaves the file without one, as a compaction does.
        parting.connection?.close()
        do { try Connection(opening: path, key: testKey(), options: InterruptedStore.options).close() } catch { XCTFail("\(error)") }
      }
    }
    defer { DatabaseLocation.whenLocking.withLock { $0 = nil } }
    let reader = try Connection.reading(path, key: testKey(isProven: true))
    XCTAssertTrue(isDone.withLock { $0 })
    try interrupted.put()
    XCTAssertEqual(try reader.readTransaction { try reader.firstInteger(count) }, 1)
    XCTAssertThrowsError(try reader.execute("INSERT INTO t VALUES (3)"))
    reader.close()
  }

  /// A connection that a hook closes. `@unchecked Sendable`: the hook runs on the thread of the test.
  private final class Parting: @unchecked Sendable {
    let connection: Connection?
    init(_ connection: Connection?) { self.connection = connection }
  }

  func testReadOnlyPoolsRollBackTransactionsInterruptedWhileOpen() throws {
    try makeStoreWithoutLog()
    let interrupted = try InterruptedStore(path, testKey())
    let pool = try ConnectionPool(path: path, key: testKey(isProven: true), options: readOnly)
    defer { pool.close() }
    func look() throws -> Int64? { try pool.withReader { try $0.firstInteger(count) } }
    XCTAssertEqual(try look(), 1)
    try interrupted.put()
    XCTAssertEqual(try look(), 1)
    try interrupted.put()
    XCTAssertEqual(try pool.holdSnapshot().read { try $0.firstInteger(count) }, 1)
    try interrupted.put()
    try pool.withWriter { writer in
      _ = try writer.dataVersion()
      XCTAssertEqual(try writer.firstInteger(count), 1)
    }
    try interrupted.put()
    try pool.withWriter { writer in
      _ = try writer.userVersion()
      XCTAssertEqual(try writer.firstInteger(count), 1)
    }
  }

  func testInterruptedTransactionsAreReportedWithoutWritePermission() throws {
    try makeStoreWithoutLog()
    try InterruptedStore(path, testKey()).put()
    chmod(path, 0o444)
    chmod(path + "-journal", 0o444)
    chmod(folder, 0o555)
    let before = try snapshot()
    XCTAssertEqual(try answers(["r:" + path, "R:" + path]), ["readOnlyLog", "readOnlyLog"])
    XCTAssertEqual(try snapshot(), before)
  }

  // MARK: - Folders without write permission

  private func answers(_ arguments: [String]) throws -> [String] {
    let (output, status) = try ChildProcess("unprivileged", arguments).finish()
    XCTAssertEqual(status, 0, output)
    return ChildProcess.answers(in: output)
  }

  /// Only root may write there, not even the owner: the tests run as root and as other users.
  private func makeReadOnlyFolder() throws {
    let connection = try Connection.create(path: path, key: testKey())
    try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a); INSERT INTO t (a) VALUES (1), (2), (3)")
    connection.close()
    chmod(path, 0o444)
    chmod(folder, 0o555)
  }

  override func tearDownWithError() throws {
    chmod(folder, 0o755)
    try super.tearDownWithError()
  }

  func testStoresInReadOnlyFoldersAreRead() throws {
    try makeReadOnlyFolder()
    let before = try snapshot()
    XCTAssertEqual(try answers(["r:" + path, "R:" + path, "v:" + path]), ["ok", "ok", "[]"])
    // An empty log contains nothing.
    chmod(folder, 0o755)
    try Data().write(to: URL(fileURLWithPath: path + "-wal"))
    chmod(path + "-wal", 0o444)
    chmod(folder, 0o555)
    XCTAssertEqual(try answers(["r:" + path, "R:" + path]), ["ok", "ok"])
    chmod(folder, 0o755)
    try FileManager.default.removeItem(atPath: path + "-wal")
    XCTAssertEqual(try snapshot(), before)
  }

  func testLogsInReadOnlyFoldersAreReportedWithAdvice() throws {
    try makeReadOnlyFolder()
    chmod(folder, 0o755)
    chmod(path, 0o644)
    let writer = try Connection(opening: path, key: testKey())
    try writer.execute("INSERT INTO t (a) VALUES (4)")
    for suffix in ["", "-wal"] { try FileManager.default.copyItem(atPath: path + suffix, toPath: folder + "/media" + suffix) }
    writer.close()
    for suffix in ["", "-wal"] { chmod(folder + "/media" + suffix, 0o444) }
    chmod(folder, 0o555)
    let before = try snapshot()
    XCTAssertEqual(try answers(["r:\(folder)/media", "R:\(folder)/media"]), ["readOnlyLog", "readOnlyLog"])
    XCTAssertEqual(try snapshot(), before)
    let error = StoreAccessError(.readOnlyLog, path: path, operation: .open)
    XCTAssertTrue(error.explanation.contains("copy the store"), error.explanation)
  }

  func testConcurrentWritesAreDetected() throws {
    try makeReadOnlyFolder()
    chmod(path, 0o666)
    XCTAssertEqual(try answers(["w:" + path]), ["busy"])
  }
}
