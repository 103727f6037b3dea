import CipherDataDocuments
import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import XCTest
import _TestSupport

/// Documents on one folder in two processes observe each other's saves and conflicts.
@MainActor final class DocumentProcessTests: XCTestCase {
  private var isPart: Bool { ProcessInfo.processInfo.environment[DocumentPart.role] != nil }

  func testSaveByAnotherProcessIsVisible() async throws {
    if isPart { return }
    let folder = try TemporaryFolder()
    let document = try await ManagedDocument.created(folder.file("Library.document"))
    let part = try DocumentPart("add", [document.url.path, "from the other"])
    try await document.waitUntil { try document.tagNames() == ["from the other"] }
    await part.finish()
    XCTAssertEqual(document.documentState, .normal)
    try document.close()
  }

  func testSaveIsVisibleToAnotherProcess() async throws {
    if isPart { return }
    let folder = try TemporaryFolder()
    let document = try await ManagedDocument.created(folder.file("Library.document"))
    let part = try DocumentPart("wait", [document.url.path, "from here"])
    await part.wait(for: "open")
    document.addTag("from here")
    try document.save()
    await part.finish()
    try document.close()
  }

  func testConflictWithAnotherProcessIsResolved() async throws {
    if isPart { return }
    let folder = try TemporaryFolder()
    let document = try await ManagedDocument.created(folder.file("Library.document"))
    let book = document.addBook("old")
    try document.save()
    book.title = "mine"
    let part = try DocumentPart("title", [document.url.path, "old", "theirs"])
    await document.wait(for: .inConflict)
    await part.finish()
    XCTAssertEqual(document.conflicts.first?.theirs?["title"] as? String, "theirs")
    try document.resolveConflicts(keeping: .mine)
    await (try DocumentPart("title", [document.url.path, "mine", "last"])).finish()
    await document.waitUntil { book.title == "last" }
    try document.close()
  }

  /// Runs the part of a child process that another test has started.
  func testProcessEntryPoint() async throws {
    guard let role = ProcessInfo.processInfo.environment[DocumentPart.role] else { return }
    let arguments = ProcessInfo.processInfo.environment[DocumentPart.arguments]?.components(separatedBy: "\n") ?? []
    let document = try await ManagedDocument.opened(URL(fileURLWithPath: arguments[0]))
    switch role {
    case "add":
      document.addTag(arguments[1])
    case "wait":
      DocumentPart.say("open")
      try await document.waitUntil { try document.tagNames() == [arguments[1]] }
    case "title":
      let book = try document.book()
      XCTAssertEqual(book.title, arguments[1])
      book.title = arguments[2]
    default: XCTFail("There is no part \(role).")
    }
    try document.close()
  }
}
