import Foundation
import XCTest

/// Drafts of the shell: tentative changes that are saved or discarded, and the prompt that shows them.
final class ShellDraftTests: XCTestCase {
  private func count(_ fixture: ToolFixture, _ condition: String) throws -> String {
    try fixture.run(["fetch", "test.store", "--entity", "Package", "--where", condition, "--count"]).output
  }

  func testDraftChangesAreVisibleInTheShellOnlyUntilSaved() async throws {
    let fixture = try await ToolFixture.withPackages()
    let result = try fixture.run(
      ["shell", "test.store", "--format", "csv"],
      input: """
        begin
        update Package --where name == 'zsh' --set installedSize = installedSize * 3, summary = nil
        fetch Package --where installedSize == 7500 --properties name,installedSize
        delete Package --where name == 'bash'
        count Package
        save
        """)
    XCTAssertEqual(result.error, "")
    XCTAssertEqual(result.output, "1\nname,installedSize\r\nzsh,7500\r\n8\n3\n9\n")
    XCTAssertEqual(try count(fixture, "installedSize == 7500"), "1\n")
    XCTAssertEqual(try count(fixture, "TRUEPREDICATE"), "3\n")
    XCTAssertEqual(try fixture.run(["verify", "test.store"]).output, "ok\n")
  }

  func testHistoryRecordsTheShellAsAuthorOfSavedDrafts() async throws {
    let fixture = try await ToolFixture.withPackages()
    XCTAssertEqual(try fixture.run(["history", "test.store", "--enable"]).status, 0)
    let result = try fixture.run(
      ["shell", "test.store", "--author", "me"],
      input: """
        update Package --where name == 'zsh' --set installedSize = 1
        begin
        update Package --where name == 'zsh' --set installedSize = 2
        discard
        begin
        update Package --where name == 'zsh' --set installedSize = 3
        save
        """)
    XCTAssertEqual(result.error, "")
    let list = try fixture.run(["history", "test.store", "--author", "me", "--format", "jsonl"])
    let heads = list.output.split(separator: "\n").filter { $0.contains(#""author":"me""#) }
    XCTAssertEqual(heads.count, 2, list.output)
    XCTAssertTrue(heads.allSatisfy { $0.contains(#""updated":1"#) }, list.output)
  }

  func testDiscardedDraftsLeaveNoChanges() async throws {
    let fixture = try await ToolFixture.withPackages()
    let result = try fixture.run(
      ["shell", "test.store"],
      input: "begin\ndelete Package --all\ncount Package\ncount Alternative\ndiscard\ncount Package\ncount Alternative\n")
    XCTAssertEqual(result.error, "")
    XCTAssertEqual(result.output, "20\n0\n0\n20\n4\n9\n")
    XCTAssertEqual(try count(fixture, "TRUEPREDICATE"), "4\n")
  }

  func testNestedDraftsAreSavedIntoTheirParent() async throws {
    let fixture = try await ToolFixture.withPackages()
    let result = try fixture.run(
      ["shell", "test.store"],
      input: """
        begin
        update Package --where name == 'zsh' --set installedSize = 1
        begin --nested
        update Package --where installedSize == 1 --set installedSize = 2
        discard
        count Package --where installedSize == 1
        begin --nested
        update Package --where installedSize == 1 --set installedSize = 3
        save
        count Package --where installedSize == 3
        discard
        count Package --where installedSize < 4
        """)
    XCTAssertEqual(result.output, "1\n1\n1\n1\n1\n1\n1\n1\n0\n")
    XCTAssertEqual(result.error, "")
  }

  func testFailedLinesLeaveTheDraftUnchanged() async throws {
    let fixture = try await ToolFixture.withPackages()
    let result = try fixture.run(
      ["shell", "test.store"],
      input: """
        begin
        update Package --where name == 'zsh' --set installedSize = 1
        update Package --all --set name = nil
        update Package --all --set section = 'shells'
        count Package --where installedSize == 1 AND name != nil
        save
        """)
    XCTAssertEqual(result.output, "1\n1\n1\n", result.error)
    XCTAssertEqual(result.error.split(separator: "\n").filter { $0.hasPrefix("cipherdata: line ") }.count, 2, result.error)
    XCTAssertTrue(result.error.contains("line 3:"), result.error)
    XCTAssertTrue(result.error.contains("line 4:"), result.error)
    XCTAssertEqual(try count(fixture, "installedSize == 1"), "1\n")
  }

  func testUnsavedDraftsAreReportedAtTheEnd() async throws {
    let fixture = try await ToolFixture.withPackages()
    let result = try fixture.run(["shell", "test.store"], input: "begin\ndelete Package --where name == 'zsh'\n")
    XCTAssertEqual(result.status, 0)
    XCTAssertTrue(result.error.contains("are discarded"), result.error)
    XCTAssertEqual(try count(fixture, "name == 'zsh'"), "1\n")
  }

  func testASecondDraftIsRejectedUnlessItIsNested() async throws {
    let fixture = try await ToolFixture.withPackages()
    let input = """
      begin
      update Package --where name == 'zsh' --set installedSize = 1
      begin
      discard
      count Package --where installedSize == 1
      begin
      begin --nested
      update Package --where name == 'zsh' --set installedSize = 1
      discard
      count Package --where installedSize == 1
      discard
      begin --nested
      discard

      """
    let result = try fixture.run(["shell", "test.store"], input: input)
    XCTAssertEqual(result.status, 64)
    XCTAssertEqual(
      result.error, "cipherdata: line 3: A draft is open. Use save or discard first, or begin --nested for a draft inside it.\n")
    XCTAssertEqual(result.output, "1\n1\n0\n1\n1\n0\n0\n0\n")
  }

  func testDryRunsInADraftCountAndChangeNothing() async throws {
    let fixture = try await ToolFixture.withPackages()
    let result = try fixture.run(
      ["shell", "test.store"], input: "begin\ndelete Package --all --dry-run\ncount Package\nsave\n")
    XCTAssertEqual(result.output, "4\n4\n0\n", result.error)
  }

  func testPromptShowsUnsavedChangesAndQuitConfirmsOnce() async throws {
    let fixture = try await ToolFixture.withPackages()
    let terminal = try PseudoTerminal(fixture, ["shell", "test.store"])
    try terminal.wait(for: "test.store> ")
    terminal.type("begin\n")
    try terminal.wait(for: "test.store (draft)> ")
    terminal.type("update Package --all --set installedSize = 1\n")
    try terminal.wait(for: "test.store (draft, 4 unsaved)> ")
    terminal.type("begin\n")
    try terminal.wait(for: "A draft is open.")
    try terminal.wait(for: "test.store (draft, 4 unsaved)> ")
    terminal.type("begin --nested\n")
    try terminal.wait(for: "test.store (draft 2, 4 unsaved)> ")
    terminal.type("discard\n")
    try terminal.wait(for: "test.store (draft, 4 unsaved)> ")
    terminal.type("quit\n")
    try terminal.wait(for: "leave once more")
    try terminal.wait(for: "test.store (draft, 4 unsaved)> ")
    terminal.type("save\n")
    try terminal.wait(for: "test.store> ")
    terminal.type("quit\n")
    XCTAssertEqual(try terminal.end(), 0)
    XCTAssertEqual(try count(fixture, "installedSize == 1"), "4\n")
  }
}
