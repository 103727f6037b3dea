import CipherDataToolKit
import Foundation
import ObjectModel
import SQLCipherConnection
import StoreKeys
import XCTest

/// Commands that only read do not change a store, and work without write permission.
final class ReadOnlyFolderTests: XCTestCase {
  private static let readers = [
    ["info", "test.store"], ["verify", "test.store"], ["verify", "test.store", "--quick"], ["export", "test.store"],
    ["fetch", "test.store", "--entity", "Package"],
  ]

  private func storeWithPackages() async throws -> ToolFixture {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    XCTAssertEqual(try fixture.run(["import", "test.store", "--format", "deb822", "-"], input: PackageImportTests.index).status, 0)
    return fixture
  }

  private func bytes(_ fixture: ToolFixture, _ suffix: String = "") throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: fixture.store + suffix))
  }

  /// Leaves the log of a save that is not in the file yet, as a killed process does.
  private func leaveLog(_ fixture: ToolFixture) async throws -> (file: Data, log: Data) {
    let keyring = try await StoreKeyring.unlock(storePath: fixture.store, key: .passphrase(ToolFixture.passphrase))
    let connection = try Connection(opening: fixture.store, key: keyring.databaseKey())
    try connection.execute("PRAGMA user_version = 4711")
    let (file, log) = (try bytes(fixture), try bytes(fixture, "-wal"))
    connection.close()
    return (file, log)
  }

  func testReadingCommandsNeverCopyAForeignLogIntoTheStore() async throws {
    let fixture = try await storeWithPackages()
    let (_, log) = try await leaveLog(fixture)
    XCTAssertEqual(try fixture.run(["delete", "test.store", "--entity", "Package", "--where", "name == 'hello'"]).status, 0)
    let before = try bytes(fixture)
    let decrypt = ["decrypt", "test.store", "plain"]
    for arguments in Self.readers + [["backup", "test.store", "copy"], decrypt, ["key", "list", "test.store"]] {
      try log.write(to: URL(fileURLWithPath: fixture.store + "-wal"))
      _ = try fixture.run(arguments, passphrase: arguments[0] == "key" ? nil : "passphrase")
      XCTAssertEqual(try bytes(fixture), before, "\(arguments)")
      XCTAssertEqual(try bytes(fixture, "-wal"), log, "\(arguments)")
    }
  }

  func testWritingCommandsReportMissingPermissions() async throws {
    let setpriv = "/usr/bin/setpriv"
    XCTAssertTrue(FileManager.default.isExecutableFile(atPath: setpriv), "\(setpriv) is needed: install util-linux")
    let fixture = try await storeWithPackages()
    let nobody = getuid() == 0 ? [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", "--"] : []
    try TestStack.model("DebianArchive").write(to: URL(fileURLWithPath: fixture.path("M.xcdatamodel")))
    try Data("another\n".utf8).write(to: URL(fileURLWithPath: fixture.path("new")))
    let folder = fixture.path("media")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    for name in ["test.store", "test.store.keys"] {
      try FileManager.default.moveItem(atPath: fixture.path(name), toPath: folder + "/" + name)
      chmod(folder + "/" + name, 0o666)
    }
    chmod(folder, 0o555)
    defer { chmod(folder, 0o755) }
    let store = "media/test.store"
    let writers = [
      ["key", "change", store, "--new-passphrase-file", "new"], ["key", "add", store, "--new-passphrase-file", "new"],
      ["key", "recovery", store], ["key", "rotate", store], ["compact", store], ["backup", store, "media/copy"],
      ["decrypt", store, "media/plain"], ["create", "media/other.store", "--model", "M.xcdatamodel"],
      ["migrate", store, "--model", "M.xcdatamodel", "--backup", "media/before"],
    ]
    for arguments in writers {
      let result = try fixture.run(arguments, through: nobody)
      XCTAssertTrue([73, 74].contains(result.status), "\(arguments): \(result.status) \(result.error)")
      XCTAssertTrue(result.error.contains("Permission denied"), "\(arguments): \(result.error)")
      XCTAssertFalse(result.error.contains("no such file"), "\(arguments): \(result.error)")
    }
    XCTAssertEqual(try fixture.run(["destroy", store, "--yes"], passphrase: nil, through: nobody).status, 73)
    // A folder without search permission hides its contents.
    chmod(folder, 0o400)
    for arguments in [
      ["info", store], ["key", "list", store], ["doctor", store], ["create", "media/other.store", "--model", "M.xcdatamodel"],
      ["backup", store, "copy"], ["replace", store, "elsewhere", "--yes"],
    ] {
      let result = try fixture.run(arguments, passphrase: ["key", "replace"].contains(arguments[0]) ? nil : "passphrase", through: nobody)
      XCTAssertTrue(result.error.contains("Permission denied"), "\(arguments): \(result.status) \(result.error)")
    }
    chmod(folder, 0o755)
    XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder).sorted(), ["test.store", "test.store.keys"])
    XCTAssertEqual(try fixture.run(["verify", store]).output, "ok\n")
  }

  func testReadingCommandsWorkInReadOnlyFolders() async throws {
    let setpriv = "/usr/bin/setpriv"
    XCTAssertTrue(FileManager.default.isExecutableFile(atPath: setpriv), "\(setpriv) is needed: install util-linux")
    let fixture = try await storeWithPackages()
    // Permissions do not restrict root; other users are already unprivileged.
    let nobody = getuid() == 0 ? [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", "--"] : []
    let folder = fixture.path("media")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    for name in ["test.store", "test.store.keys"] {
      try FileManager.default.moveItem(atPath: fixture.path(name), toPath: folder + "/" + name)
      chmod(folder + "/" + name, 0o444)
    }
    chmod(folder, 0o555)
    defer { chmod(folder, 0o755) }
    func there(_ arguments: [String]) -> [String] { arguments.map { $0 == "test.store" ? "media/test.store" : $0 } }
    for arguments in Self.readers {
      let result = try fixture.run(there(arguments), through: nobody)
      XCTAssertEqual(result.status, 0, "\(arguments): \(result.error)")
      XCTAssertEqual(result.output, try fixture.run(there(arguments)).output, "\(arguments)")
    }
    // With a log that is not in the file.
    chmod(folder, 0o755)
    for name in ["test.store", "test.store.keys"] {
      try FileManager.default.copyItem(atPath: folder + "/" + name, toPath: fixture.path(name))
    }
    chmod(fixture.store, 0o644)
    let (file, log) = try await leaveLog(fixture)
    try FileManager.default.removeItem(atPath: folder + "/test.store")
    for (suffix, bytes) in [("", file), ("-wal", log)] {
      try bytes.write(to: URL(fileURLWithPath: folder + "/test.store" + suffix))
      chmod(folder + "/test.store" + suffix, 0o444)
    }
    chmod(folder, 0o555)
    let results = try Self.readers.map { try fixture.run(there($0), through: nobody) }
    for (arguments, result) in zip(Self.readers, results) {
      if result.status == 0 {
        // SQLite 3.22 and later read the log without an index file.
        XCTAssertEqual(result.output, try fixture.run(there(arguments)).output, "\(arguments)")
      } else {
        XCTAssertEqual(result.status, 74, "\(arguments): \(result.error)")
        XCTAssertTrue(result.error.contains("write-ahead log") && result.error.contains("copy the store"), result.error)
        XCTAssertEqual(result.output, "")
      }
    }
    XCTAssertEqual(Set(results.map(\.status)).count, 1, "all read, or none")
  }
}
