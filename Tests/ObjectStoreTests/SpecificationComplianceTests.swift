import Foundation
import XCTest
import _StoreSpecification
import _TestSupport

/// Every suite of the specification is listed, and every case of a suite.
final class SpecificationComplianceTests: XCTestCase {
  /// The names that follow a word in the specification's source files, by file.
  private func names(after word: String, in folder: String) throws -> [String: Set<String>] {
    let url = Fixtures.repository.appendingPathComponent("Tests/_StoreSpecification/\(folder)")
    var found: [String: Set<String>] = [:]
    for file in try FileManager.default.contentsOfDirectory(atPath: url.path) where file.contains("Specification") {
      let text = try String(contentsOf: url.appendingPathComponent(file), encoding: .utf8)
      let parts = text.components(separatedBy: word).dropFirst()
      // A suite can have further files, named after it and a facet.
      let suite = String(file.dropLast(".swift".count).prefix { $0 != "+" })
      found[suite, default: []].formUnion(parts.map { String($0.prefix { $0.isLetter || $0.isNumber }) })
    }
    return found
  }

  private func check(_ suites: [StoreSpecification.Type], folder: String) throws {
    let files = try names(after: "  func test", in: folder)
    XCTAssertEqual(Set(files.keys), Set(suites.map { "\($0)" }), "Suites.swift lists every suite of \(folder).")
    for suite in suites {
      let listed = suite.cases.map(\.name)
      XCTAssertEqual(Set(listed).count, listed.count, "\(suite) lists a case twice.")
      XCTAssertEqual(Set(listed), Set((files["\(suite)"] ?? []).map { "test" + $0 }), "\(suite) lists every case.")
    }
  }

  func testEverySuiteAndEveryCaseOfTheStoreSpecificationIsRun() throws {
    try check(StoreSpecification.storeSuites, folder: "Store")
  }

  func testEverySuiteAndEveryCaseOfTheObjectSpecificationIsRun() throws {
    try check(StoreSpecification.objectSuites, folder: "Objects")
  }

  func testEverySuiteAndEveryCaseOfTheHistorySpecificationIsRun() throws {
    try check(StoreSpecification.historySuites, folder: "History")
  }
}
