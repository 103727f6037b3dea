// What the documents refer to exists.
import XCTest

final class DocumentTests: XCTestCase {
  private static let documents =
    ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"] + Repository.files(in: "Documentation").filter { $0.hasSuffix(".md") }

  func testEveryLinkToAFileLeadsSomewhere() throws {
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

  func testEveryFileThatIsNamedAsCodeExists() throws {
    let folders = ["Scripts/", "Sources/", "Tests/", "Schemas/", "Documentation/", "Plugins/", "Benchmarks/", "Examples/"]
    for document in Self.documents {
      // Odd parts stand between backquotes.
      for (index, part) in try Repository.text(document).split(separator: "`", omittingEmptySubsequences: false).enumerated()
      where index % 2 == 1 {
        guard folders.contains(where: part.hasPrefix), !part.contains(where: { " *<\n".contains($0) }) else { continue }
        XCTAssertTrue(Repository.exists(String(part)), "\(document) names \(part), which is not there")
      }
    }
  }
}
