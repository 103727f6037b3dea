import CipherDataToolKit
import Foundation
import ObjectModel
import StoreKeys
import SyncCrypto
import SyncEngine
import SyncHub
import XCTest

/// What `cipherdata sync` refuses, with which status and message.
final class SyncFailureTests: XCTestCase {
  func testWrongRecoveryKeysAreRefused() async throws {
    let fixture = try await SyncFixture()
    try fixture.succeed("start", "A.store", "--hub", "hub.store", "--recovery", "recovery")
    let text = try String(contentsOfFile: fixture.tool.path("recovery"), encoding: .utf8)
    let key = String(try XCTUnwrap(text.split(separator: "\n").first))
    _ = try fixture.tool.folder.file("wrong", AccountRecoveryKey.random().text() + "\n")
    try fixture.fail(77, ["no account of this recovery key"], "join", "B.store", "--hub", "hub.store", "--recovery", "wrong")
    // The third group is mistyped.
    var groups = key.split(separator: "-").map(String.init)
    groups[2] = String(groups[2].dropLast()) + (groups[2].hasSuffix("A") ? "B" : "A")
    let mistyped = groups.joined(separator: "-")
    try fixture.fail(
      77, ["mistyped in group 3"], "join", "B.store", "--hub", "hub.store", environment: ["CIPHERDATA_RECOVERY_KEY": mistyped])
    _ = try fixture.tool.folder.file("short", "ABC\n")
    try fixture.fail(77, ["3 characters"], "join", "B.store", "--hub", "hub.store", "--recovery", "short")
    _ = try fixture.tool.folder.file("empty", "")
    try fixture.fail(77, ["The recovery key file empty is empty."], "join", "B.store", "--hub", "hub.store", "--recovery", "empty")
    try fixture.fail(66, ["Cannot read the recovery key file none"], "join", "B.store", "--hub", "hub.store", "--recovery", "none")
    // Nothing has changed: the right key still works.
    try fixture.succeed("join", "B.store", "--hub", "hub.store", "--recovery", "recovery")
    try fixture.assertEqualContents(count: 4)
  }

  func testAHubIsNoStore() async throws {
    let fixture = try await SyncFixture.joined()
    try fixture.fail(77, ["If this is a hub", "name a store that is synchronized through it"], "status", "hub.store")
  }

