// JournalTests: two processes write one journal, and each sees what the other does.
import Foundation
import XCTest

final class JournalTests: XCTestCase {
  /// A process that has the journal open.
  private final class Writer {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var unread = ""

    /// - Parameter seconds: How long after a change it saves by itself.
    init(_ folder: URL, passphrase: String = "between the lines", savingAfter seconds: Int = 1) throws {
      // What is waited for in vain ends with the process.
      process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
      let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent("Journal")
      process.arguments = ["60", program.path, folder.path]
      process.environment = ProcessInfo.processInfo.environment.merging([
        "JOURNAL_PASSPHRASE": passphrase, "JOURNAL_AUTOSAVE": "\(seconds)",
      ]) { _, new in new }
      (process.standardInput, process.standardOutput, process.standardError) = (input, output, output)
      try process.run()
    }

    func type(_ line: String) { input.fileHandleForWriting.write(Data((line + "\n").utf8)) }

    /// Waits until the process has said a line, and goes on behind it. The process's end ends the waiting too.
    func wait(for line: String, file: StaticString = #filePath, at number: UInt = #line) {
      while true {
        if let found = unread.range(of: line + "\n") {
          unread.removeSubrange(unread.startIndex..<found.upperBound)
          return
        }
        let bytes = output.fileHandleForReading.availableData
        if bytes.isEmpty { return XCTFail("“\(line)” was not said. What was said last: \(unread)", file: file, line: number) }
        unread += String(decoding: bytes, as: UTF8.self)
      }
    }

    func quit() -> Int32 {
      type("quit")
      return end()
    }

    /// The process's status once it has ended.
    func end() -> Int32 {
      _ = output.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      return process.terminationStatus
    }
  }

  private func folder() -> URL {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("Journal-\(UUID().uuidString)")
    addTeardownBlock { try? FileManager.default.removeItem(at: folder) }
    return folder
  }

  func testEachListFollowsWhatTheOtherProcessSaves() throws {
    let folder = folder()
    let ada = try Writer(folder)
    ada.wait(for: "0 entries. Type help for what there is to do.")
    ada.type("add Work: Plan the week")
    ada.wait(for: "+ 0.0  Plan the week")
    ada.type("save")
    let other = try Writer(folder)
    other.wait(for: "1 entries. Type help for what there is to do.")
    // Sections and places are those of the list, on both sides.
    other.type("add Garden: Sow beans")
    other.type("save")
    ada.wait(for: "+ 0  [Garden]")
    ada.wait(for: "+ 0.0  Sow beans")
    ada.type("list")
    ada.wait(for: "── Garden (1)")
    ada.wait(for: "2  Plan the week")
    // The document saves itself: nobody types save here.
    ada.type("edit 1")
    ada.wait(for: "[Garden] Sow beans: ")
    ada.type("move Work")
    ada.type("done")
    other.wait(for: "- 0  [Garden]")
    other.wait(for: "> 0.0 0.1  Sow beans")
    other.type("remove 1")
    other.type("save")
    ada.wait(for: "- 0.0")
    XCTAssertEqual(ada.quit(), 0)
    XCTAssertEqual(other.quit(), 0)
  }

  func testASheetIsUndoneStepByStepAndTheJournalAsAWhole() throws {
    let folder = folder()
    let ada = try Writer(folder)
    ada.type("add Work: Plan")
    ada.wait(for: "+ 0.0  Plan")
    ada.type("edit 1")
    ada.type("title Plans")
    ada.wait(for: "[Work] Plans: ")
    ada.type("text for the week")
    ada.wait(for: "[Work] Plans: for the week")
    ada.type("undo")
    ada.wait(for: "[Work] Plans: ")
    ada.type("undo")
    ada.wait(for: "[Work] Plan: ")
    ada.type("redo")
    ada.wait(for: "[Work] Plans: ")
    ada.type("redo")
    ada.wait(for: "[Work] Plans: for the week")
    ada.type("done")
    ada.wait(for: "~ 0.0  Plans")
    ada.type("save")
    // What was done on the sheet is one step here, also after a save.
    ada.type("undo")
    ada.wait(for: "~ 0.0  Plan")
    ada.wait(for: "undone: edit Plans")
    ada.type("search WEEK")
    ada.wait(for: "0 found")
    ada.type("redo")
    ada.wait(for: "done again: edit Plans")
    ada.type("search WEEK")
    ada.wait(for: "? Work: Plans")
    ada.type("count")
    ada.wait(for: "4 words in 1 entries")
    ada.type("edit 1")
    ada.type("title Nothing")
    ada.type("cancel")
    ada.wait(for: "given up")
    XCTAssertEqual(ada.quit(), 0)
    let again = try Writer(folder)
    again.wait(for: "1 entries. Type help for what there is to do.")
    again.type("list")
    again.wait(for: "1  Plans")
    XCTAssertEqual(again.quit(), 0)
  }

  func testASheetLiesOverWhatOthersHaveSavedMeanwhile() throws {
    let folder = folder()
    let ada = try Writer(folder)
    ada.type("add Work: Plan")
    ada.type("save")
    ada.wait(for: "+ 0.0  Plan")
    let bob = try Writer(folder)
    bob.wait(for: "1 entries. Type help for what there is to do.")
    ada.type("edit 1")
    ada.type("title Ada's plan")
    ada.wait(for: "[Work] Ada's plan: ")
    bob.type("edit 1")
    bob.type("text Rest")
    bob.type("done")
    ada.wait(for: "~ 0.0  Plan")
    ada.type("show")
    ada.wait(for: "[Work] Ada's plan: Rest")
    ada.type("done")
    ada.wait(for: "~ 0.0  Ada's plan")
    bob.wait(for: "~ 0.0  Ada's plan")
    XCTAssertEqual(ada.quit(), 0)
    XCTAssertEqual(bob.quit(), 0)
  }

  func testWhatBothHaveChangedIsDecidedBySomebody() throws {
    for (choice, title) in [("mine", "Ada's plan"), ("theirs", "Bob's plan")] {
      let folder = folder()
      // Ada saves when she says so.
      let ada = try Writer(folder, savingAfter: 3_600)
      ada.type("add Work: Plan")
      ada.type("save")
      ada.wait(for: "+ 0.0  Plan")
      let bob = try Writer(folder)
      bob.wait(for: "1 entries. Type help for what there is to do.")
      ada.type("edit 1")
      ada.type("title Ada's plan")
      ada.type("done")
      ada.wait(for: "~ 0.0  Ada's plan")
      bob.type("edit 1")
      bob.type("title Bob's plan")
      bob.type("done")
      bob.type("save")
      ada.wait(for: "! changed here and elsewhere: Ada's plan: title")
      ada.wait(for: "! keep mine, or keep theirs?")
      ada.type("keep \(choice)")
      ada.wait(for: "kept \(choice)")
      XCTAssertEqual(ada.quit(), 0)
      XCTAssertEqual(bob.quit(), 0)
      let reader = try Writer(folder)
      reader.type("list")
      reader.wait(for: "1  \(title)")
      XCTAssertEqual(reader.quit(), 0)
    }
  }

  func testAWrongPassphraseIsSaidToBeOne() throws {
    let folder = folder()
    let ada = try Writer(folder)
    ada.wait(for: "0 entries. Type help for what there is to do.")
    XCTAssertEqual(ada.quit(), 0)
    let stranger = try Writer(folder, passphrase: "guessed")
    XCTAssertEqual(stranger.end(), 1)
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
    XCTAssertFalse(files.isEmpty)
  }
}
