import CipherDataToolKit
import Foundation
import ObjectModel
import XCTest

/// Dates, decimals and other values as text.
final class ValueTests: XCTestCase {
  func testInstantsKeepEveryBit() {
    var seed: UInt64 = 42
    func next() -> Double {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Double(seed >> 11) / Double(1 << 53)
    }
    var values: [Double] = [0, 0.1, -0.1, 1e-9, -1e-9, 0.999_999_999_9, 63_113_904_000, -63_113_904_000.5, 7e8 + 0.123_456_7]
    for exponent in -6...11 { values += (0..<50).map { _ in (next() - 0.5) * pow(10, Double(exponent)) } }
    for value in values {
      let json = ValueCoding.json(.real(value), type: .date)
      // Only fractions smaller than 10⁻¹⁸ of a second near the reference date have no text.
      if abs(value) > 1 { XCTAssertFalse(json.isNumber, "\(value)") }
      XCTAssertEqual(try ValueCoding.slot(json, type: .date), .real(value), json.serialized())
    }
  }

  func testInstantsAreISO8601() {
    let cases: [(String, TimeInterval)] = [
      ("2001-01-01T00:00:00Z", 0), ("1970-01-01T00:00:00Z", -978_307_200), ("2000-02-29T23:59:59.5Z", -26_438_400.5),
      ("1600-03-01T00:00:00Z", -12_649_219_200),
      ("-000001-12-31T00:00:00Z", -63_145_612_800), ("+012345-06-07T08:09:10Z", 326_426_184_550),
    ]
    for (text, seconds) in cases {
      guard let read = InstantText.seconds(text) else { return XCTFail(text) }
      XCTAssertEqual(InstantText.text(read), text)
      if !text.hasPrefix("+"), !text.hasPrefix("-") { XCTAssertEqual(read, seconds, text) }
    }
    XCTAssertEqual(InstantText.seconds("2024-05-06T07:08:09+02:00"), InstantText.seconds("2024-05-06T05:08:09Z"))
    XCTAssertEqual(InstantText.seconds("2024-05-06"), InstantText.seconds("2024-05-06T00:00Z"))
    for text in ["", "2024", "2024-13-01", "2023-02-29", "2024-01-01T25:00Z", "2024-01-01T00:00:00", "2024-01-01T00:00Zx", "24-01-01"] {
      XCTAssertNil(InstantText.seconds(text), text)
    }
    XCTAssertNil(InstantText.text(.nan))
    XCTAssertNil(InstantText.text(1e16))
  }

  func testFoundationAgreesOnDates() throws {
    let style = Date.ISO8601FormatStyle()
    // Foundation uses the Julian calendar before 1582.
    for day in stride(from: -146_000, through: 400_000, by: 997) {
      let seconds = Double(day) * 86_400 + 3_661
      let text = try XCTUnwrap(InstantText.text(seconds))
      XCTAssertEqual(text, Date(timeIntervalSinceReferenceDate: seconds).formatted(style))
    }
  }

  func testDecimalsAreExactOrRejected() throws {
    for text in [
      "0", "1.5", "-0.000000000000000000000000000001", "12345678901234567890123456789012345678", "1e100",
      "100000000000000000000000000000000000000000",
    ] {
      let slot = try ValueCoding.slot(.string(text), type: .decimal)
      XCTAssertEqual(try ValueCoding.slot(.number(text), type: .decimal), slot)
      guard case .string(let written) = ValueCoding.json(slot, type: .decimal) else { return XCTFail(text) }
      XCTAssertEqual(try ValueCoding.slot(.string(written), type: .decimal), slot, text)
    }
    for text in ["", "1,5", "0x1", "123456789012345678901234567890123456789", "1e300", "1e-300", " 1"] {
      XCTAssertThrowsError(try ValueCoding.slot(.string(text), type: .decimal), text)
    }
  }

  func testNonFiniteNumbersAreCodedAsText() throws {
    for value in [Double.infinity, -.infinity] {
      XCTAssertEqual(try ValueCoding.slot(ValueCoding.json(.real(value), type: .double), type: .double), .real(value))
    }
    guard case .real(let value) = try ValueCoding.slot(ValueCoding.json(.real(.nan), type: .date), type: .date) else {
      return XCTFail("no number")
    }
    XCTAssertTrue(value.isNaN)
    XCTAssertThrowsError(try ValueCoding.slot(.number("1e400"), type: .double))
    XCTAssertThrowsError(try ValueCoding.slot(.string("1"), type: .double))
    XCTAssertEqual(ValueCoding.json(.real(Double(Float(0.1))), type: .float), .number("0.1"))
  }

  func testCellsShowBytesAsHexadecimalDigits() {
    XCTAssertEqual(ValueCoding.cell(.bytes(Data([0, 255])), type: .binary), .string("00ff"))
    XCTAssertEqual(ValueCoding.json(.bytes(Data([0, 255])), type: .binary), .string("AP8="))
  }
}
