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

  func testTheFileFormatHasTheTablesOfSynchronization() throws {
    let format = try Repository.text("Documentation/FileFormat.md")
    let section = try XCTUnwrap(
      format.components(separatedBy: "## Synchronization\n").dropFirst().first?.components(separatedBy: "\n## ").first)
    let store = try Repository.text("Sources/SyncEngine/Replica/SyncTables.swift")
    try check(section, of: store, #"init\(\s*"(cipherdata_sync_\w+)",\s*"\((.+)\)"#, count: 15)
    let hub = try Repository.text("Sources/SyncHub/Storage/HubSchema.swift")
    try check(section, of: hub, #"CREATE TABLE (\w+) \(([^;]+)\)"#, count: 13)
  }

  /// Asserts that a text names each table in a source, with its columns.
  ///
  /// - Parameter pattern: Matches a table: its name, and its columns.
  private func check(_ text: String, of source: String, _ pattern: String, count: Int) throws {
    let source = source.replacingOccurrences(of: #""\s*\+ ""#, with: "", options: .regularExpression)
    let tables = try NSRegularExpression(pattern: pattern).matches(in: source, range: NSRange(source.startIndex..., in: source))
    XCTAssertEqual(tables.count, count)
    for match in tables {
      let (name, definition) = try (
        String(source[XCTUnwrap(Range(match.range(at: 1), in: source))]), String(source[XCTUnwrap(Range(match.range(at: 2), in: source))])
      )
      // The table begins a line, and ends before the next one that begins with a name.
      let lines = text.components(separatedBy: "\n")
      let start = try XCTUnwrap(lines.lastIndex { $0 == name || $0.hasPrefix("\(name) ") }, "\(name) is not described")
      let end = lines[(start + 1)...].firstIndex { $0.first?.isLetter ?? false || $0.hasPrefix("```") } ?? lines.endIndex
      let words = Set(lines[start..<end].joined(separator: " ").split { !$0.isLetter && $0 != "_" }.map(String.init))
      for column in definition.components(separatedBy: ",") {
        let column = column.split(whereSeparator: \.isWhitespace).first.map(String.init) ?? ""
        guard column.allSatisfy({ $0.isLowercase || $0 == "_" }), !column.isEmpty else { continue }
        XCTAssertTrue(words.contains(column), "the description of \(name) lacks \(column)")
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