  func testALostHubIsCreatedAgainOnRequest() async throws {
    let fixture = try await SyncFixture.joined()
    try fixture.add(#"{"$entity":"Note","text":"of A"}"#, to: "A.store")
    try fixture.add(#"{"$entity":"Note","text":"of B"}"#, to: "B.store")
    for suffix in ["", ".key", ".keys"] { try FileManager.default.removeItem(atPath: fixture.tool.path("hub.store\(suffix)")) }
    try fixture.fail(66, ["hub.store"], "run", "B.store")
    // Any device can do it, here at another path.
    try fixture.succeed("run", "B.store", "--hub", "new.store", "--create-hub")
    XCTAssertFalse(fixture.exists("hub.store"))
    try fixture.succeed("run", "A.store", "--hub", "new.store")
    try fixture.succeed("run", "B.store", "--create-hub")
    try fixture.assertEqualContents(count: 6)
    for store in ["A.store", "B.store"] { try fixture.succeed("verify", store) }
    // A file that exists is not taken for a new hub.
    try await fixture.tool.makeStore(of: SyncFixture.model, at: "C.store")
    try fixture.succeed("start", "C.store", "--hub", "other.store", "--recovery", "second")
    try fixture.fail(65, ["does not have the account"], "run", "A.store", "--hub", "other.store", "--create-hub")
  }

  func testNoSecondHubIsCreated() async throws {
    let fixture = try await SyncFixture.joined()
    try fixture.fail(73, ["hub.store, which exists"], "run", "B.store", "--hub", "new.store", "--create-hub")
    XCTAssertFalse(fixture.exists("new.store"))
    try fixture.succeed("run", "B.store", "--create-hub")
    try fixture.assertEqualContents(count: 4)
  }

  func testAnExistingRecoveryFileIsNotOverwritten() async throws {
    let fixture = try await SyncFixture()
    _ = try fixture.tool.folder.file("recovery", "precious")
    try fixture.fail(73, ["recovery already exists"], "start", "A.store", "--hub", "hub.store", "--recovery", "recovery")
    XCTAssertEqual(try String(contentsOfFile: fixture.tool.path("recovery"), encoding: .utf8), "precious")
    XCTAssertFalse(fixture.exists("hub.store"))
    try fixture.fail(65, ["not synchronized"], "run", "A.store")
  }

  func testAStoreIsSynchronizedWithOneAccount() async throws {
    let fixture = try await SyncFixture.joined()
    try fixture.fail(
      73, ["already synchronized", "cipherdata sync leave"], "start", "A.store", "--hub", "hub.store", "--recovery", "second")
    XCTAssertFalse(fixture.exists("second"))
    try await fixture.tool.makeStore(of: SyncFixture.model, at: "C.store")
    try fixture.succeed("start", "C.store", "--hub", "hub.store", "--recovery", "third")
    for arguments in [
      ["--hub", "hub.store", "--recovery", "third"], ["--hub", "other.hub", "--recovery", "recovery"], ["--hub", "hub.store"],
    ] {
      let result = try fixture.sync(["join", "B.store"] + arguments)
      XCTAssertEqual(result.status, 73, result.error)
      XCTAssertTrue(result.error.contains("already synchronized"), result.error)
    }
    // The same command again has no effect.
    let again = try fixture.succeed("join", "B.store", "--hub", "hub.store", "--recovery", "recovery")
    XCTAssertTrue(again.error.contains("0 changes received, 0 sent"), again.error)
  }

  func testAStartCanBeRepeated() async throws {
    let fixture = try await SyncFixture.joined()
    let key = try String(contentsOfFile: fixture.tool.path("recovery"), encoding: .utf8)
    let again = try fixture.succeed("start", "A.store", "--hub", "hub.store", "--recovery", "recovery")
    XCTAssertTrue(again.error.contains("0 changes received, 0 sent"), again.error)
    XCTAssertEqual(try String(contentsOfFile: fixture.tool.path("recovery"), encoding: .utf8), key)
    // Another hub or another key is not the same command.
    try fixture.fail(73, ["already synchronized"], "start", "A.store", "--hub", "other.hub", "--recovery", "recovery")
    _ = try fixture.tool.folder.file("another", AccountRecoveryKey.random().text() + "\n")
    try fixture.fail(73, ["already synchronized"], "start", "A.store", "--hub", "hub.store", "--recovery", "another")
    XCTAssertFalse(fixture.exists("other.hub"))
  }

  func testTheRecoveryKeyOfAnotherAccountIsNotOverwritten() async throws {
    let fixture = try await SyncFixture()
    let key = try AccountRecoveryKey.random().text()
    _ = try fixture.tool.folder.file("recovery", key)
    try fixture.fail(73, ["recovery already exists"], "start", "A.store", "--hub", "hub.store", "--recovery", "recovery")
    XCTAssertEqual(try String(contentsOfFile: fixture.tool.path("recovery"), encoding: .utf8), key)
    XCTAssertFalse(fixture.exists("hub.store"))
    try FileManager.default.createDirectory(atPath: fixture.tool.path("folder"), withIntermediateDirectories: false)
    try fixture.fail(73, ["folder already exists"], "start", "A.store", "--hub", "hub.store", "--recovery", "folder")
    try fixture.fail(66, ["the recovery key file folder: Is a directory"], "join", "A.store", "--hub", "hub.store", "--recovery", "folder")
  }

  func testMessagesNameTheFileAndTheCommandThatHelps() async throws {
    let fixture = try await SyncFixture.joined()
    try fixture.moveHub(to: "away")
    try fixture.fail(66, ["hub.store: there is no such file", "sync run STORE --hub HUB"], "run", "A.store")
    // Another store, another hub, and a hub of a newer version are at the path.
    try fixture.fail(65, ["A.store is a store, not a hub", "Check the path"], "run", "A.store", "--hub", "A.store")
    try await fixture.tool.makeStore(of: SyncFixture.model, at: "C.store")
    try fixture.succeed("start", "C.store", "--hub", "other.store", "--recovery", "other recovery")
    try fixture.fail(
      65, ["other.store does not have the account", "the one that the store was synchronized with"], "run", "A.store", "--hub",
      "other.store")
    try fixture.moveHub(back: "away")
    try fixture.succeed("run", "A.store")
    try fixture.fail(
      73, ["already synchronized", "A.store)", "sync leave"], "start", "A.store", "--hub", "third.store", "--recovery", "third")
    try fixture.succeed("leave", "A.store")
    for command in ["status", "pending", "conflicts", "journal", "run", "verify", "reconcile", "leave", "approve"] {
      try fixture.fail(65, ["not synchronized", "A.store)", "sync start", "sync join"], command, "A.store")
    }
    try fixture.fail(65, ["not synchronized", "A.store)"], "restore", "A.store", "1")
  }

  func testMessagesOfTheKeyFilesOfAHubNameThemAndWhatToDo() async throws {
    let fixture = try await SyncFixture.joined()
    try await fixture.tool.makeStore(of: SyncFixture.model, at: "C.store")
    try fixture.succeed("start", "C.store", "--hub", "other.store", "--recovery", "other recovery")
    let files = FileManager.default
    func replace(_ name: String, with content: Data?) throws {
      try? files.removeItem(atPath: fixture.tool.path(name))
      try content?.write(to: URL(fileURLWithPath: fixture.tool.path(name)))
    }
    func content(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: fixture.tool.path(name))) }
    /// Replaces files of the hub, and expects that each command names the hub's files, and not what to do about a store.
    func assertFails(_ status: Int32, _ texts: [String], _ contents: [String: Data?], line: UInt = #line) throws {
      let former = try contents.keys.map { ($0, try content($0)) }
      for (name, content) in contents { try replace(name, with: content) }
      for arguments in [["run", "A.store"], ["join", "D.store", "--hub", "hub.store", "--recovery", "recovery"]] {
        let result = try fixture.sync(arguments)
        XCTAssertEqual(result.status, status, result.error, line: line)
        for text in texts { XCTAssertTrue(result.error.contains(text), "“\(text)” is missing: \(result.error)", line: line) }
        for text in ["the store's", "open the store", "key slot"] { XCTAssertFalse(result.error.contains(text), result.error, line: line) }
      }
      for (name, content) in former { try replace(name, with: content) }
    }
    try await fixture.tool.makeStore(of: SyncFixture.model, at: "D.store")
    let again = "sync run STORE --create-hub"
    let backup = "from the same backup"
    try assertFails(77, ["The hub's key file ", "hub.store.key is missing", "from a backup of the hub", again], ["hub.store.key": nil])
    try assertFails(77, ["The hub's key file ", "hub.store.keys is missing", "from a backup of the hub", again], ["hub.store.keys": nil])
    try assertFails(77, ["hub.store.key does not contain a key", backup, again], ["hub.store.key": Data("no key".utf8)])
    let wrong = try RecoveryKey.text(for: SecretBytes([UInt8](repeating: 3, count: 32)))
    try assertFails(
      77, ["The key in the file ", "hub.store.key does not open the hub.", backup, again], ["hub.store.key": Data(wrong.utf8)])
    try assertFails(77, ["hub.store.key does not open the hub."], ["hub.store.keys": try content("other.store.keys")])
    try assertFails(
      77, ["hub.store.keys does not belong to the hub, or", backup], ["hub.store": try content("other.store")])
    try assertFails(
      74, ["hub.store.keys is damaged", "Restore the hub from a backup", again], ["hub.store.keys": Data(repeating: 1, count: 200)])
    // A store at the path, with and without what is left of the hub.
    var store: [String: Data?] = ["hub.store": try content("A.store"), "hub.store.keys": try content("A.store.keys")]
    try assertFails(65, ["hub.store is a store, not a hub. Check the path"], store)
    store.updateValue(nil, forKey: "hub.store.key")
    try assertFails(65, ["hub.store is a store, not a hub. Check the path"], store)
    // What is left of a hub.
    try files.copyItem(atPath: fixture.tool.path("hub.store.keys"), toPath: fixture.tool.path("rest.keys"))
    try fixture.fail(
      73, ["The key file ", "rest.keys exists without its hub ", "move this file away"], "start", "D.store", "--hub", "rest", "--recovery",
      "recovery of rest")
    let key = fixture.tool.path("hub.store.key")
    let text = try content("hub.store.key")
    try files.removeItem(atPath: key)
    try files.createDirectory(atPath: key, withIntermediateDirectories: false)
    try fixture.fail(74, ["hub.store.key"], "run", "A.store")
    try replace("hub.store.key", with: text)
    try fixture.succeed("run", "A.store")
  }

