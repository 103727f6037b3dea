import CipherDataToolKit
import Foundation
import XCTest

/// Removal and replacement of stores, run with the built tool.
final class RemovalTests: XCTestCase {
  private func storeWithPackages() async throws -> ToolFixture {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    XCTAssertEqual(try fixture.run(["import", "test.store", "--format", "deb822", "-"], input: PackageImportTests.index).status, 0)
    return fixture
  }

  private func names(_ fixture: ToolFixture) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: fixture.folder.url.path).filter { $0.contains("store") }.sorted()
  }

  func testStoresAreRemovedOnlyAfterConfirmation() async throws {
    let fixture = try await storeWithPackages()
    let refused = try fixture.run(["destroy", "test.store"], passphrase: nil)
    XCTAssertEqual(refused.status, 64)
    XCTAssertTrue(refused.error.contains("--yes"), refused.error)
    XCTAssertEqual(try names(fixture), ["test.store", "test.store.keys"])
    XCTAssertEqual(try fixture.run(["destroy", "test.store", "--yes"], passphrase: nil).status, 0)
    XCTAssertEqual(try names(fixture), [])
    let missing = try fixture.run(["destroy", "test.store", "--yes"], passphrase: nil)
    XCTAssertEqual(missing.status, 66)
    XCTAssertTrue(missing.error.contains("test.store"), missing.error)
    // The remains of a killed removal are not a store, but are removed all the same.
    _ = try fixture.folder.file("test.store-wal", "left")
    XCTAssertEqual(try fixture.run(["destroy", "test.store", "--yes"], passphrase: nil).status, 0)
    XCTAssertEqual(try names(fixture), [])
  }

  func testRestoringABackupReplacesTheStore() async throws {
    let fixture = try await storeWithPackages()
    XCTAssertEqual(try fixture.run(["backup", "test.store", "copy.store"]).status, 0)
    XCTAssertEqual(try fixture.run(["delete", "test.store", "--entity", "Package", "--all"]).status, 0)
    XCTAssertEqual(try fixture.run(["replace", "test.store", "copy.store"]).status, 64)
    let replaced = try fixture.run(["replace", "test.store", "copy.store", "--yes"])
    XCTAssertEqual(replaced.status, 0, replaced.error)
    XCTAssertEqual(try fixture.run(["fetch", "test.store", "--entity", "Package", "--count"]).output, "4\n")
    XCTAssertEqual(try fixture.run(["replace", "new.store", "copy.store"]).status, 0)
    XCTAssertEqual(try fixture.run(["verify", "new.store"]).output, "ok\n")
  }

  func testStoresOpenInAnotherProcessAreNotRemoved() async throws {
    let fixture = try await storeWithPackages()
    XCTAssertEqual(try fixture.run(["backup", "test.store", "copy.store"]).status, 0)
    let shell = Process()
    shell.executableURL = try ToolFixture.executable
    shell.currentDirectoryURL = fixture.folder.url
    shell.arguments = ["shell", "test.store", "--passphrase-file", "passphrase"]
    let (input, output) = (Pipe(), Pipe())
    shell.standardInput = input
    shell.standardOutput = output
    try shell.run()
    try input.fileHandleForWriting.write(contentsOf: Data("count Package\n".utf8))
    // Output shows that the store is open.
    XCTAssertEqual(String(decoding: output.fileHandleForReading.availableData, as: UTF8.self).first, "4")
    XCTAssertEqual(try fixture.run(["destroy", "test.store", "--yes"], passphrase: nil).status, 75)
    XCTAssertEqual(try fixture.run(["replace", "test.store", "copy.store", "--yes"]).status, 75)
    try input.fileHandleForWriting.close()
    shell.waitUntilExit()
    XCTAssertEqual(try fixture.run(["verify", "test.store"]).output, "ok\n")
  }
}
