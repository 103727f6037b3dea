import Foundation
import XCTest

/// References in the documents resolve.
final class DocumentTests: XCTestCase {
  private static let documents =
    ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"] + Repository.files(in: "Documentation").filter { $0.hasSuffix(".md") }

  func testFileLinksResolve() throws {
    for document in Self.documents {
      let folder = document.split(separator: "/").dropLast().joined(separator: "/")
      for part in try Repository.text(document).split(separator: "](").dropFirst() {
        let target = part.prefix { $0 != ")" && $0 != "#" }
        if target.isEmpty || target.contains("://") { continue }
        let path = folder.isEmpty ? String(target) : "\(folder)/\(target)"
        XCTAssertTrue(Repository.exists(path), "\(document) links to \(target), which is not there")
      }
    }
  }

  func testFilesNamedAsCodeExist() throws {
    let folders = ["Scripts/", "Sources/", "Tests/", "Schemas/", "Documentation/", "Plugins/", "Benchmarks/", "Examples/"]
    for document in Self.documents {
      // Parts with odd indexes are between backquotes.
      for (index, part) in try Repository.text(document).split(separator: "`", omittingEmptySubsequences: false).enumerated()
      where index % 2 == 1 {
        guard folders.contains(where: part.hasPrefix), !part.contains(where: { " *<\n".contains($0) }) else { continue }
        XCTAssertTrue(Repository.exists(String(part)), "\(document) names \(part), which is not there")
      }
    }
  }

  func testSecurityGuaranteesNameExistingTests() throws {
    let document = try Repository.text("Documentation/Security.md")
    let section = try XCTUnwrap(
      document.components(separatedBy: "## Guarantees").dropFirst().first?.components(separatedBy: "\n## ").first)
    let lines = section.split(separator: "\n").filter { $0.first?.isNumber == true }
    XCTAssertEqual(lines.count, 9)
    let sources = try Repository.swiftFiles(in: "Tests").map { try Repository.text($0) }
    for line in lines {
      // Parts with odd indexes are between backquotes.
      let code = line.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
      let tests = code.filter { $0.prefix { $0 != "." }.hasSuffix("Tests") }
      XCTAssertFalse(tests.isEmpty, "no test is named: \(line)")
      for test in tests {
        let parts = test.split(separator: ".")
        let holders = sources.filter { $0.contains("class \(parts[0]): ") }
        XCTAssertFalse(holders.isEmpty, "\(parts[0]) is not there")
        if parts.count > 1 { XCTAssertTrue(holders.contains { $0.contains("func \(parts[1])(") }, "\(test) is not there") }
      }
    }
  }
}