  // MARK: Paths, models and options

  func testAMissingStoreMustBeCreatedFirst() async throws {
    let fixture = try await SyncFixture()
    try fixture.fail(
      66, ["There is no store at C.store", "cipherdata create C.store --model"], "join", "C.store", "--hub", "hub.store", "--recovery",
      "recovery")
    try fixture.fail(66, ["There is no store at C.store"], "start", "C.store", "--hub", "hub.store", "--recovery", "recovery")
    XCTAssertFalse(fixture.exists("recovery"))
  }

  func testAModelThatCannotBeSynchronizedYetIsRefusedWithTheListOfItsParts() async throws {
    let fixture = try await SyncFixture()
    try await fixture.tool.makeStore(
      of: ManagedObjectModel {
        Entity("List") {
          Attribute("name", .string).syncMergeRule(.max)
          Unique("name")
        }
      })
    let result = try fixture.sync(["start", "test.store", "--hub", "hub.store", "--recovery", "recovery"])
    XCTAssertEqual(result.status, 65, result.error)
    for text in [
      "The model cannot be synchronized yet: ", "List.name: a uniqueness constraint over a computed value or an attribute with",
      "Nothing was changed.",
    ] { XCTAssertTrue(result.error.contains(text), result.error) }
    for name in ["hub.store", "recovery", "test.store-sync"] { XCTAssertFalse(fixture.exists(name), name) }
    try fixture.fail(65, ["cannot be synchronized yet"], "join", "test.store", "--hub", "hub.store", "--recovery", "passphrase")
  }

