import Foundation
import XCTest

/// Wrong use of a macro is a compiler error at its location that states what to do.
final class MacroErrorTests: XCTestCase {
  private static let fixture = MacroCompiler.fixtures.appendingPathComponent("Mistakes.swift.txt")

  /// Every line of the fixture that ends in `// ERROR:` is rejected with each of the bar-separated texts there. `// INSIDE:` marks an error
  /// in the code that the macro generated for the line's type. Consequential errors are ignored.
  func testEveryErrorIsReportedAtItsLocation() throws {
    let source = try String(contentsOf: Self.fixture, encoding: .utf8)
    let output = try MacroCompiler(for: Self.self).check(source, named: "Mistakes", flags: ["-typecheck", "-swift-version", "6"])
    var errors: [Int: [String]] = [:]
    var inside: [String] = []
    for line in output.split(separator: "\n").map(String.init) where line.first != " " && line.contains("error: ") {
      guard let place = line.firstMatch(of: /Mistakes\.swift:([0-9]+):[0-9]+: error: (.*)/), let number = Int(place.1) else {
        inside.append(line)
        continue
      }
      errors[number, default: []].append(String(place.2))
    }
    var count = 0
    for (index, line) in source.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let found = errors[index + 1] ?? []
      if let marked = line.range(of: "// ERROR: ") {
        for text in line[marked.upperBound...].split(separator: "|").map({ $0.trimmingCharacters(in: .whitespaces) }) {
          count += 1
          XCTAssertTrue(found.contains { $0.contains(text) }, "line \(index + 1) is not refused for '\(text)', but for \(found)")
        }
      } else if let marked = line.range(of: "// INSIDE: ") {
        count += 1
        let text = line[marked.upperBound...]
        XCTAssertTrue((inside + found).contains { $0.contains(text) }, "no error says '\(text)'; those inside say \(inside)")
      }
    }
    XCTAssertEqual(count, 61)
  }
}
