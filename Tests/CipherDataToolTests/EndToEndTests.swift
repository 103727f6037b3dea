import CipherDataToolKit
import Foundation
import StoreKeys
import XCTest

/// The output and the exit statuses of the built tool on real stores.
final class EndToEndTests: XCTestCase {
  func testIndexIsCreatedImportedAndQueried() throws {
    let fixture = try ToolFixture()
    let schema = TestStack.schemas.appendingPathComponent("DebianArchive.xcdatamodeld").path
    XCTAssertEqual(try fixture.run(["create", "test.store", "--model", schema]).status, 0)
    let imported = try fixture.run(["import", "test.store", "--format", "deb822", "-"], input: PackageImportTests.index)
    XCTAssertEqual(imported.status, 0, imported.error)
    XCTAssertEqual(imported.output, "")
    XCTAssertTrue(imported.error.contains("4 records: 26 objects inserted"), imported.error)
    let fetched = try fixture.run([
      "fetch", "test.store", "--entity", "Package", "--where", #"section.name == "shells" AND installedSize > 2000"#, "--sort",
      "-installedSize,name", "--limit",
      "5", "--properties", "name,installedSize,maintainer.name,tags.name", "--format", "csv",
    ])
    XCTAssertEqual(
      fetched.output,
      "name,installedSize,maintainer.name,tags.name\r\n"
        + "bash,7164,Matthias Klose,\"[\"\"role::program\"\",\"\"uitoolkit::ncurses\"\"]\"\r\nzsh,2500,Debian Zsh,\"[\"\"role::program\"\"]\"\r\n"
    )
    XCTAssertEqual(fetched.status, 0, fetched.error)
    XCTAssertEqual(fetched.error, "")
  }

