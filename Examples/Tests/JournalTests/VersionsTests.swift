import CipherData
import CipherDataDocuments
import Foundation
import XCTest

@testable import Journal

/// A journal of the application's first version opens in the current one.
final class VersionsTests: JournalTestCase {
  /// Makes a journal as the first version did.
  @MainActor private static func makeFirstJournal(_ folder: URL, titles: [String]) async throws {
    let document = try ManagedDocument(url: folder, model: try JournalModel.Versions.journal.resolvedModel) {
      $0.key = .passphrase(Writer.passphrase)
    }
    try await document.save(to: folder, for: .creating)
    let context = document.managedObjectContext
    let notebook = try context.insertObject(entityName: "Notebook")
    notebook["name"] = "Work"
    for (index, title) in titles.enumerated() {
      let entry = try context.insertObject(entityName: "Entry")
      entry["title"] = title
      entry["text"] = "text of \(title)"
      entry["written"] = Date(timeIntervalSince1970: Double(index))
      entry["notebook"] = notebook
    }
    try document.close()
  }

  func testJournalOfTheFirstVersionMigratesMarksToPins() async throws {
    let folder = folder()
    try await Self.makeFirstJournal(folder, titles: ["Plan", "! Pay the rent", "!", "Wow!"])
    let ada = try reader(of: folder, finding: 4)
    ada.type("list")
    ada.wait(for: "1  * Pay the rent\n2  Plan\n3  !\n4  Wow!")
    ada.type("search text of ! pay")
    ada.wait(for: "? Work: Pay the rent")
    XCTAssertEqual(ada.quit(), 0)
    XCTAssertEqual(try reader(of: folder, finding: 4).quit(), 0)
  }
}
