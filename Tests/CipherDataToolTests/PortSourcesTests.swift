import Foundation
import XCTest

final class PortSourcesTests: XCTestCase {
  private static let source = "import CoreData\n\n@objc(Book)\nclass Book: NSManagedObject {}\nlet action = #selector(Book.open)\n"
  private static let ported =
    "import CoreData\n\n#if canImport(ObjectiveC)\n@objc(Book)\n#endif\nclass Book: NSManagedObject {}\nlet action = #selector(Book.open)\n"

  private func sources(in tool: ToolFixture) throws -> (folder: String, book: String) {
    let folder = tool.path("Sources")
    for name in ["", "/Model", "/.build"] {
      try FileManager.default.createDirectory(atPath: folder + name, withIntermediateDirectories: true)
    }
    let book = folder + "/Model/Book.swift"
    try Self.source.write(toFile: book, atomically: true, encoding: .utf8)
    try Self.source.write(toFile: folder + "/.build/Other.swift", atomically: true, encoding: .utf8)
    try "struct Plain {}\n".write(toFile: folder + "/Plain.swift", atomically: true, encoding: .utf8)
    try "@objc no source".write(toFile: folder + "/Notes.txt", atomically: true, encoding: .utf8)
    return (folder, book)
  }

  func testDifferenceIsPrintedWithoutChangingFiles() throws {
    let tool = try ToolFixture()
    let (folder, book) = try sources(in: tool)
    let run = try tool.run(["port-sources", folder], passphrase: nil)
    XCTAssertEqual(run.status, 0)
    XCTAssertTrue(
      run.output.contains(
        "--- \(book)\n+++ \(book)\n@@ -3,1 +3,3 @@\n-@objc(Book)\n+#if canImport(ObjectiveC)\n+@objc(Book)\n+#endif\n"), run.output)
    XCTAssertTrue(run.error.contains("\(book):5: note: #selector needs Objective-C"), run.error)
    XCTAssertFalse(run.output.contains(".build"), run.output)
    XCTAssertFalse(run.output.contains("Plain"), run.output)
    XCTAssertEqual(try String(contentsOfFile: book, encoding: .utf8), Self.source)
  }

  func testPropertiesAreLeftToThePluginOnRequest() throws {
    let tool = try ToolFixture()
    let book = tool.path("Book.swift")
    let property = "  @NSManaged var pages: Int32\n"
    try "import CoreData\nclass Book: NSManagedObject {\n\(property)}\n".write(toFile: book, atomically: true, encoding: .utf8)
    XCTAssertEqual(try tool.run(["port-sources", book, "--write"], passphrase: nil).output, "")
    XCTAssertEqual(try tool.run(["port-sources", book, "--leave-properties", "--write"], passphrase: nil).status, 0)
    let ported = try String(contentsOfFile: book, encoding: .utf8)
    XCTAssertTrue(ported.contains("  #if canImport(ObjectiveC) || MANAGED_IN_SOURCE\n\(property)  #endif\n"), ported)
    XCTAssertEqual(try tool.run(["port-sources", book, "--leave-properties", "--write"], passphrase: nil).output, "")
  }

  func testFilesAreChangedOnRequestAndOnlyOnce() throws {
    let tool = try ToolFixture()
    let (folder, book) = try sources(in: tool)
    XCTAssertEqual(try tool.run(["port-sources", folder, "--write"], passphrase: nil).status, 0)
    XCTAssertEqual(try String(contentsOfFile: book, encoding: .utf8), Self.ported)
    XCTAssertEqual(try String(contentsOfFile: folder + "/.build/Other.swift", encoding: .utf8), Self.source)
    let again = try tool.run(["port-sources", book, "--write"], passphrase: nil)
    XCTAssertFalse(again.output.contains("+++"), again.output)
    XCTAssertEqual(try String(contentsOfFile: book, encoding: .utf8), Self.ported)
  }

  func testMissingFoldersAreErrors() throws {
    let tool = try ToolFixture()
    XCTAssertEqual(try tool.run(["port-sources", tool.path("nowhere")], passphrase: nil).status, 66)
    XCTAssertEqual(try tool.run(["port-sources"], passphrase: nil).status, 64)
  }
}
