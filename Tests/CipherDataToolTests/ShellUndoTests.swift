import Foundation
import XCTest

/// Undo and redo of the shell: in the store without a draft, within a draft, and of a saved draft.
final class ShellUndoTests: XCTestCase {
  func testStoreChangesAreUndoneAndRedone() async throws {
    let fixture = try await ToolFixture.withPackages()
    let result = try fixture.run(
      ["shell", "test.store"],
      input: """
        update Package --all --set installedSize = installedSize + 1, summary = nil
        count Package --where summary == nil AND installedSize IN {7165, 2501, 47}
        undo
        count Package --where summary != nil
        count Package --where installedSize IN {7164, 2500, 46}
        redo
        undo
        """)
    XCTAssertEqual(result.error, "")
    XCTAssertEqual(result.output, "4\n4\nupdate Package\n1\n4\nupdate Package\nupdate Package\n")
    let left = try fixture.run(["fetch", "test.store", "--entity", "Package", "--where", "installedSize IN {7164, 2500, 46}", "--count"])
    XCTAssertEqual(left.output, "4\n")
  }

  func testUndoRestoresDeletionsAndTheEffectsOfDeleteRules() async throws {
    let fixture = try await ToolFixture.withPackages()
    let before = try fixture.run(["export", "test.store"]).output
    let result = try fixture.run(
      ["shell", "test.store"], input: "delete Package --where name == 'bash'\ncount Alternative\nundo\ncount Alternative\n")
    XCTAssertEqual(result.error, "")
    XCTAssertEqual(result.output, "8\n5\ndelete Package\n9\n")
    XCTAssertEqual(try fixture.run(["verify", "test.store"]).output, "ok\n")
    let after = try fixture.run(["export", "test.store"])
    XCTAssertFalse(before.isEmpty)
    XCTAssertEqual(after.output, before, after.error)
  }

  func testDraftsHaveTheirOwnUndoStepsAndAreOneStepWhenSaved() async throws {
    let fixture = try await ToolFixture.withPackages()
    let result = try fixture.run(
      ["shell", "test.store"],
      input: """
        begin
        update Package --where name == 'zsh' --set installedSize = 1
        delete Package --where name == 'gcc'
        undo
        count Package
        redo
        count Package
        save
        undo
        count Package --where installedSize == 2500
        count Package
        redo
        count Package
        """)
    XCTAssertEqual(result.error, "")
    // Two packages, four relations and five alternatives.
    XCTAssertEqual(result.output, "1\n11\ndelete Package\n4\ndelete Package\n2\n12\nsave\n1\n4\nsave\n2\n")
  }

  func testUndoWithoutChangesIsReported() async throws {
    let fixture = try await ToolFixture.withPackages()
    let result = try fixture.run(["shell", "test.store"], input: "undo\nredo\nbegin\nundo\n")
    XCTAssertEqual(result.status, 64)
    XCTAssertEqual(
      result.error,
      "cipherdata: line 1: There is nothing to undo.\ncipherdata: line 2: There is nothing to redo.\ncipherdata: line 4: There is nothing to undo.\n"
    )
  }
}
