import Foundation
import XCTest
import _TestSupport

@testable import ObjectModel

/// Decimals as bytes: exact, and in numeric order.
final class DecimalCodingTests: XCTestCase {
  private func decimal(_ text: String) -> Decimal { Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")) ?? .nan }

  private func randomDecimal(_ random: inout SeededGenerator, exponents: ClosedRange<Int>) -> Decimal {
    let count = Int.random(in: 1...38, using: &random)
    let digits = (0..<count).map { _ in String(Int.random(in: 0...9, using: &random)) }.joined()
    let exponent = Int.random(in: exponents, using: &random)
    return decimal((Bool.random(using: &random) ? "-" : "") + digits + "e\(exponent)")
  }

  func testKnownNumbersRoundTrip() {
    let texts = [
      "0", "1", "-1", "10", "100", "0.1", "0.01", "-0.001", "12", "120", "1.20", "99", "100.5", "3.14159265358979323846264338327950288",
      "12345678901234567890123456789012345678", "-12345678901234567890123456789012345678", "340282366920938463463374607431768211455",
      "1e127", "1e-128", "-1e127", "123e100", "1e100", "9e-128", "340282366920938463463374607431768211455e127",
      "10e127", "-100e127", "1234567890123456000e127", "-90000000000000000000000000000000000000e127",
      "340282366920938463463374607431768211450e127",
    ]
    for text in texts {
      let value = decimal(text)
      XCTAssertFalse(value.isNaN, text)
      let decoded = DecimalCoding.decode(DecimalCoding.encode(value))
      XCTAssertEqual(decoded, value, text)
      XCTAssertEqual(decoded.map { DecimalCoding.encode($0) }, DecimalCoding.encode(value), text)
    }
    XCTAssertEqual(DecimalCoding.decode(DecimalCoding.encode(.nan))?.isNaN, true)
  }

  func testEqualNumbersHaveOneCoding() {
    XCTAssertEqual(DecimalCoding.encode(decimal("1.50")), DecimalCoding.encode(decimal("1.5")))
    XCTAssertEqual(DecimalCoding.encode(Decimal(sign: .plus, exponent: 2, significand: 1)), DecimalCoding.encode(100))
    XCTAssertEqual(DecimalCoding.encode(Decimal(sign: .plus, exponent: -2, significand: 1500)), DecimalCoding.encode(15))
    XCTAssertEqual(DecimalCoding.encode(Decimal(sign: .minus, exponent: 0, significand: 0)), DecimalCoding.encode(0))
  }

  func testADoubleIsCodedAsTheShortestDecimalThatReadsBackAsIt() {
    var random = SeededGenerator(seed: 5)
    var doubles: [Double] = [0, -0.0, 1, 0.1, 123456.789, 1e16, 1e15, 1e127, -1e127, 1e-110, 1e-128, 120, 0.001]
    for _ in 0..<2_000 {
      doubles.append(Double(bitPattern: UInt64.random(in: 0...UInt64.max, using: &random)))
      doubles.append(Double.random(in: -1000...1000, using: &random))
      doubles.append((Double.random(in: -1e6...1e6, using: &random) * 1000).rounded() / 1000)
    }
    for value in doubles where value.isFinite {
      let coding = DecimalCoding.encode(shortest: value)
      let read = Decimal(string: value.description, locale: Locale(identifier: "en_US_POSIX"))
      if let read, !read.isNaN, Double(read.description) == value { XCTAssertEqual(coding, DecimalCoding.encode(read), "\(value)") }
      if let decimal = DecimalCoding.decimal(shortest: value) {
        XCTAssertEqual(Double(decimal.description), value)
        XCTAssertEqual(DecimalCoding.encode(decimal), coding, "\(value)")
      } else {
        XCTAssertTrue(value.magnitude < 1e-110 || value.magnitude > 3.4e165, "\(value)")
      }
    }
    for value in [Double.nan, .infinity, -.infinity] { XCTAssertNil(DecimalCoding.encode(shortest: value)) }
    // Codings are in the order of the numbers, also of those that decimals do not hold.
    let sorted = doubles.filter(\.isFinite).sorted()
    for (left, right) in zip(sorted, sorted.dropFirst()) where left < right {
      XCTAssertEqual(DecimalCoding.encode(shortest: left)?.lexicographicallyPrecedes(DecimalCoding.encode(shortest: right) ?? Data()), true)
    }
  }

  func testLargeNumbersWithTrailingZerosRoundTrip() {
    var random = SeededGenerator(seed: 6)
    for count in 1...38 {
      for zeros in 0...(38 - count) {
        let digits =
          String(Int.random(in: 1...9, using: &random)) + (1..<count).map { _ in String(Int.random(in: 0...9, using: &random)) }.joined()
        for sign in ["", "-"] {
          let value = decimal(sign + digits + String(repeating: "0", count: zeros) + "e127")
          XCTAssertFalse(value.isNaN)
          XCTAssertEqual(DecimalCoding.decode(DecimalCoding.encode(value)), value, "\(value)")
          XCTAssertTrue(DecimalCoding.isCoding(DecimalCoding.encode(value)))
        }
      }
    }
  }

  func testRandomNumbersRoundTripExactly() {
    var random = SeededGenerator(seed: 1)
    for _ in 0..<3_000 {
      let value = randomDecimal(&random, exponents: -90...80)
      guard !value.isNaN else { continue }
      XCTAssertEqual(DecimalCoding.decode(DecimalCoding.encode(value)), value, "\(value)")
    }
  }

  func testByteOrderMatchesNumericOrder() {
    var random = SeededGenerator(seed: 2)
    for exponents in [-3...3, -40...40] {
      var values = (0..<400).map { _ in randomDecimal(&random, exponents: exponents) }.filter { !$0.isNaN }
      values += ["0", "1", "1.0000000000000001", "0.9999999999999999", "-1", "-1.1", "-1.10000001", "10", "-10", "0.1", "-0.1"].map(decimal)
      let coded = values.map { (value: $0, bytes: DecimalCoding.encode($0)) }
      for (a, b) in zip(coded, coded.shuffled(using: &random)) {
        XCTAssertEqual(a.bytes.lexicographicallyPrecedes(b.bytes), a.value < b.value, "\(a.value) \(b.value)")
        XCTAssertEqual(a.bytes == b.bytes, a.value == b.value, "\(a.value) \(b.value)")
      }
      let sorted = coded.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }.map(\.value)
      XCTAssertEqual(sorted, values.sorted())
    }
  }

