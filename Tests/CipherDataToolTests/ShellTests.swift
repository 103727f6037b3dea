import Foundation
import XCTest

/// The shell with lines from a pipe, and in an interactive session.
final class ShellTests: XCTestCase {
  private func fixture() async throws -> ToolFixture {
    let fixture = try ToolFixture()
    try await fixture.makeStore()
    try fixture.run(["import", "test.store", "--format", "deb822", "-"], input: PackageImportTests.index)
    return fixture
  }

  func testPipedLinesAreCommands() async throws {
    let result = try await fixture().run(
      ["shell", "test.store"],
      input: """
        # The packages.
        count Package
        count Package --where section.name == "shells"

        fetch Package --where section.name == "shells" AND installedSize > 2000 --sort -installedSize,name --properties name,maintainer.name
        format csv
        fetch Package --sort name --limit 1 --properties name,architecture
        fetch Package --sort name --limit 1 --properties name --format jsonl
        format
        """)
    XCTAssertEqual(result.error, "")
    XCTAssertEqual(
      result.output,
      "4\n2\nname  maintainer.name\n────  ───────────────\nbash  Matthias Klose\nzsh   Debian Zsh\n"
        + "name,architecture\r\nbash,amd64\r\n{\"name\":\"bash\"}\ncsv\n")
    XCTAssertEqual(result.status, 0)
  }

  func testErrorsSetTheExitStatusWithoutEndingTheShell() async throws {
    let result = try await fixture().run(
      ["shell", "test.store"],
      input: "count Nothing\ncount Package --where name ==\nnothing\nfetch\ncount 'Package\ncount Package\n")
    XCTAssertEqual(result.output, "4\n")
    XCTAssertEqual(result.status, 64)
    let lines = result.error.split(separator: "\n")
    XCTAssertEqual(lines.count, 5, result.error)
    XCTAssertTrue(lines[0].hasPrefix("cipherdata: line 1: The store has no entity “Nothing”"), result.error)
    for (number, line) in lines.enumerated() { XCTAssertTrue(line.hasPrefix("cipherdata: line \(number + 1): "), result.error) }
  }

  func testQuitEndsTheShellBeforeTheEndOfInput() async throws {
    let result = try await fixture().run(["shell", "test.store"], input: "quit\ncount Package\n")
    XCTAssertEqual(result.output, "")
    XCTAssertEqual(result.status, 0)
  }

  func testHelpListsCommandsAndOptions() async throws {
    let result = try await fixture().run(["shell", "test.store"], input: "help\nhelp fetch\nfetch --help\n")
    XCTAssertEqual(result.status, 0, result.error)
    for text in ["entities", "describe", "USAGE: fetch [<entity>] [--entity <entity>]", "--where <predicate>"] {
      XCTAssertTrue(result.output.contains(text), "\(text) is not in \(result.output)")
    }
    XCTAssertFalse(result.output.contains("shell "), result.output)
  }

  func testEntitiesAndTheirPropertiesAreShown() async throws {
    let result = try await fixture().run(
      ["shell", "test.store", "--format", "csv"], input: "entities\ndescribe Section\ndescribe Nothing\n")
    XCTAssertTrue(result.output.contains("entity,parent,objects\r\n"), result.output)
    XCTAssertTrue(result.output.contains("Package,,4\r\n"), result.output)
    XCTAssertTrue(result.output.contains("Dependency,PackageRelation,"), result.output)
    XCTAssertTrue(result.output.contains("property,type,notes\r\nname,String,unique\r\npackages,to-many Package,"), result.output)
    XCTAssertEqual(result.status, 64)
  }

  func testLineEditorSupportsEditingCompletionAndHistory() async throws {
    let fixture = try await fixture()
    let terminal = try PseudoTerminal(fixture, ["shell", "test.store"])
    try terminal.wait(for: "test.store> ")
    // Edit the middle of a line: move left twice, insert a letter.
    terminal.type("count Packge\u{1B}[D\u{1B}[Da\n")
    try terminal.wait(for: "\r\n4\r\n")
    try terminal.wait(for: "test.store> ")
    // Recall the line, and continue it.
    terminal.type("\u{1B}[A --wh\t" + "sect\t.na\t == 'shells'\n")
    try terminal.wait(for: "\r\n2\r\n")
    try terminal.wait(for: "test.store> ")
    // Ambiguous completions are listed, and the line is shown again.
    terminal.type("count Pack\t\t")
    try terminal.wait(for: "Package          PackageRelation")
    try terminal.wait(for: "test.store> count Package")
    // Ctrl-C discards the line; letters beyond ASCII are accepted.
    terminal.type("\u{3}")
    try terminal.wait(for: "^C")
    try terminal.wait(for: "test.store> ")
    terminal.type("count Tag --where name == 'Größe漢'\n")
    try terminal.wait(for: "\r\n0\r\n")
    terminal.type("nothing\n")
    try terminal.wait(for: "There is no command “nothing”")
    try terminal.wait(for: "test.store> ")
    // Ctrl-D exits on an empty line. The completion shows that the editor is reading.
    terminal.type("qu\t")
    try terminal.wait(for: "it ")
    terminal.type("\u{15}\u{4}")
    XCTAssertEqual(try terminal.end(), 0)
    XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: fixture.folder.url.path).filter { $0.contains("history") }, [])
  }

  func testHistoryIsSavedOnlyInAPrivateFile() async throws {
    let fixture = try await fixture()
    for (keys, expected) in [("count Package\n", "\r\n4\r\n"), ("\u{1B}[A\u{1B}[A\n", "\r\n4\r\n")] {
      let terminal = try PseudoTerminal(fixture, ["shell", "test.store", "--history", "history"])
      try terminal.wait(for: "test.store> ")
      terminal.type(keys)
      try terminal.wait(for: expected)
      terminal.type("quit\n")
      XCTAssertEqual(try terminal.end(), 0)
    }
    XCTAssertEqual(try String(contentsOfFile: fixture.path("history"), encoding: .utf8), "count Package\nquit\ncount Package\nquit\n")
    let mode = try FileManager.default.attributesOfItem(atPath: fixture.path("history"))[.posixPermissions] as? NSNumber
    XCTAssertEqual(mode?.intValue, 0o600)
  }
}
