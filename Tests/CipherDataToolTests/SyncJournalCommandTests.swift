import CipherDataToolKit
import Foundation
import ObjectModel
import XCTest

/// `cipherdata sync journal`, `restore`, `pending` and `conflicts`.
final class SyncJournalCommandTests: XCTestCase {
  /// Two stores with a value that has lost in `A.store`.
  private func fixture() async throws -> SyncFixture {
    let fixture = try await SyncFixture.joined()
    try fixture.update("A.store", "Note", "text == 'one'", "text = 'of A'")
    try await Task.sleep(for: .milliseconds(5))
    try fixture.update("B.store", "Note", "text == 'one'", "text = 'of B'")
    for store in ["B.store", "A.store", "B.store"] { try fixture.succeed("run", store) }
    return fixture
  }

  func testAValueThatHasLostIsPrintedAndRestored() async throws {
    let fixture = try await fixture()
    let text = try fixture.succeed("journal", "A.store").output
    for part in ["1     20", "Note p", "another change is later", #"lost: text = "of A", on “"#, #"won:  text = "of B", on “"#] {
      XCTAssertTrue(text.contains(part), "\(part) in \(text)")
    }
    let none = try fixture.succeed("journal", "B.store")
    XCTAssertEqual(none.output, "")
    XCTAssertTrue(none.error.contains("nothing has lost"), none.error)

    let restored = try fixture.succeed("restore", "A.store", "1").output
    XCTAssertTrue(restored.hasPrefix("1: x-cipherdata://"), restored)
    for store in ["A.store", "B.store"] { try fixture.succeed("run", store) }
    try fixture.assertEqualContents(count: 4)
    XCTAssertTrue(try fixture.contents("B.store").contains { $0.contains("of A") })
    let others = try fixture.succeed("journal", "A.store")
    XCTAssertEqual(others.output, "")
    XCTAssertTrue(others.error.contains("--all"), others.error)
    XCTAssertTrue(try fixture.succeed("journal", "A.store", "--all").output.contains("(restored)"))
    try fixture.fail(65, ["restored already"], "restore", "A.store", "1")
    try fixture.fail(65, ["no entry 9"], "restore", "A.store", "9")
  }

  func testTheJournalHasTheSameFieldsAsJSON() async throws {
    let fixture = try await fixture()
    let json = try JSONParser.parse(try fixture.succeed("journal", "A.store", "--format", "json").output)
    guard case .array(let entries)? = json["entries"], let entry = entries.first else { return XCTFail("\(json)") }
    XCTAssertEqual(entries.count, 1)
    XCTAssertEqual(entry["number"], .integer(1))
    XCTAssertEqual(entry["reason"], .string("laterChange"))
    XCTAssertEqual(entry["entity"], .string("Note"))
    XCTAssertEqual(entry["lost"]?["values"]?["text"], .string("of A"))
    XCTAssertEqual(entry["won"]?["values"]?["text"], .string("of B"))
    XCTAssertEqual(entry["restored"], .null)
  }

  func testEntriesAreRemovedByDate() async throws {
    let fixture = try await fixture()
    XCTAssertTrue(try fixture.succeed("journal", "A.store", "--remove-before", "2020-01-01").error.contains("0 entries were removed"))
    XCTAssertTrue(try fixture.succeed("journal", "A.store", "--remove-before", "2999-01-01").error.contains("1 entry was removed"))
    XCTAssertEqual(try fixture.succeed("journal", "A.store").output, "")
    let refused = try fixture.sync(["journal", "A.store", "--remove-before", "soon"])
    XCTAssertEqual(refused.status, 64)
    XCTAssertTrue(refused.error.contains("“soon” is not a date"), refused.error)
  }

  func testConflictsAreWhatTheJournalHasAndIsStillUndecided() async throws {
    let fixture = try await fixture()
    let text = try fixture.succeed("conflicts", "A.store").output
    XCTAssertEqual(text, try fixture.succeed("journal", "A.store").output)
    let json = try JSONParser.parse(try fixture.succeed("conflicts", "A.store", "--format", "json").output)
    guard case .array(let values)? = json["values"] else { return XCTFail("\(json)") }
    XCTAssertEqual(values.map { $0["number"] }, [.integer(1)])
    XCTAssertEqual(json["unreadable"], .array([]))
    try fixture.update("A.store", "Note", "text == 'of B'", "text = 'of neither'")
    let none = try fixture.succeed("conflicts", "A.store")
    XCTAssertEqual(none.output, "")
    XCTAssertTrue(none.error.contains("there are no conflicts"), none.error)
    XCTAssertNotEqual(try fixture.succeed("journal", "A.store").output, "")
  }

