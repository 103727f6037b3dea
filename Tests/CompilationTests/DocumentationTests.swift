// The Swift code of the README and of the articles compiles, as it stands there.
import Foundation
import XCTest

/// All blocks of Swift code of one text, one after the other, are one program, beside the classes generated for the model of `Examples/Sources/Quickstart`.
final class DocumentationTests: XCTestCase {
  func testTheCodeOfTheReadmeCompiles() throws { try check("README.md") }

  func testTheCodeOfTheMigrationDocumentCompiles() throws { try check("Documentation/Migration.md") }

  func testTheCodeOfTheDocumentAboutOptionsCompiles() throws { try check("Documentation/StoreOptions.md") }

  func testTheCodeOfTheArticlesCompiles() throws {
    let folder = "Sources/CipherData/CipherData.docc"
    let names = try FileManager.default.contentsOfDirectory(atPath: Compiler.root.appendingPathComponent(folder).path)
    for name in names.sorted() where name.hasSuffix(".md") { try check("\(folder)/\(name)") }
  }

  private func check(_ path: String) throws {
    let text = try String(contentsOf: Compiler.root.appendingPathComponent(path), encoding: .utf8)
    var program = ""
    var isCode = false
    // Other lines become empty ones, so that diagnostics have the text's own line numbers.
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        isCode = line == "```swift"
        program += "\n"
      } else {
        program += (isCode ? line : "") + "\n"
      }
    }
    guard program.contains(where: { !$0.isWhitespace }) else { return }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("documentation-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let main = folder.appendingPathComponent("main.swift")
    try program.write(to: main, atomically: true, encoding: .utf8)
    try Fixture.withLibraryClasses { library in
      let (status, diagnostics) = try Compiler().check([main, library])
      XCTAssertTrue(status == 0 && diagnostics.isEmpty, "\(path):\n" + diagnostics.joined(separator: "\n"))
    }
  }
}
