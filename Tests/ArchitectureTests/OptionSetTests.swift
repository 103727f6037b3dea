import Foundation
import XCTest

/// The options of each set have distinct bits.
final class OptionSetTests: XCTestCase {
  /// The raw values of the options of a file's sets, by type.
  private func rawValues(_ text: SwiftText) -> [String: [UInt64]] {
    var values: [String: [UInt64]] = [:]
    let pattern = /static (?:package |public )?let \w+ = (\w+)\(rawValue: (1 << (\d+)|[0-9_]+)\)/
    for line in text.code {
      guard let match = line.firstMatch(of: pattern) else { continue }
      let literal = match.2.replacing("_", with: "")
      let value = match.3.flatMap { UInt64($0) }.map { 1 << $0 } ?? UInt64(literal)
      if let value { values[String(match.1), default: []].append(value) }
    }
    return values
  }

  func testOptionsHaveDistinctBits() {
    var count = 0
    for (file, text) in Repository.sources where text.code.contains(where: { $0.contains("OptionSet") }) {
      for (type, values) in rawValues(text) {
        count += values.count
        XCTAssertEqual(values.reduce(0, |).nonzeroBitCount, values.count, "\(type) in \(file) has options that share a bit, or have none")
      }
    }
    XCTAssertGreaterThan(count, 30, "this test does not see the options")
  }
}
