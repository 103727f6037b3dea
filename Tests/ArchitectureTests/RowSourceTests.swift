import Foundation
import XCTest

/// Contexts read rows only through the row source: no other code in ObjectContext accesses coordinators, stores or row caches.
final class RowSourceTests: XCTestCase {
  /// Where coordinators and stores may be accessed: the row source, containers, which open stores, and migrations, which have two
  /// coordinators of their own.
  private static let exempt = ["Rows/", "Container/", "Migration/"].map { "Sources/ObjectContext/\($0)" }
  /// The members of a coordinator that any file may use: they do not depend on the source of rows.
  private static let allowed: Set<String> = ["compiledModel", "temporarySpace"]
  /// The members that lead from an open store to rows.
  private static let words = ["incrementalStore", "cache", "RowCache", "addObserver"]

  /// The lines of a file that bypass the row source.
  private func places(_ text: SwiftText) -> [String] {
    var found: [String] = []
    for word in Self.words { found += text.lines(containing: word).map { "\($0 + 1): \(word)" } }
    for (number, line) in text.code.enumerated() {
      for range in line.ranges(of: "oordinator.") + line.ranges(of: "oordinator?.") {
        let name = String(line[range.upperBound...].prefix { $0.isLetter || $0.isNumber })
        if !Self.allowed.contains(name) { found.append("\(number + 1): coordinator.\(name)") }
      }
    }
    return found
  }

  func testOnlyTheRowSourceQueriesCoordinatorsAndStores() {
    for (file, text) in Repository.sources where file.hasPrefix("Sources/ObjectContext/") {
      if Self.exempt.contains(where: file.hasPrefix) { continue }
      for place in places(text) { XCTFail("\(file):\(place): ask the context's row source instead") }
    }
  }

  func testRowSourceQueriesCoordinatorsAndStores() {
    let text = Repository.sources.first { $0.file == "Sources/ObjectContext/Rows/RowSource.swift" }?.text
    XCTAssertGreaterThan(text.map { places($0).count } ?? 0, 20, "the row source has moved, or this test sees nothing any more")
  }
}