  func testImportingTwiceChangesNothingInTheFile() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    _ = try fixture.folder.file("index", PackageImportTests.index)
    XCTAssertEqual(try fixture.run(["import", "test.store", "--format", "deb822", "index"]).status, 0)
    let exported = try fixture.run(["export", "test.store"]).output
    let again = try fixture.run(["import", "test.store", "--format", "deb822", "index"])
    XCTAssertTrue(again.error.contains("4 records: 0 objects inserted, 0 changed, 0 deleted"), again.error)
    XCTAssertEqual(try fixture.run(["export", "test.store"]).output, exported)
    // The exported lines create the same graph in another store, and change nothing in this one.
    _ = try fixture.folder.file("lines", exported)
    let back = try fixture.run(["import", "test.store", "lines"])
    XCTAssertTrue(back.error.contains("0 objects inserted, 0 changed, 0 deleted"), back.error)
    try await fixture.makeStore(of: TestStack.model("DebianArchive"), at: "copy.store")
    XCTAssertEqual(try fixture.run(["import", "copy.store", "lines"]).status, 0)
    XCTAssertEqual(try fixture.run(["export", "copy.store"]).output, exported)
  }

  func testResultsArePrintedInEveryFormat() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    try fixture.run(["import", "test.store", "--format", "deb822", "-"], input: PackageImportTests.index)
    func fetch(_ arguments: String...) throws -> String {
      let result = try fixture.run(["fetch", "test.store", "--entity", "Package", "--sort", "name,architecture"] + arguments)
      XCTAssertEqual(result.status, 0, result.error)
      return result.output
    }
    XCTAssertEqual(try fetch("--count"), "4\n")
    XCTAssertEqual(try fetch("--properties", "name,section", "--limit", "1"), "name  section\n────  ───────\nbash  shells\n")
    XCTAssertEqual(
      try fetch("--properties", "name,essential,sha256", "--limit", "2", "--format", "jsonl"),
      #"{"name":"bash","essential":true,"sha256":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAP8="}"# + "\n"
        + #"{"name":"gcc","essential":false,"sha256":null}"# + "\n")
    XCTAssertEqual(
      try fetch("--properties", "architecture,relations.@count", "--offset", "2", "--limit", "1", "--format", "json"),
      "[\n  {\"architecture\":\"i386\",\"relations.@count\":0}\n]\n")
    XCTAssertEqual(
      try fetch("--where", "ANY relations.alternatives.packageName == 'cpp'", "--properties", "name", "--format", "csv"), "name\r\ngcc\r\n")
    XCTAssertEqual(try fetch("--where", "maintainer.name CONTAINS[cd] 'MATTHIAS' AND NOT name IN {'bash'}", "--count"), "2\n")
    XCTAssertEqual(
      try fetch("--limit", "1", "--properties", "relations.@entity", "--format", "jsonl"),
      "{\"relations.@entity\":[\"Dependency\",\"PreDependency\",\"PreDependency\"]}\n")
    XCTAssertEqual(try fetch("--where", "priority != nil OR name ENDSWITH 'sh'", "--count"), "2\n")
  }

  func testJSONLinesOfOneEntityAreImported() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    let bad = try fixture.run(["import", "test.store", "--entity", "Tag"], input: "{\"name\":\"a\"}\n{\"nam\":\"b\"}\n")
    XCTAssertEqual(bad.status, 65)
    XCTAssertTrue(bad.error.contains("line 2: Tag.nam"), bad.error)
    XCTAssertEqual(try fixture.run(["fetch", "test.store", "--entity", "Tag", "--count"]).output, "0\n")
    let skipped = try fixture.run(
      ["import", "test.store", "--entity", "Tag", "--skip-bad-lines"], input: "{\"name\":\"a\"}\n{\"nam\":\"b\"}\n")
    XCTAssertEqual(skipped.status, 0)
    XCTAssertTrue(skipped.error.contains("line 2: Tag.nam"), skipped.error)
    XCTAssertEqual(try fixture.run(["fetch", "test.store", "--entity", "Tag", "--count"]).output, "1\n")
  }

  func testInfoIsTheSameInBothFormats() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    try fixture.run(["import", "test.store", "--format", "deb822", "-"], input: PackageImportTests.index)
    let text = try fixture.run(["info", "test.store"])
    XCTAssertEqual(text.status, 0, text.error)
    XCTAssertTrue(text.output.contains("debian-archive-1"))
    XCTAssertTrue(text.output.split(separator: "\n").contains { $0.hasPrefix("Package ") && $0.hasSuffix(" 4") }, text.output)
    let json = try JSONParser.parse(fixture.run(["info", "test.store", "--format", "json"]).output)
    XCTAssertEqual(json["entities"]?["Alternative"], .number("9"))
    XCTAssertNil(json["entities"]?["PackageRelation"])
    XCTAssertEqual(json["modelVersions"], .array([.string("debian-archive-1")]))
  }

  func testPassphraseIsReadFromTheEnvironment() async throws {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    let right = ["CIPHERDATA_PASSPHRASE": ToolFixture.passphrase]
    XCTAssertEqual(
      try fixture.run(["fetch", "test.store", "--entity", "Tag", "--count"], environment: right, passphrase: nil).output, "0\n")
    XCTAssertEqual(try fixture.run(["info", "test.store"], environment: ["CIPHERDATA_PASSPHRASE": "wrong"], passphrase: nil).status, 77)
  }

  func testModelsAreShownAsTextAndDiagrams() throws {
    let fixture = try ToolFixture()
    let schema = TestStack.schemas.appendingPathComponent("Messenger.xcdatamodeld").path
    for (arguments, expected) in [
      (["model", "show", schema], "Message"),
      (["model", "show", TestStack.schemas.appendingPathComponent("PhotoLibrary.xcdatamodeld").path], "Photographer"),
      (["model", "diagram", schema], "classDiagram"), (["model", "diagram", schema, "--format", "dot"], "digraph"),
    ] {
      let result = try fixture.run(arguments, passphrase: nil)
      XCTAssertEqual(result.status, 0, result.error)
      XCTAssertTrue(result.output.contains(expected), expected)
    }
  }

  func testDemonstrationPrintsItsSteps() throws {
    let fixture = try ToolFixture()
    let result = try fixture.run(["demo", "--sample"], environment: ["TMPDIR": fixture.folder.url.path], passphrase: nil)
    XCTAssertEqual(result.status, 0, result.error)
    for text in [
      "none found", "exit status 77", "… 4 in all", "both stores contain the same 320 objects", "both stores contain the same 304 objects",
      "searched for 700 titles and texts", "when decrypted with its key", "The stores and the hub are deleted again.",
    ] {
      XCTAssertTrue(result.output.contains(text), text)
    }
    let left = try FileManager.default.contentsOfDirectory(atPath: fixture.folder.url.path).filter { $0.hasPrefix("cipherdata-") }
    XCTAssertEqual(left, [])
  }
}

extension EndToEndTests {
  func testClassesAreWrittenToAFolder() throws {
    let fixture = try ToolFixture()
    let schema = TestStack.schemas.appendingPathComponent("PhotoLibrary.xcdatamodeld").path
    for _ in 0..<2 {
      let result = try fixture.run(["generate", schema, "--output", "classes"], passphrase: nil)
      XCTAssertEqual(result.status, 0, result.error)
    }
    let files = try FileManager.default.contentsOfDirectory(atPath: fixture.path("classes")).sorted()
    XCTAssertTrue(files.contains("Photo.swift"), "\(files)")
    XCTAssertTrue(try String(contentsOfFile: fixture.path("classes/Photo.swift"), encoding: .utf8).contains("class Photo"))
    XCTAssertEqual(try fixture.run(["generate", schema, "--output", "passphrase/x"], passphrase: nil).status, 73)
    XCTAssertEqual(try fixture.run(["generate", "none.xcdatamodel", "--output", "classes"], passphrase: nil).status, 66)
  }
}
