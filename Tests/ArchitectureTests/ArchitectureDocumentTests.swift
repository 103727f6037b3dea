// The document of the architecture names files that exist, and draws the floors as the modules do.
import XCTest

final class ArchitectureDocumentTests: XCTestCase {
  private static let document = "Documentation/Architecture.md"
  /// From the bottom up.
  private static let modules = [
    "ObjectModel", "ObjectQuery", "ObjectStore", "StoreKeys", "StoreFiles", "SQLCipherConnection", "SQLCipherStore", "ObjectContext",
    "CoreDataImport",
    "ModelCodeGeneration",
  ]

  func testEveryFileThatTheWalksNameIsThere() throws {
    let files = Set(Repository.sources.compactMap { $0.file.split(separator: "/").last.map(String.init) })
    var count = 0
    // Odd parts stand between backquotes.
    for (index, part) in try Repository.text(Self.document).split(separator: "`", omittingEmptySubsequences: false).enumerated()
    where index % 2 == 1 && part.hasSuffix(".swift") {
      XCTAssertTrue(files.contains(String(part)), "\(Self.document) names \(part), which is not there")
      count += 1
    }
    XCTAssertGreaterThan(count, 40)
  }

  func testTheFloorsAreDrawnAsTheModulesDraw() throws {
    let text = try Repository.text(Self.document)
    let begin = try XCTUnwrap(text.firstRange(of: "<!-- floors -->\n"))
    let end = try XCTUnwrap(text.firstRange(of: "<!-- end of the floors -->"))
    let drawn = try Self.modules.compactMap(Self.floors).joined()
    if Repository.updatesPinnedLists {
      return try Repository.write(String(text[..<begin.upperBound]) + drawn + text[end.lowerBound...], to: Self.document)
    }
    XCTAssertEqual(String(text[begin.upperBound..<end.lowerBound]), drawn, "run Scripts/api-baseline")
  }

  /// What a module's first file says of its floors; nil where it says nothing.
  private static func floors(of module: String) throws -> String? {
    let file = "Sources/\(module)/\(module).swift"
    guard Repository.exists(file) else { return nil }
    let comment = try Repository.text(file).split(separator: "\n", omittingEmptySubsequences: false).prefix { $0.hasPrefix("//") }
      .map { String($0.dropFirst(2)) }
    guard let title = comment.first?.firstRange(of: ": "),
      let heading = comment.firstIndex(where: { $0.contains("floors, from the bottom up") })
    else { return nil }
    let lines = comment[(heading + 1)...].drop { $0.isEmpty }.prefix { !$0.isEmpty }.map { String($0.dropFirst(3)) }
    return "**`\(module)`**: \(comment[0][title.upperBound...])\n\n```text\n" + lines.joined(separator: "\n") + "\n```\n\n"
  }
}
