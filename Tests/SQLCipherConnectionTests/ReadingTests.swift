// ReadingTests: who only reads changes no store: not by a log that belongs to another state of it, and not where nothing may be written.
import Foundation
import XCTest

@testable import SQLCipherConnection
@testable import StoreFiles
@testable import StoreKeys

final class ReadingTests: StoreTestCase {
  private var bytes: Data { get throws { try Data(contentsOf: URL(fileURLWithPath: path)) } }

  /// A store whose log is that of an earlier state of the same store: with its key, sound in itself, and wrong.
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

  func testReadingDoesNotCopyALogIntoTheFile() throws {
    try makeStoreWithForeignLog()
    let before = try bytes
    let connection = try Connection.reading(path, key: testKey())
    XCTAssertThrowsError(try connection.execute("INSERT INTO t (a) VALUES (9)"))
    connection.close()
    XCTAssertEqual(try bytes, before)
    // Whoever writes does copy it: that is what the log is there for.
    try Connection(opening: path, key: testKey()).close()
    XCTAssertNotEqual(try bytes, before)
  }

  func testVerifyingCopyingAndExportingDoNotEither() throws {
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

  func testReadingLeavesNothingBesideTheFile() throws {
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

  func testWhatWasInterruptedIsTakenBackBeforeItIsRead() throws {
    var options = ConnectionOptions()
    options.journalMode = .delete
    options.cacheSizeKiB = 64
    let connection = try Connection.create(path: path, key: testKey(), options: options)
    try connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    // More than the cache holds: pages reach the file before the end of the transaction.
    try connection.execute("BEGIN; INSERT INTO t VALUES (zeroblob(1000000))")
    for suffix in ["", "-journal"] {
      try FileManager.default.copyItem(atPath: path + suffix, toPath: folder + "/killed" + suffix)
    }
    connection.close()
    XCTAssertGreaterThan(StoreFile.size(folder + "/killed-journal") ?? 0, 512)
    let reader = try Connection.reading(folder + "/killed", key: testKey(isProven: true))
    XCTAssertEqual(try reader.firstInteger("SELECT count(*) FROM t"), 1)
    reader.close()
  }

  // MARK: - Where nothing may be written

  private func answers(_ arguments: [String]) throws -> [String] {
    let (output, status) = try ChildProcess("unprivileged", arguments).finish()
    XCTAssertEqual(status, 0, output)
    return ChildProcess.answers(in: output)
  }

  /// Nobody but root may write there, not its owner either: the tests are run by root and by others.
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

  func testAStoreInAFolderThatMayNotBeWrittenIsRead() throws {
    try makeReadOnlyFolder()
    let before = try snapshot()
    XCTAssertEqual(try answers(["r:" + path, "R:" + path, "v:" + path]), ["ok", "ok", "[]"])
    // An empty log holds nothing.
    chmod(folder, 0o755)
    try Data().write(to: URL(fileURLWithPath: path + "-wal"))
    chmod(path + "-wal", 0o444)
    chmod(folder, 0o555)
    XCTAssertEqual(try answers(["r:" + path, "R:" + path]), ["ok", "ok"])
    chmod(folder, 0o755)
    try FileManager.default.removeItem(atPath: path + "-wal")
    XCTAssertEqual(try snapshot(), before)
  }

  func testALogInAFolderThatMayNotBeWrittenIsToldWithTheWayOut() throws {
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

  func testWhatSomebodyElseWritesMeanwhileIsNoticed() throws {
    try makeReadOnlyFolder()
    chmod(path, 0o666)
    XCTAssertEqual(try answers(["w:" + path]), ["busy"])
  }
}
