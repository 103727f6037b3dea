import Foundation
package import ObjectModel
package import ObjectQuery
package import _TestSupport

/// A few values of each type, including edge cases, so that equal ones occur.
package enum RandomValues {
  static let texts = [
    "", "a", "A", "ab", "Ab", "aB", "abc", "é", "e\u{301}", "É", "E", "ß", "ss", "SS", "100%", "a_b", "ab*", "a?b", "日本", "\u{1F600}",
    "z\u{0}y",
    "İ", "ſ", "Σς", "σΣ", "naïve", "NAIVE", "ﬁ", "12", "-1.5", "2001-01-01T00:00:02Z", "c\\d", "[a-b]+", "https://example.org/é", "\n",
  ]
  private static let integers: [Int64] = [0, 1, 2, 3, 4, 5, -1, -2, 7, 100, 9_007_199_254_740_993, .max, .min]
  private static let reals = [
    0, -0.0, 0.5, 1, 2, -1, 3.25, 0.1, 0.2, 0.3, 100, -2.5, 1e300, -1e300, .leastNonzeroMagnitude, 9_007_199_254_740_992, 1e18, .infinity,
    -.infinity,
  ]
  private static let decimals = [
    "0", "1", "2", "-3", "0.1", "0.3", "1.5", "19.99", "100", "0.00000000000000000001", "12345678901234567890.123456789",
  ]
  private static let uuids = (0..<5).map { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8($0 * 60))) }
  private static let uris = ["https://example.org", "https://example.org/a", "HTTPS://example.org/A", "x:y", "urn:isbn:1"].compactMap {
    URL(string: $0)
  }
  private static let blobs = [Data(), Data([0]), Data([0, 1]), Data([1]), Data([255]), Data([0x61])]

  /// Returns a stored value of an attribute's type.
  package static func slot(_ type: AttributeType, using random: inout SeededGenerator) -> Slot {
    switch type {
    case .integer16: .int([-32_768, -1, 0, 1, 2, 3, 5, 32_767].randomElement(using: &random) ?? 0)
    case .integer32: .int(Int64.random(in: -2...6, using: &random))
    case .float: .real(Double([0, 0.1, 0.5, 1, -2.5, 3, 1e30].randomElement(using: &random).map { Float($0) } ?? 0))
    case .date: .real([0, 1, 2, 2.5, -3, 86_400].randomElement(using: &random) ?? 0)
    default: constant(type, using: &random).natural?.0 ?? .null
    }
  }

  /// Returns a constant of a type.
  package static func constant(_ type: AttributeType, using random: inout SeededGenerator) -> FetchConstant {
    switch type {
    case .integer16, .integer32: .int(Int64.random(in: -2...6, using: &random))
    case .integer64: .int(integers.randomElement(using: &random) ?? 0)
    case .boolean: .bool(Bool.random(using: &random))
    case .double, .float: .real(reals.randomElement(using: &random) ?? 0)
    case .decimal:
      .decimal(decimals.randomElement(using: &random).flatMap { Decimal(string: $0, locale: Locale(identifier: "en_US_POSIX")) } ?? 0)
    case .string: .string(texts.randomElement(using: &random) ?? "")
    case .date: .date(Date(timeIntervalSinceReferenceDate: [0, 1, 2, 2.5, -3].randomElement(using: &random) ?? 0))
    case .uuid: .uuid(uuids.randomElement(using: &random) ?? UUID())
    case .uri: uris.randomElement(using: &random).map { .url($0) } ?? .null
    case .binary: .data(blobs.randomElement(using: &random) ?? Data())
    case .transformable, .undefined, .composite: .null
    }
  }
}