  func testFilesThatAreNotHubsAreRefused() async throws {
    let fixture = try await SyncFixture()
    _ = try fixture.tool.folder.file("text", String(repeating: "not a hub ", count: 500))
    try fixture.fail(65, ["text is not a hub"], "start", "A.store", "--hub", "text", "--recovery", "recovery")
    _ = try fixture.tool.folder.file("short", "short")
    try fixture.fail(65, ["short is not a hub: the file is too short."], "join", "A.store", "--hub", "short")
    // The key of an account that was not created is removed again.
    XCTAssertFalse(fixture.exists("recovery"))
    _ = try fixture.tool.folder.file("recovery", AccountRecoveryKey.random().text())
    try fixture.fail(66, ["no such file"], "join", "B.store", "--hub", "none", "--recovery", "recovery")
    try fixture.fail(65, ["B.store is a store, not a hub"], "join", "A.store", "--hub", "B.store", "--recovery", "recovery")
    try fixture.fail(65, ["B.store is a store, not a hub"], "start", "A.store", "--hub", "B.store", "--recovery", "new recovery")
    try fixture.fail(65, ["A.store is a store, not a hub"], "join", "A.store", "--hub", "A.store")
    for store in ["A.store", "B.store"] { try fixture.fail(65, ["not synchronized"], "status", store) }
  }

  func testOptionsAreChecked() throws {
    let tool = try ToolFixture()
    let unnamed = ["start", "a", "--hub", "h", "--recovery", "r", "--device", ""]
    let empty = [
      ["start", "a", "--hub", "", "--recovery", "r"], ["start", "a", "--hub", "h", "--recovery", ""], ["join", "a", "--hub", ""],
      ["run", "a", "--hub", ""],
    ]
    for arguments in [["start", "a"], ["start", "a", "--hub", "h"], ["join", "a"], unnamed] + empty {
      XCTAssertEqual(try tool.run(["sync"] + arguments, passphrase: nil).status, 64, "\(arguments)")
    }
    let mistyped = try tool.run(["sync", "stats", "a"], passphrase: nil)
    XCTAssertTrue(mistyped.error.contains("did you mean “sync status”?"), mistyped.error)
  }

  // MARK: Statuses

  func testEveryErrorOfAHubHasAStatusAndOneLine() {
    for code in HubError.Code.allCases {
      let report = ExitReport(HubError(code, "It happened."))
      XCTAssertNotEqual(report.status, .success, "\(code)")
      XCTAssertTrue(report.message.hasPrefix("It happened."), report.message)
      if ![.closed, .zoneExists, .generationConflict, .certificateConflict, .joinRequestConflict, .canceled].contains(code) {
        XCTAssertGreaterThan(report.message.count, "It happened.".count, "\(code) has no advice")
      }
    }
    let statuses: [(HubError.Code, ExitStatus)] = [
      (.noSuchFile, .noInput), (.wrongKey, .noKey), (.notAHub, .badData), (.newerFormat, .badData), (.diskFull, .damage), (.busy, .busy),
      (.accountExists, .cannotCreate), (.canceled, .interrupted),
    ]
    for (code, status) in statuses { XCTAssertEqual(ExitReport(HubError(code, "m")).status, status, "\(code)") }
  }

  func testErrorsOfKeysHaveAStatusAndOneLine() {
    let statuses: [(SyncCryptoError, ExitStatus)] = [
      (.wrongRecoveryKey, .noKey), (.malformedRecoveryKey(.group(2)), .noKey), (.damaged(.record), .damage),
      (.unsupportedFormat(.bundle, 9), .badData), (.unsupportedSuite(.record, 9), .badData), (.invalidSignature(.commit), .damage),
      (.libcrypto("EVP"), .software),
    ]
    for (error, status) in statuses {
      XCTAssertEqual(ExitReport(error).status, status, "\(error)")
      XCTAssertEqual(ExitReport(error).message, "\(error)")
    }
  }
}
