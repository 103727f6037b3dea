import Foundation
import XCTest

@_spi(Generated) @testable import ObjectModel

/// Attribute values: validation, slots, and transformers.
final class AttributeValueTests: XCTestCase {
  private func failure(_ attribute: Attribute, _ slot: Slot) -> AttributeFailure? {
    AttributeChecker(ManagedObjectModel { Entity("E") { attribute } }.entities[0].attributes[0]).failure(of: slot)
  }

  func testOnlyRequiredValuesMustBePresent() {
    XCTAssertEqual(failure(Attribute("a", .string).required(), .null), .missing)
    XCTAssertNil(failure(Attribute("a", .string).length(5...), .null))
    XCTAssertNil(failure(Attribute("a", .string).required(), .text("")))
  }

  func testIntegersMustFitTheirWidth() {
    for (type, least, most) in [
      (AttributeType.integer16, Int64(Int16.min), Int64(Int16.max)), (.integer32, Int64(Int32.min), Int64(Int32.max)),
    ] {
      XCTAssertNil(failure(Attribute("a", type), .int(least)))
      XCTAssertNil(failure(Attribute("a", type), .int(most)))
      XCTAssertEqual(failure(Attribute("a", type), .int(least - 1)), .integerOutOfRange)
      XCTAssertEqual(failure(Attribute("a", type), .int(most + 1)), .integerOutOfRange)
    }
    XCTAssertNil(failure(Attribute("a", .integer64), .int(.min)))
  }

  func testValuesMustBeOfTheType() {
    XCTAssertEqual(failure(Attribute("a", .string), .int(1)), .wrongType)
    XCTAssertEqual(failure(Attribute("a", .boolean), .int(2)), .wrongType)
    XCTAssertEqual(failure(Attribute("a", .uuid), .bytes(Data(count: 15))), .wrongType)
    XCTAssertEqual(failure(Attribute("a", .decimal), .bytes(Data([9]))), .wrongType)
    XCTAssertEqual(failure(Attribute("a", .date), .int(0)), .wrongType)
    XCTAssertNil(failure(Attribute("a", .undefined).transient(), .text("anything")))
  }

  func testBoundsAreInclusive() {
    let number = Attribute("a", .integer32).range(-1...5)
    XCTAssertEqual([-2, -1, 5, 6].map { failure(number, .int($0)) }, [.numberTooSmall, nil, nil, .numberTooLarge])
    let real = Attribute("a", .double).range(0.5...1)
    XCTAssertEqual(
      [0.4, 0.5, 1, 1.1, .nan].map { failure(real, .real($0)) }, [.numberTooSmall, nil, nil, .numberTooLarge, .notANumber])
    let decimal = Attribute("a", .decimal).range(Decimal(-1)...Decimal(10))
    XCTAssertEqual(
      ["-1.0001", "-1", "9.99", "10", "10.01"].map { failure(decimal, Decimal(string: $0)!.slot) },
      [.numberTooSmall, nil, nil, nil, .numberTooLarge])
    let date = Attribute("a", .date).range(Date(timeIntervalSinceReferenceDate: 0)...Date(timeIntervalSinceReferenceDate: 10))
    XCTAssertEqual([-1, 0, 10, 11].map { failure(date, .real($0)) }, [.dateTooEarly, nil, nil, .dateTooLate])
  }

  func testLengthsCountCharacters() {
    let attribute = Attribute("a", .string).length(2...3)
    XCTAssertEqual(["a", "ab", "abc", "abcd"].map { failure(attribute, .text($0)) }, [.stringTooShort, nil, nil, .stringTooLong])
    XCTAssertEqual(failure(attribute, .text("👩‍👩‍👧")), .stringTooShort)
    XCTAssertNil(failure(attribute, .text("👩‍👩‍👧👩‍👩‍👧e\u{301}")))
  }