  func testInvalidDecimalBytesAreRejected() {
    let hostile: [[UInt8]] = [
      [], [1], [3], [4], [2, 0], [0, 0], [3, 128], [3, 128, 1], [3, 128, 1, 0], [3, 128, 1, 101], [3, 128, 1, 255], [1, 127, 254, 0, 0],
      [3, 0, 0, 2], [3, 255, 255, 2], [3, 255, 255] + [UInt8](repeating: 100, count: 1_000),
    ]
    for bytes in hostile { XCTAssertNil(DecimalCoding.decode(Data(bytes)), "\(bytes.prefix(8))") }
    var random = SeededGenerator(seed: 3)
    for _ in 0..<5_000 {
      var bytes = (0..<Int.random(in: 0...25, using: &random)).map { _ in UInt8.random(in: 0...103, using: &random) }
      bytes.insert(contentsOf: [3, UInt8.random(in: 127...128, using: &random), UInt8.random(in: 0...255, using: &random)], at: 0)
      if Bool.random(using: &random) {
        bytes = [1] + bytes.dropFirst().map { ~$0 } + [0xFF]
      }
      // Only the canonical encoding is decoded; otherwise equal values could have different rows.
      if let value = DecimalCoding.decode(Data(bytes)) { XCTAssertEqual(DecimalCoding.encode(value), Data(bytes), "\(bytes)") }
    }
  }

  func testDataSlicesAreRead() {
    let data = Data([9, 9]) + DecimalCoding.encode(decimal("-12.5")) + Data([9])
    XCTAssertEqual(DecimalCoding.decode(data[2..<(data.count - 1)]), decimal("-12.5"))
  }
}
