import CipherDataToolKit
import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherConnection
import SQLCipherStore
import StoreKeys
import XCTest

/// `cipherdata sync` with real stores, a hub and processes.
final class SyncCommandTests: XCTestCase {
  func testAStoreIsMirroredToAnotherOne() async throws {
    let fixture = try await SyncFixture()
    let start = try fixture.succeed("start", "A.store", "--hub", "hub.store", "--recovery", "recovery", "--device", "first")
    XCTAssertTrue(start.error.contains("4 objects added, 0 changes received, 4 sent"), start.error)
    let join = try fixture.succeed("join", "B.store", "--hub", "hub.store", "--recovery", "recovery")
    XCTAssertTrue(join.error.contains("4 changes received, 0 sent"), join.error)
    try fixture.assertEqualContents(count: 4)
    // What a store has sent itself does not count as received.
    try fixture.add(#"{"$entity":"Note","text":"four"}"#, to: "A.store")
    XCTAssertEqual(try fixture.succeed("run", "A.store").output, "0 changes received, 1 sent\n")
    XCTAssertEqual(try fixture.succeed("run", "A.store").output, "0 changes received, 0 sent\n")
    XCTAssertEqual(try fixture.succeed("run", "B.store").output, "1 change received, 0 sent\n")
    try fixture.assertEqualContents(count: 5)
  }

  func testTheRecoveryKeyIsInAFileOfItsOwnerAndOpensTheAccount() async throws {
    let fixture = try await SyncFixture.joined()
    let path = fixture.tool.path("recovery")
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    XCTAssertEqual(attributes[.posixPermissions] as? NSNumber, 0o600)
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    XCTAssertEqual(lines.count, 3)
    XCTAssertEqual(lines[0].split(separator: "-").map(\.count), [Int](repeating: 8, count: 8))
    // The key also comes from the environment.
    try await fixture.tool.makeStore(of: SyncFixture.model, at: "C.store")
    let result = try fixture.sync(["join", "C.store", "--hub", "hub.store"], environment: ["CIPHERDATA_RECOVERY_KEY": String(lines[0])])
    XCTAssertEqual(result.status, 0, result.error)
    XCTAssertEqual(try fixture.contents("C.store"), try fixture.contents("A.store"))
  }

  func testChangesThatWereMadeWhileTheHubWasAwayReachBothStores() async throws {
    let fixture = try await SyncFixture.joined()
    try fixture.moveHub(to: "away")
    try fixture.update("A.store", "Folder", "title == 'root'", "size = 2")
    try fixture.add(#"{"$entity":"Note","text":"of A"}"#, to: "A.store")
    try fixture.update("B.store", "Folder", "title == 'root'", "title = 'renamed'")
    try fixture.remove("B.store", "Note", "text == 'two'")
    try fixture.add(#"{"$entity":"Note","text":"of B"}"#, to: "B.store")
    for store in ["A.store", "B.store"] {
      try fixture.fail(66, ["hub.store", "Check the path"], "run", store)
      let status = try fixture.status(store)
      XCTAssertEqual(status["pendingSaves"], .integer(store == "A.store" ? 2 : 3))
      XCTAssertTrue(status["lastError"]?.plainText.contains("there is no such file") ?? false, "\(status)")
      XCTAssertTrue(try fixture.succeed("status", store).output.contains("Last error:   20"))
    }
    try fixture.moveHub(back: "away")
    for store in ["A.store", "B.store", "A.store"] { try fixture.succeed("run", store) }
    try fixture.assertEqualContents(count: 5)
    let contents = try fixture.contents("A.store")
    XCTAssertEqual(contents.first, "renamed,2", "each property keeps its change")
    XCTAssertTrue(contents.contains("of A,,") && contents.contains("of B,,"), "\(contents)")
    XCTAssertFalse(contents.contains { $0.hasPrefix("two") })
    XCTAssertEqual(try fixture.status("A.store")["lastError"], .null)
  }

  func testAStoreThatWasRestoredSaysSo() async throws {
    let fixture = try await SyncFixture.joined()
    XCTAssertEqual(try fixture.tool.run(["backup", "B.store", "B.backup"]).status, 0)
    try fixture.add(#"{"$entity":"Note","text":"lost"}"#, to: "B.store")
    XCTAssertFalse(try fixture.succeed("run", "B.store").error.contains("new device"))
    XCTAssertFalse(try fixture.succeed("status", "B.store").output.contains("Z  setup "))
    // Each command that synchronizes.
    for arguments in [["run"], ["verify"], ["join", "--hub", "hub.store", "--recovery", "recovery"]] {
      XCTAssertEqual(try fixture.tool.run(["replace", "B.store", "B.backup", "--yes"]).status, 0)
      let command = [arguments[0], "B.store"] + arguments.dropFirst()
      let restored = try fixture.sync(command)
      XCTAssertEqual(restored.status, 0, restored.error)
      XCTAssertTrue(restored.error.contains("continues as a new device"), "\(arguments): \(restored.error)")
      XCTAssertEqual(restored.error.components(separatedBy: "new device").count, 2, "It is said once.")
      XCTAssertFalse(try fixture.sync(command).error.contains("new device"))
    }
    try fixture.succeed("run", "A.store")
    try fixture.assertEqualContents(count: 5)
    XCTAssertTrue(try fixture.succeed("status", "B.store").output.contains("Z  setup "), "The event is in the list.")
  }

  func testAStoreThatWasRestoredSaysSoWhenItReachesTheHubAgain() async throws {
    let fixture = try await SyncFixture.joined()
    XCTAssertEqual(try fixture.tool.run(["backup", "B.store", "B.backup"]).status, 0)
    XCTAssertEqual(try fixture.tool.run(["replace", "B.store", "B.backup", "--yes"]).status, 0)
    try fixture.moveHub(to: "away")
    for _ in 0..<2 { try fixture.fail(66, ["hub.store"], "run", "B.store") }
    try fixture.moveHub(back: "away")
    let restored = try fixture.succeed("run", "B.store")
    XCTAssertTrue(restored.error.contains("continues as a new device"), restored.error)
    XCTAssertFalse(try fixture.succeed("run", "B.store").error.contains("new device"))
  }

  func testDevicesOfAnAccountHaveDifferentNames() async throws {
    let fixture = try await SyncFixture()
    try fixture.succeed("start", "A.store", "--hub", "hub.store", "--recovery", "recovery", "--device", "laptop")
    let join = try fixture.succeed("join", "B.store", "--hub", "hub.store", "--recovery", "recovery", "--device", "laptop")
    XCTAssertTrue(join.error.contains("on hub.store as “laptop (2)”: 4 changes received"), join.error)
    for suffix in ["", ".keys"] {
      try FileManager.default.copyItem(atPath: fixture.tool.path("B.store" + suffix), toPath: fixture.tool.path("C.store" + suffix))
    }
    try fixture.add(#"{"$entity":"Note","text":"of C"}"#, to: "C.store")
    let copy = try fixture.succeed("run", "C.store")
    XCTAssertTrue(copy.error.contains("continues as a new device of the account, “laptop (3)”."), copy.error)
    for store in ["B.store", "A.store"] { try fixture.succeed("run", store) }
    for (store, name) in [("A.store", "laptop"), ("B.store", "laptop (2)"), ("C.store", "laptop (3)")] {
      XCTAssertEqual(try fixture.status(store)["device"], .string(name))
      XCTAssertTrue(try fixture.succeed("status", store).output.contains("\nDevice:       \(name)\n"))
    }
    // They keep their names on another hub.
    for suffix in ["", ".key", ".keys"] { try FileManager.default.removeItem(atPath: fixture.tool.path("hub.store\(suffix)")) }
    for store in ["C.store", "B.store", "A.store"] { try fixture.succeed("run", store, "--create-hub") }
    XCTAssertEqual(try fixture.status("A.store")["device"], .string("laptop"))
    XCTAssertEqual(try fixture.status("C.store")["device"], .string("laptop (3)"))
    try fixture.assertEqualContents(count: 5)
  }

  func testOnlyChangesOfObjectsCountAsReceived() async throws {
    let fixture = try await SyncFixture.joined()
    /// The counts of the imports of a store.
    func imports(_ store: String) throws -> [JSONValue?] {
      let result = try fixture.sync(["status", store, "--format", "json", "--events", "100"])
      guard result.status == 0, case .array(let events)? = try JSONParser.parse(result.output)["events"] else { return [] }
      return events.filter { $0["kind"] == .string("import") }.map { $0["count"] }
    }
    func received(_ count: Int, _ arguments: String..., line: UInt = #line) throws {
      let before = try imports(arguments[1])
      let result = try fixture.sync(arguments)
      XCTAssertEqual(result.status, 0, result.error, line: line)
      let text = "\(count) change\(count == 1 ? "" : "s") received"
      XCTAssertTrue((result.output + result.error).contains(text), "\(text): \(result.output)\(result.error)", line: line)
      let new = try imports(arguments[1]).dropFirst(before.count)
      XCTAssertTrue(new.allSatisfy { $0 == .integer(count) } && (count == 0 || new.count == 1), "\(new)", line: line)
    }
    // A store that was restored has lost one of its own changes.
    XCTAssertEqual(try fixture.tool.run(["backup", "B.store", "B.backup"]).status, 0)
    try fixture.add(#"{"$entity":"Note","text":"lost"}"#, to: "B.store")
    try fixture.succeed("run", "B.store")
    XCTAssertEqual(try fixture.tool.run(["replace", "B.store", "B.backup", "--yes"]).status, 0)
    try received(1, "run", "B.store")
    try received(1, "run", "A.store")
    // A new store does not have what was deleted.
    try fixture.remove("A.store", "Note", "text == 'lost'")
    try fixture.succeed("run", "A.store")
    try received(1, "run", "B.store")
    try await fixture.tool.makeStore(of: SyncFixture.model, at: "C.store")
    try received(4, "join", "C.store", "--hub", "hub.store", "--recovery", "recovery")
    // A new hub gets what all stores have.
    for suffix in ["", ".key", ".keys"] { try FileManager.default.removeItem(atPath: fixture.tool.path("hub.store\(suffix)")) }
    XCTAssertTrue(try fixture.succeed("run", "A.store", "--create-hub").output.contains("0 changes received, 5 sent"))
    try received(0, "run", "B.store")
    // Both have changed the same.
    for store in ["A.store", "C.store"] { try fixture.update(store, "Note", "text == 'one'", "rating = 5") }
    try fixture.update("A.store", "Note", "text == 'two'", "rating = 5")
    try received(0, "run", "A.store")
    try received(1, "run", "C.store")
  }

  func testTheStatusAsJSONHasTheSameFieldsAlways() async throws {
    let fixture = try await SyncFixture.joined()
    let status = try fixture.status("A.store")
    guard case .object(let fields) = status else { return XCTFail("\(status)") }
    XCTAssertEqual(
      fields.map(\.key),
      [
        "store", "account", "zone", "device", "hub", "cursor", "pendingSaves", "pendingChanges", "sendingBytes", "addedObjects",
        "unsentObjects", "unreadableRecords", "missingValues", "missingBytes", "requiredModel", "modelTooOld", "lastSuccess", "lastError",
        "lastErrorDate", "verified",
        "verificationDate", "events",
      ])
    let other = try fixture.status("B.store")
    for key in ["account", "zone", "hub", "cursor"] { XCTAssertEqual(status[key], other[key], key) }
    XCTAssertEqual(status["hub"], .string(fixture.tool.path("hub.store")))
    XCTAssertEqual(status["cursor"], .integer(1))
    XCTAssertEqual(status["sendingBytes"], .integer(0))
    for key in ["pendingSaves", "pendingChanges", "unsentObjects", "unreadableRecords"] { XCTAssertEqual(status[key], .integer(0), key) }
    for key in ["addedObjects", "lastError", "lastErrorDate"] { XCTAssertEqual(status[key], .null, key) }
    XCTAssertNotEqual(status["lastSuccess"], .null)
  }

  func testTheStatusListsTheLastEvents() async throws {
    let fixture = try await SyncFixture.joined()
    func events(_ arguments: String...) throws -> [JSONValue] {
      let result = try fixture.sync(["status", "A.store", "--format", "json"] + arguments)
      XCTAssertEqual(result.status, 0, result.error)
      guard case .array(let events)? = try JSONParser.parse(result.output)["events"] else { return [] }
      return events
    }
    let first = try events()
    XCTAssertEqual(first.map { $0["kind"] }, [.string("setup"), .string("export")])
    for event in first {
      guard case .object(let fields) = event else { return XCTFail("\(event)") }
      XCTAssertEqual(fields.map(\.key), ["kind", "begin", "duration", "count", "unreadableRecords", "unmergedValues", "error"])
      XCTAssertEqual(event["count"], .integer(4))
      XCTAssertEqual(event["unreadableRecords"], .integer(0))
      XCTAssertEqual(event["error"], .null)
      guard case .number(let duration)? = event["duration"] else { return XCTFail("\(event)") }
      XCTAssertNotNil(Double(duration))
      XCTAssertGreaterThanOrEqual(Double(duration) ?? -1, 0)
    }
    try fixture.moveHub(to: "away")
    for _ in 0..<3 { XCTAssertEqual(try fixture.sync(["run", "A.store"]).status, 66) }
    let failed = try events()
    XCTAssertEqual(failed.count, 3, "Attempts with the same error are one event.")
    XCTAssertTrue(failed.last?["error"]?.plainText.contains("there is no such file") ?? false, "\(failed)")
    XCTAssertEqual(try events("--events", "1").count, 1)
    XCTAssertEqual(try events("--events", "0").count, 0)
    let lines = try fixture.succeed("status", "A.store").output.split(separator: "\n")
    let position = try XCTUnwrap(lines.firstIndex(of: "Events:"))
    XCTAssertEqual(lines.count, position + 4)
    XCTAssertTrue(lines[position + 1].contains("Z  setup   0.") && lines[position + 1].hasSuffix(" s  4 objects"), "\(lines)")
    XCTAssertTrue(lines[position + 2].contains("Z  export  0.") && lines[position + 2].hasSuffix(" s  4 records"), "\(lines)")
    // What failed is one short line. The advice is printed for the last error only, and is part of each event as JSON.
    let failure = "Cannot access the hub \(fixture.tool.path("hub.store")): there is no such file."
    XCTAssertTrue(lines[position + 3].hasSuffix(" s  failed: \(failure)"), "\(lines)")
    let last = try XCTUnwrap(lines.firstIndex { $0.hasPrefix("Last error:") })
    XCTAssertTrue(lines[last].hasSuffix("Z, \(failure)"), "\(lines)")
    XCTAssertTrue(lines[last + 1].hasPrefix("              Check the path."), "\(lines)")
    XCTAssertTrue(failed.last?["error"]?.plainText.contains("Check the path.") ?? false, "\(failed)")
    XCTAssertFalse(try fixture.succeed("status", "A.store", "--events", "0").output.contains("Events:"))
    XCTAssertEqual(try fixture.sync(["status", "A.store", "--events", "1001"]).status, 64)
  }

  func testAHubThatWasMovedIsFoundAtItsNewPath() async throws {
    let fixture = try await SyncFixture.joined()
    for suffix in ["", ".key", ".keys"] {
      try FileManager.default.moveItem(atPath: fixture.tool.path("hub.store\(suffix)"), toPath: fixture.tool.path("other.hub\(suffix)"))
    }
    try fixture.add(#"{"$entity":"Note","text":"later"}"#, to: "A.store")
    try fixture.fail(66, ["hub.store"], "run", "A.store")
    // A wrong path is not kept.
    try fixture.fail(66, ["missing.hub"], "run", "A.store", "--hub", "missing.hub")
    XCTAssertEqual(try fixture.status("A.store")["hub"], .string(fixture.tool.path("hub.store")))
    try fixture.succeed("run", "A.store", "--hub", "other.hub")
    try fixture.succeed("run", "A.store")
    try fixture.succeed("run", "B.store", "--hub", "other.hub")
    try fixture.assertEqualContents(count: 5)
  }

  func testAStoreThatHasLeftCanStartAgain() async throws {
    let fixture = try await SyncFixture.joined()
    try fixture.moveHub(to: "away")
    try fixture.add(#"{"$entity":"Note","text":"unsent"}"#, to: "B.store")
    let left = try fixture.succeed("leave", "B.store")
    XCTAssertTrue(left.error.contains("no longer synchronized. 1 change was not sent."), left.error)
    try fixture.fail(65, ["not synchronized", "cipherdata sync start"], "run", "B.store")
    try fixture.fail(65, ["not synchronized"], "status", "B.store")
    try fixture.fail(65, ["not synchronized"], "leave", "B.store")
    XCTAssertEqual(try fixture.contents("B.store").count, 5)
    try fixture.moveHub(back: "away")
    try fixture.succeed("start", "B.store", "--hub", "hub.store", "--recovery", "second")
    XCTAssertNotEqual(try fixture.status("B.store")["account"], try fixture.status("A.store")["account"])
    // It can also come back to the account.
    try fixture.succeed("leave", "B.store")
    try fixture.succeed("join", "B.store", "--hub", "hub.store", "--recovery", "recovery")
    try fixture.succeed("run", "A.store")
    try fixture.assertEqualContents(count: 5)
  }

  func testTheHistoryOfUnsentSavesIsNeitherPurgedNorDeleted() async throws {
    let fixture = try await SyncFixture.joined()
    for text in ["four", "five", "six"] { try fixture.add(#"{"$entity":"Note","text":"\#(text)"}"#, to: "A.store") }
    let purge = ["history", "A.store", "--purge-before", "2099-01-01T00:00:00Z"]
    let refused = try fixture.tool.run(purge)
    XCTAssertEqual(refused.status, 65, refused.error)
    XCTAssertTrue(refused.error.contains("sync"), refused.error)
    try assertNeeded(["history", "A.store", "--disable"], fixture)
    XCTAssertEqual(try fixture.succeed("run", "A.store").output, "0 changes received, 3 sent\n")
    // What was sent is not needed any more.
    let purged = try fixture.tool.run(purge)
    XCTAssertEqual(purged.status, 0, purged.error)
    for store in ["A.store", "B.store", "A.store"] { try fixture.succeed("run", store) }
    try fixture.assertEqualContents(count: 7)
    // A store that was left keeps no history for it.
    try fixture.succeed("leave", "A.store")
    let disabled = try fixture.tool.run(["history", "A.store", "--disable"])
    XCTAssertEqual(disabled.status, 0, disabled.error)
  }

  /// Expects a command to be refused because synchronization needs what it removes.
  private func assertNeeded(_ arguments: [String], _ fixture: SyncFixture, file: StaticString = #filePath, line: UInt = #line) throws {
    let refused = try fixture.tool.run(arguments)
    XCTAssertEqual(refused.status, 65, refused.error, file: file, line: line)
    for text in ["Synchronization needs", "cipherdata sync leave"] {
      XCTAssertTrue(refused.error.contains(text), refused.error, file: file, line: line)
    }
  }

  func testWhatSynchronizationNeedsIsNotRemoved() async throws {
    let fixture = try await SyncFixture.joined()
    for arguments in [["history", "A.store", "--enable"], ["stable-ids", "A.store", "--disable"]] { try assertNeeded(arguments, fixture) }
    try fixture.update("A.store", "Note", "text == 'one'", "text = 'changed'")
    for store in ["A.store", "B.store"] { try fixture.succeed("run", store) }
    try fixture.assertEqualContents(count: 4)
    try fixture.succeed("leave", "A.store")
    let disabled = try fixture.tool.run(["stable-ids", "A.store", "--disable"])
    XCTAssertEqual(disabled.status, 0, disabled.error)
  }

  func testTheVerificationComparesBothSidesAndItsResultIsPartOfTheStatus() async throws {
    let fixture = try await SyncFixture.joined()
    try fixture.add(#"{"$entity":"Note","text":"four"}"#, to: "A.store")
    XCTAssertEqual(try fixture.succeed("verify", "A.store").output, "The store and the hub agree.\n")
    let status = try fixture.status("A.store")
    XCTAssertEqual(status["verified"], .bool(true))
    XCTAssertNotEqual(status["verificationDate"], .null)
    XCTAssertEqual(status["pendingSaves"], .integer(0), "it synchronizes first")
    XCTAssertEqual(try fixture.status("B.store")["verified"], .null)
    let json = try JSONParser.parse(try fixture.succeed("verify", "B.store", "--format", "json").output)
    XCTAssertEqual(json["equal"], .bool(true))
    for key in ["records", "objects"] { XCTAssertEqual(json[key], .array([]), key) }
    try fixture.moveHub(to: "away")
    try fixture.fail(66, ["hub.store"], "verify", "A.store")
  }

  func testWhatWasChangedByOtherMeansIsNamedAndRepaired() async throws {
    let fixture = try await SyncFixture.joined()
    let path = fixture.tool.path("A.store")
    let keyring = try await StoreKeyring.unlock(storePath: path, key: .passphrase(ToolFixture.passphrase))
    let connection = try Connection(opening: path, key: keyring.databaseKey())
    try connection.execute("UPDATE Note SET text = 'changed' WHERE text = 'one'")
    try connection.execute("DELETE FROM Note WHERE text = 'three'")
    connection.close()
    let verified = try fixture.sync(["verify", "A.store"])
    XCTAssertEqual(verified.status, 1)
    XCTAssertEqual(verified.output.split(separator: "\n").count, 2)
    for text in ["different from its record", "missing, although there is a record"] {
      XCTAssertTrue(verified.output.contains(text), verified.output)
    }
    for text in ["in 2 objects", "cipherdata sync reconcile"] { XCTAssertTrue(verified.error.contains(text), verified.error) }
    XCTAssertEqual(try fixture.status("A.store")["verified"], .bool(false))
    let repaired = try fixture.succeed("reconcile", "A.store").output
    XCTAssertTrue(repaired.contains("2 objects differed from the records."), repaired)
    try fixture.assertEqualContents(count: 4)
    XCTAssertEqual(try fixture.succeed("verify", "A.store").output, "The store and the hub agree.\n")
  }

  func testTheStatusDoesNotWaitForAProcessThatWrites() async throws {
    let fixture = try await SyncFixture.joined()
    try fixture.add(#"{"$entity":"Note","text":"pending"}"#, to: "A.store")
    let description = PersistentStoreDescription(
      url: URL(fileURLWithPath: fixture.tool.path("A.store")), key: .passphrase(ToolFixture.passphrase, .cheapForTests()))
    let container = try PersistentContainer(
      name: "A", managedObjectModel: SyncFixture.model, persistentStoreDescriptions: [description])
    try await container.loadPersistentStores()
    let store = try XCTUnwrap(container.persistentStoreCoordinator.persistentStores.first)
    let tool = fixture.tool
    var result: ToolResult?
    try store.performTransaction { result = try tool.run(["sync", "status", "A.store", "--format", "json"]) }
    try container.close()
    XCTAssertEqual(result?.status, 0, result?.error ?? "")
    XCTAssertTrue(result?.output.contains("\"pendingChanges\":1") ?? false, result?.output ?? "")
  }

  func testADestroyedStoreLeavesNoFileOfItsSynchronization() async throws {
    let fixture = try await SyncFixture.joined()
    XCTAssertEqual(try fixture.tool.run(["destroy", "B.store", "--yes"], passphrase: nil).status, 0)
    let names = try FileManager.default.contentsOfDirectory(atPath: fixture.tool.folder.url.path).filter { $0.contains("B.store") }
    XCTAssertEqual(names, [])
  }
}
