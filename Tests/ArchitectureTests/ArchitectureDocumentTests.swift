import XCTest

/// The architecture document names existing files, and shows the same layers as the modules.
final class ArchitectureDocumentTests: XCTestCase {
  private static let document = ArchitectureDocument.path

  func testFilesNamedInTheArchitectureDocumentExist() throws {
    let files = Set(Repository.sources.compactMap { $0.file.split(separator: "/").last.map(String.init) })
    var count = 0
    // Parts with odd indexes are between backquotes.
    for (index, part) in try Repository.text(Self.document).split(separator: "`", omittingEmptySubsequences: false).enumerated()
    where index % 2 == 1 && part.hasSuffix(".swift") {
      XCTAssertTrue(files.contains(String(part)), "\(Self.document) names \(part), which is not there")
      count += 1
    }
    XCTAssertGreaterThan(count, 40)
  }

  func testArchitectureDocumentDrawsTheLayersOfTheModules() throws {
    XCTAssertEqual(try Repository.text(Self.document), try ArchitectureDocument.redrawn(), "run Scripts/api-baseline")
  }
}
