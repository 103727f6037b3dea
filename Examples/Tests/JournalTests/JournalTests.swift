import Foundation
import XCTest

/// Two processes write to one journal, and each observes the other's changes.
final class JournalTests: JournalTestCase {
  func testListsUpdateWithSavesOfTheOtherProcess() throws {
    let folder = folder()
    let ada = try writer(in: folder, adding: ("Work", "Plan the week"))
    let other = try reader(of: folder, finding: 1)
    // Sections and positions are those of the list, on both sides.
    other.type("add Garden: Sow beans")
    other.type("save")
    ada.wait(for: "+ 0  [Garden]")
    ada.wait(for: "+ 0.0  Sow beans")
    ada.type("list")
    ada.wait(for: "── Garden (1)")
    ada.wait(for: "2  Plan the week")
    // The document saves automatically.
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

  func testSheetIsUndoneStepByStepAndJournalAsAWhole() throws {
    let folder = folder()
    let ada = try writer(in: folder, adding: ("Work", "Plan"))
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
    // The draft's changes are one undo step here, also after a save.
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
    let again = try reader(of: folder, finding: 1)
    again.type("list")
    again.wait(for: "1  Plans")
    XCTAssertEqual(again.quit(), 0)
  }

  func testSheetKeepsItsChangesOverConcurrentSaves() throws {
    let folder = folder()
    let ada = try writer(in: folder, adding: ("Work", "Plan"))
    let bob = try reader(of: folder, finding: 1)
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

  func testConflictsAreResolvedByTheUser() throws {
    for (choice, title) in [("mine", "Ada's plan"), ("theirs", "Bob's plan")] {
      let folder = folder()
      // Ada saves explicitly.
      let ada = try writer(in: folder, adding: ("Work", "Plan"), savingAfter: 3_600)
      let bob = try reader(of: folder, finding: 1)
      ada.type("keep \(choice)")
      ada.wait(for: "! There are no conflicts.")
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
      let later = try reader(of: folder, finding: 1)
      later.type("list")
      later.wait(for: "1  \(title)")
      XCTAssertEqual(later.quit(), 0)
    }
  }

  func testWrongPassphraseIsReported() throws {
    let folder = folder()
    XCTAssertEqual(try writer(in: folder, adding: ("Work", "Plan")).quit(), 0)
    let stranger = try Writer(folder, passphrase: "guessed")
    stranger.wait(for: "Journal: That is not the passphrase of this journal. Nothing was changed.")
    XCTAssertEqual(stranger.end(), 77)
    XCTAssertEqual(try reader(of: folder, finding: 1).quit(), 0)
  }

  func testAWrongCommandEndsWithAUsageMessage() throws {
    let folder = folder()
    XCTAssertEqual(try writer(in: folder, adding: ("Work", "Plan")).quit(), 0)
    for (command, message, status) in [
      (["add"], "! add NOTEBOOK: TITLE", 64), (["add", "Work:"], "! add NOTEBOOK: TITLE", 64),
      (["print"], "! There is no command print.", 64),
      (["edit"], "! Which entry? Give its number; list shows them.", 64), (["import"], "! import FILE", 64),
      (["keep"], "! keep mine, or keep theirs?", 64), (["remove", "7"], "! There is no entry 7; list shows them.", 1),
      (["help"], "undo, redo, keep mine|theirs, save, quit;", 0),
    ] as [([String], String, Int32)] {
      let process = try Writer(folder, doing: command)
      process.wait(for: message)
      XCTAssertEqual(process.end(), status, "\(command)")
    }
  }

  func testSearchFindsTitlesAndTexts() throws {
    let ada = try writer(in: folder(), adding: ("Garden", "Sow beans"))
    ada.type("add Work: Plan")
    ada.type("edit 2")
    ada.wait(for: "[Work] Plan: ")
    ada.type("text Who eats the BEANS?")
    ada.type("done")
    ada.type("search beans")
    ada.wait(for: "? Work: Plan")
    ada.wait(for: "? Garden: Sow beans")
    ada.wait(for: "2 found")
    XCTAssertEqual(ada.quit(), 0)
  }

  func testPinnedEntriesComeFirstInTheirNotebook() throws {
    let ada = try writer(in: folder(), adding: ("Work", "Plan"))
    ada.type("add Work: Rest")
    ada.type("pin 2")
    ada.wait(for: "> 0.1 0.0  Rest")
    ada.type("list")
    ada.wait(for: "1  * Rest")
    ada.wait(for: "2  Plan")
    ada.type("redo")
    ada.wait(for: "! There is nothing to do again.")
    ada.type("undo")
    ada.wait(for: "undone: pin Rest")
    ada.type("undo")
    ada.wait(for: "undone: add Rest")
    ada.type("undo")
    ada.wait(for: "undone: add Plan")
    ada.type("undo")
    ada.wait(for: "! There is nothing to undo.")
    XCTAssertEqual(ada.quit(), 0)
  }
}
