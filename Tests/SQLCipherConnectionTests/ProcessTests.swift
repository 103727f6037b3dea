import Dispatch
import Foundation
import XCTest

@testable import SQLCipherConnection
@testable import StoreKeys

/// Several processes, other privileges, another SQLite in the process, and printed output.
final class ProcessTests: StoreTestCase {
  private func makeStore(rows: Int = 0) throws {
    let connection = try Connection.create(path: path, key: testKey())
    try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a)")
    for row in 0..<rows { try connection.execute("INSERT INTO t (a) VALUES (\(row))") }
    connection.close()
  }

  func testFourWriterAndFourReaderProcessesLoseNothing() throws {
    try makeStore()
    let writers = try (0..<4).map { _ in try ChildProcess("write", [path, "300"]) }
    let readers = try (0..<4).map { _ in try ChildProcess("read", [path]) }
    for child in writers + readers {
      let (output, status) = child.finish()
      XCTAssertEqual(status, 0, output)
    }
    let connection = try Connection(opening: path, key: testKey())
    XCTAssertEqual(try connection.firstInteger("SELECT count(*) FROM t"), 1_200)
    XCTAssertEqual(try connection.firstText("PRAGMA integrity_check"), "ok")
  }

  /// Returns the numbers that the children answered with. Any other answer is a failure.
  private func numbers(_ children: [ChildProcess], file: StaticString = #filePath, line: UInt = #line) -> [Int] {
    children.map { child in
      let (output, status) = child.finish()
      XCTAssertEqual(status, 0, output, file: file, line: line)
      let answers = ChildProcess.answers(in: output)
      for answer in answers where Int(answer) == nil { XCTFail(answer, file: file, line: line) }
      return answers.last.flatMap(Int.init) ?? 0
    }
  }

  func testOpenerAndRotatorProcessesLoseNothingAndReportNoDamage() async throws {
    let keyring = try await StoreKeyring.create(storePath: path, key: cheap("one"))
    let connection = try Connection(opening: path, key: keyring.databaseKey())
    try connection.execute("CREATE TABLE t (a)")
    connection.close()
    let openers = try (0..<3).map { try ChildProcess("save among others", [path, "40", "\($0)"]) }
    let rotators = try (0..<2).map { _ in try ChildProcess("rotate among others", [path, "40"]) }
    let saved = numbers(openers).reduce(0, +)
    let rotated = numbers(rotators).reduce(0, +)
    XCTAssertGreaterThan(saved, 0)
    XCTAssertGreaterThan(rotated, 0)
    let again = try keyring.withDatabaseKey { try Connection(opening: path, key: $0) }
    XCTAssertEqual(try again.firstInteger("SELECT count(*) FROM t"), Int64(saved))
    again.close()
    XCTAssertEqual(try StoreVerification.run(path: path, key: keyring.databaseKey(), level: .full), [])
  }

  func testOpenerAndReplacerProcessesLoseNoSaves() async throws {
    let keyring = try await StoreKeyring.create(storePath: path, key: cheap("one"))
    let connection = try Connection(opening: path, key: keyring.databaseKey())
    try connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (hex(randomblob(20000)))")
    connection.close()
    // One store with the same data key, whose pages are indistinguishable from those of the original, and one with another key.
    try await keyring.backUp(to: folder + "/same")
    let other = try await keyring.backUp(to: folder + "/other", key: cheap("one"))
    other.close()
    let openers = try (0..<2).map { try ChildProcess("save among others", [path, "30", "\($0)"]) }
    let replacers = try ["/same", "/other"].map { try ChildProcess("replace among others", [path, folder + $0, "10"]) }
    XCTAssertGreaterThan(numbers(openers).reduce(0, +), 0)
    XCTAssertGreaterThan(numbers(replacers).reduce(0, +), 0)
    let last = try await StoreKeyring.unlock(storePath: path, key: cheap("one"))
    XCTAssertEqual(try StoreVerification.run(path: path, key: last.databaseKey(), level: .full), [])
  }

  func testEightThreadsOpenAndCloseWithoutAnError() throws {
    try makeStore(rows: 3)
    let path = path
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      for _ in 0..<40 {
        do {
          let connection = try Connection(opening: path, key: testKey())
          XCTAssertEqual(try connection.firstInteger("SELECT count(*) FROM t"), 3)
          connection.close()
        } catch {
          XCTFail("\(error)")
        }
      }
    }
  }

  func testPreloadedPlainSQLiteIsRejected() throws {
    try makeStore()
    let (output, status) = try ChildProcess("open", [path], environment: ["LD_PRELOAD": "libsqlite3.so.0"]).finish()
    XCTAssertEqual(status, 0, output)
    // If the library is missing, the loader prints that.
    XCTAssertTrue(
      ChildProcess.answers(in: output).first?.hasPrefix("encryptionUnavailable") ?? false,
      "plain SQLite is needed: run Scripts/install-dependencies --tests\n\(output)")
  }

  /// Makes a store with a table, for a process that has loaded plain SQLite too.
  private func makeStore(nextTo name: String) throws -> String {
    let connection = try Connection.create(path: folder + "/" + name, key: testKey())
    try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a)")
    connection.close()
    return folder + "/" + name
  }

  func testPlainSQLiteInTheSameProcessDoesNotDamageStores() throws {
    let path = try makeStore(nextTo: "deep")
    let (output, status) = try ChildProcess("with a plain SQLite in the process", [path, "deep"]).finish()
    XCTAssertEqual(status, 0, output)
    XCTAssertEqual(ChildProcess.answers(in: output), ["1 ok", "202 ok"], output)
    let plain = try Data(contentsOf: URL(fileURLWithPath: path + ".plain"))
    XCTAssertTrue(plain.starts(with: Data("SQLite format 3".utf8)))
  }

  /// Plain SQLite, loaded after SQLCipher without deep binding, calls SQLCipher's functions. Such a process may crash; the store stays
  /// intact.
  func testPlainSQLiteBoundToSQLCipherDoesNotDamageStores() throws {
    let path = try makeStore(nextTo: "shared")
    let (output, status) = try ChildProcess(
      "with a plain SQLite in the process", [path, "shared"], environment: ["SWIFT_BACKTRACE": "enable=no"]
    ).finish()
    let answers = ChildProcess.answers(in: output)
    XCTAssertEqual(answers, status == 0 ? ["1 ok", "202 ok"] : ["1 ok"], output)
    let connection = try Connection(opening: path, key: testKey())
    XCTAssertGreaterThanOrEqual(try connection.firstInteger("SELECT count(*) FROM t") ?? 0, 1)
    connection.close()
    XCTAssertEqual(try StoreVerification.run(path: path, key: testKey(), level: .full), [])
  }

  func testMissingPermissionsAreReported() throws {
    try makeStore(rows: 3)
    let locked = folder + "/locked"
    let open = folder + "/open"
    for name in [locked, open] { try FileManager.default.createDirectory(atPath: name, withIntermediateDirectories: true) }
    for name in ["unreadable", "readonly"] { try FileManager.default.copyItem(atPath: path, toPath: open + "/" + name) }
    for name in ["readonly-folder", "writable"] { try FileManager.default.copyItem(atPath: path, toPath: folder + "/" + name) }
    try FileManager.default.copyItem(atPath: path, toPath: locked + "/inside")
    let before = try snapshot()
    // The result does not depend on the owner. The tests run as root, which becomes an unprivileged user for this, and as other users.
    let modes: [(path: String, mode: mode_t)] = [
      (open, 0o777), (open + "/unreadable", 0), (open + "/readonly", 0o444), (folder + "/readonly-folder", 0o444),
      (folder + "/writable", 0o666), (locked + "/inside", 0o666), (locked, 0), (folder, 0o555),
    ]
    for (path, mode) in modes { chmod(path, mode) }
    defer { for (path, _) in modes.reversed() { chmod(path, 0o755) } }
    let child = try ChildProcess(
      "unprivileged",
      [
        "o:\(open)/unreadable", "o:\(open)/readonly", "o:\(folder)/readonly-folder", "o:\(folder)/writable", "o:\(locked)/inside",
        "c:\(folder)/new", "c:\(locked)/new", "c:\(open)/new", "o:\(open)/new", "c:\(open)/none/new",
      ])
    let (output, status) = child.finish()
    XCTAssertEqual(status, 0, output)
    XCTAssertEqual(
      ChildProcess.answers(in: output),
      [
        "permissionDenied", "readOnly", "readOnly", "readOnly", "permissionDenied", "permissionDenied", "permissionDenied", "ok", "ok",
        "noSuchFile",
      ], output)
    XCTAssertEqual(try snapshot(), before)
  }

  func testSecretsAreNotPrinted() throws {
    let (output, status) = try ChildProcess("talkative", [folder]).finish()
    XCTAssertEqual(status, 0, output)
    XCTAssertGreaterThanOrEqual(ChildProcess.answers(in: output).first.flatMap(Int.init) ?? 0, 6, output)
    for line in output.split(separator: "\n") { XCTAssertFalse(line.contains("MARKER"), String(line)) }
    let hex = String(decoding: try Data(contentsOf: URL(fileURLWithPath: folder + "/hex")), as: UTF8.self)
    XCTAssertEqual(hex.count, 64)
    XCTAssertFalse(output.lowercased().contains(hex.prefix(16)))
    // SQLCipher 4 would print its own error messages.
    XCTAssertFalse(output.contains("ERROR CORE"), output)
  }
}
