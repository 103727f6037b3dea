import Foundation
import XCTest

/// Imports add a file's entries in batches, and a canceled import reports its progress.
final class ImportTests: JournalTestCase {
  private func file(_ lines: [String]) throws -> String {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("Entries-\(UUID().uuidString).jsonl")
    addTeardownBlock { try? FileManager.default.removeItem(at: file) }
    try lines.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
    return file.path
  }

  private func lines(_ count: Int) -> [String] {
    (0..<count).map { #"{"notebook": "N\#($0 % 3)", "title": "Entry \#($0)", "text": "words", "written": "2026-05-01T08:00:00Z"}"# }
  }

  func testImportReportsProgressAndSkipsExistingEntries() throws {
    let folder = folder()
    let ada = try writer(in: folder, adding: ("Work", "Plan"))
    let path = try file(lines(1_200) + ["", lines(1)[0]])
    ada.type("import \(path)")
    ada.wait(for: "imported 500 of 1201")
    ada.wait(for: "imported 1000 of 1201")
    ada.wait(for: "imported 1201 of 1201")
    ada.wait(for: "import done: 1200 new, 1 were there already")
    XCTAssertEqual(ada.quit(), 0)
    let again = try Writer(folder, doing: ["import", path])
    again.wait(for: "1201 entries. Type help for what there is to do.")
    again.wait(for: "import done: 0 new, 1201 were there already")
    XCTAssertEqual(again.end(), 0)
    XCTAssertEqual(try reader(of: folder, finding: 1_201).quit(), 0)
  }

  func testMalformedLineIsReportedByNumberAndNothingIsImported() throws {
    let folder = folder()
    for (line, reason) in [
      ("{", "is not a JSON object"), (#"{"notebook": "N", "written": "2026-05-01T08:00:00Z"}"#, "has no title"),
      (#"{"notebook": "N", "title": "T", "written": "yesterday"}"#, "has an invalid written"),
      (#"{"notebook": "N", "title": "", "written": "2026-05-01T08:00:00Z"}"#, "has an empty notebook or title"),
    ] {
      let path = try file(lines(600) + ["", line])
      let ada = try Writer(folder, doing: ["import", path])
      ada.wait(for: "! \(path): line 602 \(reason); nothing was imported")
      XCTAssertEqual(ada.end(), 1)
    }
    let ada = try Writer(folder, doing: ["import", "/nowhere/entries"])
    ada.wait(for: "! There is no file /nowhere/entries.")
    XCTAssertEqual(ada.end(), 1)
    XCTAssertEqual(try reader(of: folder, finding: 0).quit(), 0)
  }

  func testCtrlCStopsAnImportAndKeepsSavedEntries() throws {
    let folder = folder()
    let ada = try writer(in: folder, adding: ("Work", "Plan"))
    let path = try file(lines(20_000))
    ada.type("import \(path)")
    ada.wait(for: "imported 500 of 20000")
    ada.interrupt()
    ada.wait(for: "! import stopped")
    ada.wait(for: "What was imported so far is kept; import the file again for the rest.")
    // The journal stays usable, and the next Ctrl-C quits.
    ada.type("search Entry 499")
    ada.wait(for: "1 found")
    ada.type("search Entry 19999")
    ada.wait(for: "0 found")
    ada.type("add Work: Rest")
    ada.type("search Rest")
    ada.wait(for: "? Work: Rest")
    ada.interrupt()
    XCTAssertEqual(ada.end(), 130)
    let again = try Writer(folder)
    again.type("search Rest")
    again.wait(for: "? Work: Rest")
    XCTAssertEqual(again.quit(), 0)
  }
}
