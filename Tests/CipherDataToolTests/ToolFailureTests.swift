import CipherDataToolKit
import Foundation
import ObjectModel
import ObjectStore
import XCTest

/// The exit status and one-line message for each kind of failure; no file is changed.
final class ToolFailureTests: XCTestCase {
  private func assert(
    _ fixture: ToolFixture, _ arguments: [String], ends status: Int32, saying text: String = "", input: String? = nil,
    passphrase: String? = "passphrase",
    line: UInt = #line
  ) throws {
    let result = try fixture.run(arguments, input: input, passphrase: passphrase)
    XCTAssertEqual(result.status, status, "\(arguments): \(result.error)", line: line)
    if !text.isEmpty { XCTAssertTrue(result.error.contains(text), result.error, line: line) }
    if status != 64 { XCTAssertEqual(result.error.filter { $0 == "\n" }.count, 1, result.error, line: line) }
    XCTAssertEqual(result.output, "", line: line)
  }

  func testInvalidArgumentsAre64() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    try assert(fixture, ["nothing"], ends: 64, passphrase: nil)
    try assert(fixture, ["fetch", "test.store"], ends: 64)
    try assert(fixture, ["fetch", "test.store", "--entity", "Nothing"], ends: 64, saying: "no entity “Nothing”")
    try assert(fixture, ["fetch", "test.store", "--entity", "Tag", "--where", "name =="], ends: 64, saying: "column")
    try assert(fixture, ["fetch", "test.store", "--entity", "Tag", "--where", "nome == 1"], ends: 64, saying: "nome")
    try assert(fixture, ["fetch", "test.store", "--entity", "Tag", "--where", "name == 1"], ends: 64)
    try assert(fixture, ["fetch", "test.store", "--entity", "Tag", "--sort", "nome"], ends: 64)
    try assert(fixture, ["fetch", "test.store", "--entity", "Tag", "--properties", "name.more"], ends: 64, saying: "name.more")
    try assert(fixture, ["fetch", "test.store", "--entity", "Tag", "--limit", "0"], ends: 64)
    try assert(fixture, ["export", "test.store", "--entity", "Nothing"], ends: 64)
  }

  func testAdviceNamesTheCommandsToType() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    let schema = TestStack.schemas.appendingPathComponent("DebianArchive.xcdatamodeld").path
    let fetch = ["fetch", "test.store", "--entity", "Package", "--where"]
    let cases: [(arguments: [String], status: Int32, advice: String)] = [
      (["create", "no/folder/new.store", "--model", schema], 73, "mkdir -p"),
      (["fetch", "test.store", "--entity", "Packge"], 64, "did you mean “Package”?"),
      (["fetch", "test.store", "--entity", "Package", "--properties", "nmae"], 64, "did you mean “name”?"),
      (["update", "test.store", "--entity", "Package", "--all", "--set", "nmae = 'a'"], 64, "did you mean “name”?"),
      (fetch + ["installedSize == 'ten'"], 64, "Write a number without quotation marks."),
      (fetch + ["essential == 'yes'"], 64, "Write true or false without quotation marks."),
      (fetch + ["section == 'games'"], 64, "Use one of its attributes (name.attribute)."),
      (fetch + ["name == 3"], 64, "Put the value into quotation marks."),
      (fetch + ["name == $name"], 64, "Write the value in its place."),
      (["history", "test.store"], 65, "Enable it with “cipherdata history --enable”."),
    ]
    for (arguments, status, advice) in cases { try assert(fixture, arguments, ends: status, saying: advice) }
    for (line, advice) in [
      (#"{"$entity": "Packge"}"#, "line 1: $entity: The model has no entity of this name; did you mean “Package”?"),
      (#"{"$entity": "Package", "nmae": "a"}"#, "line 1: Package.nmae: The entity has no such property; did you mean “name”?"),
      // The path starts at the object of the line.
      (#"{"$entity": "Package", "section": "games"}"#, "line 1: Package.section: An object is expected, not a string."),
      (
        #"{"$entity": "Package", "tags": [{"nmae": "a"}]}"#,
        "line 1: Package.tags[0].nmae: The entity has no such property; did you mean “name”?"
      ),
      (#"{"$entity": "Package", "section": {"$entity": "Tag"}}"#, "line 1: Package.section.$entity: The entity is neither"),
    ] {
      try assert(fixture, ["import", "test.store"], ends: 65, saying: advice, input: line + "\n")
    }
    try assert(fixture, ["info", "test.store"], ends: 77, saying: "The passphrase is wrong", passphrase: "other")
    for (arguments, _, _) in cases {
      let error = try fixture.run(arguments).error
      // Calls with their labels, and format arguments.
      XCTAssertNil(error.firstMatch(of: /\w\([\w:]*\)|%[@df]/), error)
    }
  }

  func testRemediesNameOptionsAndValuesInsteadOfFunctionsAndProperties() {
    for remedy in Remedy.allCases {
      let error = StoreError(StoreError.Reason(.invalidRequest, "It failed.", remedy))
      let message = ExitReport(error).message
      XCTAssertTrue(message.hasPrefix("It failed. "), message)
      XCTAssertTrue("\(error)".hasPrefix("It failed. "), "\(error)")
      XCTAssertNotEqual(message, "\(error)")
      // Calls with their labels, format arguments, and names of properties and types.
      XCTAssertNil(message.firstMatch(of: /\w\([\w:]*\)|%[@df]|\w[a-z][A-Z]/), message)
      XCTAssertEqual(ExitReport(StoreError(.io, "Reading failed.", underlying: error)).message, "Reading failed. The cause: \(message)")
    }
  }

  func testBadDataIs65() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    try assert(fixture, ["import", "test.store", "--format", "deb822"], ends: 65, saying: "line 1", input: "no stanza\n")
    try assert(fixture, ["import", "test.store"], ends: 65, saying: "line 1", input: "{\n")
    _ = try fixture.folder.file("plain", "SQLite format 3\u{0}" + String(repeating: "x", count: 8176))
    try assert(fixture, ["info", "plain"], ends: 65, saying: "plain")
    _ = try fixture.folder.file("empty", "")
    try assert(fixture, ["info", "empty"], ends: 65)
    _ = try fixture.folder.file("contents", "<model>")
    try FileManager.default.createDirectory(atPath: fixture.path("Bad.xcdatamodel"), withIntermediateDirectories: true)
    try FileManager.default.moveItem(atPath: fixture.path("contents"), toPath: fixture.path("Bad.xcdatamodel/contents"))
    try assert(fixture, ["create", "new.store", "--model", "Bad.xcdatamodel"], ends: 65, saying: "Bad.xcdatamodel")
  }

  func testMissingFilesAre66AndNothingIsCreated() throws {
    let fixture = try ToolFixture()
    for arguments in [
      ["info", "none"], ["fetch", "none", "--entity", "Tag"], ["import", "none"], ["key", "list", "none"], ["verify", "none"],
    ] {
      try assert(fixture, arguments, ends: 66, saying: "none", passphrase: arguments[0] == "key" ? nil : "passphrase")
    }
    try assert(fixture, ["create", "new.store", "--model", "None.xcdatamodeld"], ends: 66, saying: "None.xcdatamodeld")
    try assert(fixture, ["info", "none"], ends: 66, passphrase: "no-such-file")
    XCTAssertFalse(FileManager.default.fileExists(atPath: fixture.path("none")))
    XCTAssertFalse(FileManager.default.fileExists(atPath: fixture.path("new.store")))
  }

  func testExistingFilesAreNotOverwrittenAndAre73() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    let schema = TestStack.schemas.appendingPathComponent("DebianArchive.xcdatamodeld").path
    let before = try Data(contentsOf: URL(fileURLWithPath: fixture.store))
    try assert(fixture, ["create", "test.store", "--model", schema], ends: 73, saying: "exists")
    try assert(fixture, ["create", "no/folder/new.store", "--model", schema], ends: 73)
    try assert(fixture, ["backup", "test.store", "test.store"], ends: 73)
    try assert(fixture, ["decrypt", "test.store", "passphrase"], ends: 73)
    try assert(fixture, ["encrypt", "passphrase", "test.store"], ends: 73)
    XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: fixture.store)), before)
  }

  func testWrongAndMissingKeysAre77() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    try assert(fixture, ["info", "test.store"], ends: 77, passphrase: "other")
    _ = try fixture.folder.file("nothing", "\n")
    try assert(fixture, ["info", "test.store"], ends: 77, passphrase: "nothing")
    try FileManager.default.moveItem(atPath: fixture.store + ".keys", toPath: fixture.path("elsewhere"))
    try assert(fixture, ["info", "test.store"], ends: 77)
  }

  func testDamageIs74AndVerifyReportsIt() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    try fixture.run(["import", "test.store", "--format", "deb822", "-"], input: PackageImportTests.index)
    XCTAssertEqual(try fixture.run(["verify", "test.store"]).output, "ok\n")
    XCTAssertEqual(try fixture.run(["verify", "test.store", "--quick"]).output, "ok\n")
    var bytes = try Data(contentsOf: URL(fileURLWithPath: fixture.store))
    for page in 2..<(bytes.count / 4096) { bytes[page * 4096 + 100] ^= 1 }
    try bytes.write(to: URL(fileURLWithPath: fixture.store))
    let verified = try fixture.run(["verify", "test.store"])
    XCTAssertEqual(verified.status, 74)
    XCTAssertTrue(verified.output.contains("page 3"), verified.output)
    XCTAssertEqual(try fixture.run(["fetch", "test.store", "--entity", "Package"]).status, 74)
  }

  func testAStoreInUseByAWriterIs75() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    // A writer that waits for its input locks the store.
    let writer = Process()
    writer.executableURL = try ToolFixture.executable
    writer.arguments = ["import", fixture.store, "--entity", "Tag", "--passphrase-file", fixture.path("passphrase")]
    let pipe = Pipe()
    writer.standardInput = pipe
    writer.standardError = FileHandle.nullDevice
    try writer.run()
    pipe.fileHandleForWriting.write(Data(String(repeating: "{\"name\":\"x\"}\n", count: 3000).utf8))
    var status: Int32 = 0
    // The lock starts when the writer has opened the store; until then, the second writer succeeds.
    for _ in 0..<20 where status == 0 {
      status = try fixture.run(["import", "test.store", "--entity", "Tag"], input: "{\"name\":\"y\"}\n").status
    }
    XCTAssertEqual(status, 75)
    try pipe.fileHandleForWriting.close()
    writer.waitUntilExit()
    XCTAssertEqual(writer.terminationStatus, 0)
    XCTAssertEqual(try fixture.run(["fetch", "test.store", "--entity", "Tag", "--count", "--where", "name == 'x'"]).output, "1\n")
  }

  func testErrorsShowNoPassphraseAndNoValue() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    let result = try fixture.run(["import", "test.store", "--entity", "Tag"], input: "{\"name\":12345678987654321}\n")
    XCTAssertEqual(result.status, 65)
    XCTAssertFalse(result.error.contains("12345678987654321"))
    for arguments in [["info", "test.store"], ["key", "list", "test.store"]] {
      let result = try fixture.run(arguments, passphrase: arguments[0] == "key" ? nil : "other")
      XCTAssertFalse((result.output + result.error).contains("another passphrase"))
    }
  }
}
