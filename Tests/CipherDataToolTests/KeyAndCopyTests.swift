import CipherDataToolKit
import Foundation
import XCTest

/// Keys, backups, encryption and decryption, run with the built tool.
final class KeyAndCopyTests: XCTestCase {
  private func storeWithPackages() async throws -> ToolFixture {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    XCTAssertEqual(try fixture.run(["import", "test.store", "--format", "deb822", "-"], input: PackageImportTests.index).status, 0)
    return fixture
  }

  private func opens(_ fixture: ToolFixture, _ store: String = "test.store", with passphrase: String) throws -> Bool {
    let result = try fixture.run(["fetch", store, "--entity", "Package", "--count"], passphrase: passphrase)
    if result.status == 0 { XCTAssertEqual(result.output, "4\n") } else { XCTAssertEqual(result.status, 77, result.error) }
    return result.status == 0
  }

  func testAPassphraseIsChanged() async throws {
    let fixture = try await storeWithPackages()
    let before = try Data(contentsOf: URL(fileURLWithPath: fixture.store))
    XCTAssertEqual(try fixture.run(["key", "change", "test.store", "--new-passphrase-file", "other"]).status, 0)
    XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: fixture.store)), before)
    XCTAssertFalse(try opens(fixture, with: "passphrase"))
    XCTAssertTrue(try opens(fixture, with: "other"))
  }

  func testKeysAreAddedListedAndRemovedExceptTheLast() async throws {
    let fixture = try await storeWithPackages()
    let environment = ["CIPHERDATA_NEW_PASSPHRASE": "another passphrase"]
    XCTAssertEqual(try fixture.run(["key", "add", "test.store", "--label", "second"], environment: environment).status, 0)
    XCTAssertTrue(try opens(fixture, with: "other"))
    let listed = try fixture.run(["key", "list", "test.store", "--format", "jsonl"], passphrase: nil).output.split(separator: "\n")
    guard listed.count == 2 else { return XCTFail("two slots are expected, not \(listed.count)") }
    let slots = try listed.map { try JSONParser.parse(String($0)) }
    XCTAssertEqual(slots[1]["label"], .string("second"))
    let ids = slots.map { $0["id"]?.plainText ?? "" }
    XCTAssertEqual(try fixture.run(["key", "remove", "test.store", String(ids[0].prefix(8))]).status, 0)
    XCTAssertFalse(try opens(fixture, with: "passphrase"))
    XCTAssertEqual(try fixture.run(["key", "remove", "test.store", ids[1]], passphrase: "other").status, 64)
    XCTAssertEqual(try fixture.run(["key", "remove", "test.store", "nothing"], passphrase: "other").status, 64)
    XCTAssertTrue(try opens(fixture, with: "other"))
  }

  func testRecoveryKeysAreAcceptedLikePassphrases() async throws {
    let fixture = try await storeWithPackages()
    let printed = try fixture.run(["key", "recovery", "test.store"])
    XCTAssertEqual(printed.status, 0, printed.error)
    XCTAssertEqual(printed.output.split(separator: "-").count, 8)
    _ = try fixture.folder.file("recovery", printed.output.lowercased())
    XCTAssertTrue(try opens(fixture, with: "recovery"))
  }

  func testRotationInvalidatesOldKeyFiles() async throws {
    let fixture = try await storeWithPackages()
    let old = try Data(contentsOf: URL(fileURLWithPath: fixture.store + ".keys"))
    let rotated = try fixture.run(["key", "rotate", "test.store"])
    XCTAssertEqual(rotated.status, 0, rotated.error)
    XCTAssertTrue(try opens(fixture, with: "passphrase"))
    try old.write(to: URL(fileURLWithPath: fixture.store + ".keys"))
    XCTAssertNotEqual(try fixture.run(["fetch", "test.store", "--entity", "Package", "--count"]).status, 0)
  }

  func testBackupsOpenWithTheSameOrTheirOwnKey() async throws {
    let fixture = try await storeWithPackages()
    XCTAssertEqual(try fixture.run(["backup", "test.store", "same.store"]).status, 0)
    XCTAssertTrue(try opens(fixture, "same.store", with: "passphrase"))
    XCTAssertEqual(try fixture.run(["backup", "test.store", "own.store", "--new-passphrase-file", "other"]).status, 0)
    XCTAssertTrue(try opens(fixture, "own.store", with: "other"))
    XCTAssertFalse(try opens(fixture, "own.store", with: "passphrase"))
    XCTAssertEqual(try fixture.run(["verify", "own.store"], passphrase: "other").output, "ok\n")
  }

  func testStoresCanBeDecryptedAndEncryptedAgain() async throws {
    let fixture = try await storeWithPackages()
    let out = try fixture.run(["decrypt", "test.store", "plain.sqlite"])
    XCTAssertEqual(out.status, 0, out.error)
    XCTAssertTrue(out.error.contains("NOT encrypted"))
    XCTAssertTrue(try Data(contentsOf: URL(fileURLWithPath: fixture.path("plain.sqlite"))).starts(with: Data("SQLite format 3".utf8)))
    XCTAssertEqual(try fixture.run(["encrypt", "plain.sqlite", "back.store"], passphrase: "other").status, 0)
    XCTAssertTrue(try opens(fixture, "back.store", with: "other"))
    XCTAssertEqual(
      try fixture.run(["export", "back.store"], passphrase: "other").output, try fixture.run(["export", "test.store"]).output)
    XCTAssertNotEqual(try fixture.run(["encrypt", "passphrase", "no.store"]).status, 0)
    XCTAssertFalse(FileManager.default.fileExists(atPath: fixture.path("no.store")))
  }

  func testStableIDsSurviveAnExportAndAnImport() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    let (source, copy) = ("test.store", "copy.store")
    XCTAssertEqual(
      try fixture.run(["import", source, "--format", "deb822", "--stable-ids", "-"], input: PackageImportTests.index).status, 0)
    XCTAssertTrue(try fixture.run(["info", source]).output.contains("Stable IDs"))
    let lines = try fixture.run(["export", source, "--stable-ids"]).output
    XCTAssertTrue(lines.contains("\"$stableID\""), lines)
    XCTAssertEqual(try fixture.run(["backup", source, copy]).status, 0)
    // The same lines again find all objects.
    let again = try fixture.run(["import", copy, "-"], input: lines)
    XCTAssertEqual(again.status, 0, again.error)
    XCTAssertTrue(again.error.contains(" 0 objects inserted"), again.error)
    XCTAssertEqual(try fixture.run(["export", copy, "--stable-ids"]).output, lines)
  }
}
