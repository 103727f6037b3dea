// Several processes, other rights, another SQLite in the way, and what is printed.

import Dispatch
import Foundation
import XCTest

@testable import SQLCipherConnection

final class ProcessTests: StoreTestCase {
  private func makeStore(rows: Int = 0) throws {
    let connection = try Connection.create(path: path, key: testKey())
    try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a)")
    for row in 0..<rows { try connection.execute("INSERT INTO t (a) VALUES (\(row))") }
    connection.close()
  }

  func testFourWritersAndFourReadersInProcessesOfTheirOwnLoseNothing() throws {
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

  func testAnotherSQLiteInFrontIsRefused() throws {
    let library = "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0"
    guard FileManager.default.fileExists(atPath: library) else { throw XCTSkip("plain SQLite is not installed at \(library)") }
    try makeStore()
    let (output, status) = try ChildProcess("open", [path], environment: ["LD_PRELOAD": library]).finish()
    XCTAssertEqual(status, 0, output)
    XCTAssertTrue(ChildProcess.answers(in: output).first?.hasPrefix("encryptionUnavailable") ?? false, output)
  }

  func testMissingRightsAreTold() throws {
    guard getuid() == 0 else { throw XCTSkip("only root can become somebody without rights") }
    try makeStore(rows: 3)
    chmod(folder, 0o755)
    let locked = folder + "/locked"
    let open = folder + "/open"
    for name in [locked, open] { try FileManager.default.createDirectory(atPath: name, withIntermediateDirectories: true) }
    for name in ["unreadable", "readonly"] { try FileManager.default.copyItem(atPath: path, toPath: open + "/" + name) }
    for name in ["readonly-folder", "writable"] { try FileManager.default.copyItem(atPath: path, toPath: folder + "/" + name) }
    try FileManager.default.copyItem(atPath: path, toPath: locked + "/inside")
    chmod(open, 0o777)
    chmod(open + "/unreadable", 0o600)
    chmod(open + "/readonly", 0o644)
    chmod(folder + "/readonly-folder", 0o644)
    chmod(folder + "/writable", 0o666)
    chmod(locked + "/inside", 0o666)
    chmod(locked, 0o700)
    let before = try snapshot()
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
    chmod(locked, 0o755)
  }

  func testNothingSecretIsPrinted() throws {
    let (output, status) = try ChildProcess("talkative", [folder]).finish()
    XCTAssertEqual(status, 0, output)
    XCTAssertGreaterThanOrEqual(ChildProcess.answers(in: output).first.flatMap(Int.init) ?? 0, 6, output)
    for line in output.split(separator: "\n") { XCTAssertFalse(line.contains("MARKER"), String(line)) }
    let hex = String(decoding: try Data(contentsOf: URL(fileURLWithPath: folder + "/hex")), as: UTF8.self)
    XCTAssertEqual(hex.count, 64)
    XCTAssertFalse(output.lowercased().contains(hex.prefix(16)))
    // SQLCipher 4 would print its own complaints.
    XCTAssertFalse(output.contains("ERROR CORE"), output)
  }
}