  func testPendingChangesArePrinted() async throws {
    let fixture = try await SyncFixture.joined()
    let none = try fixture.succeed("pending", "A.store")
    XCTAssertEqual(none.output, "")
    XCTAssertTrue(none.error.contains("everything was sent"), none.error)
    try fixture.update("A.store", "Note", "text == 'one'", "text = 'four'")
    try fixture.remove("A.store", "Note", "text == 'two'")
    try fixture.add(#"{"$entity":"Folder","title":"new","size":2}"# + "\n", to: "A.store")
    let lines = try fixture.succeed("pending", "A.store").output.split(separator: "\n").map(String.init)
    XCTAssertEqual(lines.count, 7, "\(lines)")
    XCTAssertTrue(lines[0].hasPrefix("Zone ") && lines[0].hasSuffix(": 3 saves"), lines[0])
    XCTAssertTrue(lines[1].contains("1 object, 4 bytes"), lines[1])
    XCTAssertTrue(lines[2].hasPrefix("  update  Note p") && lines[2].hasSuffix(": text (4 bytes)"), lines[2])
    XCTAssertTrue(lines[4].hasPrefix("  delete  Note p"), lines[4])
    XCTAssertTrue(lines[6].hasPrefix("  insert  Folder p") && lines[6].hasSuffix(": size, title (11 bytes)"), lines[6])
    let short = try fixture.succeed("pending", "A.store", "--limit", "0").output
    XCTAssertTrue(short.contains("  and 1 more"), short)

    let json = try JSONParser.parse(try fixture.succeed("pending", "A.store", "--format", "json", "--limit", "1").output)
    guard case .array(let saves)? = json["saves"], case .array(let objects)? = saves.first?["objects"] else { return XCTFail("\(json)") }
    XCTAssertEqual(saves.count, 3)
    XCTAssertEqual(objects.first?["change"], .string("update"))
    XCTAssertEqual(objects.first?["properties"], .array([.string("text")]))
    XCTAssertEqual(objects.first?["bytes"], .integer(4))
    XCTAssertEqual(json["more"], .bool(true))
    try fixture.succeed("run", "A.store")
    XCTAssertEqual(try fixture.succeed("pending", "A.store").output, "")
    XCTAssertEqual(try fixture.sync(["pending", "A.store", "--limit", "-1"]).status, 64)
  }

  func testAVersionOfTheModelIsRequired() async throws {
    let fixture = try await SyncFixture()
    var newer = SyncFixture.model
    newer.versionIdentifiers = ["2"]
    try await fixture.tool.makeStore(of: newer, at: "N.store")
    try fixture.succeed("start", "N.store", "--hub", "hub.store", "--recovery", "recovery")
    XCTAssertTrue(try fixture.succeed("require-model", "N.store").error.contains("version 2 of the model is required"))
    XCTAssertTrue(try fixture.succeed("pending", "N.store").output.contains("  the required version of the model"))
    try fixture.succeed("run", "N.store")
    XCTAssertTrue(try fixture.succeed("status", "N.store").output.contains("Model:        version 2 is required\n"))
    _ = try fixture.sync(["join", "A.store", "--hub", "hub.store", "--recovery", "recovery"])
    try fixture.fail(65, ["requires version 2 of the model", "Update the program"], "run", "A.store")
    let status = try fixture.status("A.store")
    XCTAssertEqual(status["requiredModel"], .string("2"))
    XCTAssertEqual(status["modelTooOld"], .bool(true))
    XCTAssertTrue(try fixture.succeed("status", "A.store").output.contains("version 2 is required; the store's model has none"))
    try fixture.fail(65, ["has no version that could be required"], "require-model", "A.store")
    XCTAssertEqual(try fixture.sync(["require-model", "A.store", "--version", "two"]).status, 64)
  }
}