  func testAPatternMustMatchTheWholeString() {
    let attribute = Attribute("a", .string).matching("a|ab")
    XCTAssertEqual(
      ["a", "ab", "abc", "xa", "a\n", ""].map { failure(attribute, .text($0)) }, [nil, nil] + Array(repeating: .patternMismatch, count: 4))
    XCTAssertNil(failure(Attribute("a", .string).matching("\\p{L}+ 👩‍👩‍👧"), .text("größe 👩‍👩‍👧")))
  }

  func testValuesRoundTripThroughSlots() {
    func check<Value: AttributeValue>(_ values: Value...) {
      for value in values {
        XCTAssertEqual(Value(slot: value.slot), value)
        XCTAssertEqual(Slot(value), value.slot)
        XCTAssertEqual(Slot(value).value(as: Value.self), value)
        XCTAssertNil(AttributeChecker.typeFailure(of: value.slot, type: Value.attributeType), "\(Value.self)")
        XCTAssertNil(Value(slot: .null))
      }
      XCTAssertNil(AttributeChecker.typeFailure(of: Value.emptyValue.slot, type: Value.attributeType), "\(Value.self)")
    }
    check(Int16.min, 0, Int16.max)
    check(Int32.min, Int32.max)
    check(Int64.min, Int64.max)
    check(Int.min, Int.max)
    check(true, false)
    check(0.1, -Double.infinity, .leastNonzeroMagnitude)
    check(Float(0.1), -1)
    check("", "größe\0👩‍👩‍👧")
    check(Date(timeIntervalSinceReferenceDate: -0.125))
    check(Data(), Data([0, 1]))
    check(UUID())
    check(URL(string: "https://example.org/a?b#c")!)
    check(Decimal(string: "-1.05")!, 0)
  }

  func testCodableValuesAreJSONWithSortedKeys() throws {
    let value = ["b": 1.5, "a": .infinity]
    let data = try AttributeTransformers.data(from: value, transformerName: nil)
    XCTAssertEqual(String(decoding: data, as: UTF8.self), "{\"a\":\"inf\",\"b\":1.5}")
    XCTAssertEqual(try AttributeTransformers.value(from: data, as: [String: Double].self, transformerName: nil), value)
    // The name that Core Data's editor writes, and the constant's name, which is often used instead of its value.
    for name in ["NSSecureUnarchiveFromData", "NSSecureUnarchiveFromDataTransformer", "NSSecureUnarchiveFromDataTransformerName"] {
      XCTAssertEqual(try AttributeTransformers.value(from: data, as: [String: Double].self, transformerName: name), value, name)
    }
    XCTAssertThrowsError(try AttributeTransformers.value(from: Data("{".utf8), as: [String: Int].self, transformerName: nil)) {
      guard case .failed? = $0 as? AttributeTransformError else { return XCTFail("\($0)") }
    }
  }

  func testRegisteredTransformersAreFoundByName() throws {
    struct Reverser: AttributeTransformer {
      func data(from value: String) throws -> Data { Data(String(value.reversed()).utf8) }
      func value(from data: Data) throws -> String { String(String(decoding: data, as: UTF8.self).reversed()) }
    }
    AttributeTransformers.register(Reverser(), forName: "AttributeValueTests.Reverser")
    let name = "AttributeValueTests.Reverser"
    let data = try AttributeTransformers.data(from: "abc", transformerName: name)
    XCTAssertEqual(data, Data("cba".utf8))
    XCTAssertEqual(try AttributeTransformers.value(from: data, as: String.self, transformerName: name), "abc")
    XCTAssertEqual(try AttributeTransformers.value(from: data, transformerName: name) as? String, "abc")
    XCTAssertThrowsError(try AttributeTransformers.data(from: 1, transformerName: name)) {
      XCTAssertEqual($0 as? AttributeTransformError, .wrongType("Int"))
    }
    XCTAssertThrowsError(try AttributeTransformers.data(from: 1, transformerName: "Nobody")) {
      XCTAssertEqual($0 as? AttributeTransformError, .unknownTransformer("Nobody"))
    }
  }
}
