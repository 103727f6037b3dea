import Foundation
import ObjectModel
import ObjectQuery
import XCTest
import _TestSupport

/// Parsing a printed predicate yields an equal predicate.
final class FormatRoundTripTests: XCTestCase {
  func testRandomPredicatesSurvivePrintingAndParsing() throws {
    var maker = PredicateMaker(seed: 20_260_101)
    for _ in 0..<2000 {
      let predicate = maker.predicate(depth: 4)
      let text = predicate.predicateFormat
      let parsed = try FetchPredicate(format: text)
      guard parsed == predicate else { return XCTFail("\(text)\n\(parsed)") }
      XCTAssertEqual(parsed.predicateFormat, text)
    }
  }

  func testObjectsSurvivePrintingAndParsing() throws {
    let library = try Library()
    let space = ObjectIDSpace.register(storeIdentifier: "7D2C6A0E-5B57-4C69-9A0C-3F0E7B0B9A11", model: library.model)
    let id = ManagedObjectID(space: space.number, entityNumber: 1, key: 42)
    let predicate = FetchPredicate.compare("author", .equal, id)
    XCTAssertEqual(try FetchPredicate(format: predicate.predicateFormat), predicate)
    XCTAssertTrue(predicate.predicateFormat.contains("x-cipherdata://"))
  }

  func testPredicatesThatNoFormatProducesSurvivePrintingAndParsing() throws {
    let a = FetchExpression.keyPath(["a"])
    let names = [
      "", " ", "@", "@two words", "a.b", "1", "TRUE", "nil", "SELF", "a\"b'c\\", "\u{0}", "é", "\n", "%@", "日本", "distinct", "AS",
    ]
    var expressions: [FetchExpression] = [
      .path(.keyPath(["a"]), ["b"]), .path(.path(.variable("x"), ["a"]), ["b"]), .path(.constant(.null), ["a"]),
      .path(.constant(.int(-5)), ["a"]), .path(.constant(.string("x")), ["a", "@count"]), .path(.evaluatedObject, ["a"]),
      .element(.constant(.list([.int(1)])), .at(-7)), .element(.path(a, ["b"]), .last), .path(.element(.evaluatedObject, .first), ["a"]),
      .function("castObject:toType:", [.constant(.int(5)), .constant(.string("Date"))]),
      .function("castObject:toType:", [a, .constant(.string("Date"))]),
      .function("castObject:toType:", [a, .constant(.string("Nothing"))]),
      .function("castObject:toType:", [.constant(.null), .constant(.string("Int"))]), .function("castObject:toType:", [a]),
      .function("add:to:", [a]), .function("now", []), .function("abs", [a]), .function("ABS:", [a]), .function("modulus", [a, a]),
      .function("", []), .function("two words:", [a, a]), .function("TRUE", [a]), .function("any", []), .function(":", [a]),
      .function("a:1:", [a]), .function("count:", [.function("distinct:", [a])]), .function("count:", [.evaluatedObject]),
      .constant(.real(.infinity)), .constant(.real(-0.0)), .constant(.real(.leastNonzeroMagnitude)),
      .constant(.real(.greatestFiniteMagnitude)),
      .constant(.real(0.1 + 0.2)), .constant(.decimal(Decimal.greatestFiniteMagnitude)),
      .constant(.decimal(Decimal(sign: .minus, exponent: -120, significand: 3))),
      .constant(.date(Date(timeIntervalSinceReferenceDate: .infinity))), .constant(.date(Date(timeIntervalSinceReferenceDate: -0.1))),
      .constant(.date(Date(timeIntervalSinceReferenceDate: 1e300))), .constant(.list([.list([.null, .list([])]), .bool(true)])),
      .aggregate([a, .constant(.list([.int(1)]))]), .constant(.data(Data())), .constant(.entity("two words")),
      .conditional(.constant(true), a, .aggregate([a])), .path(.conditional(.constant(true), a, a), ["b"]),
    ]
    expressions += names.map { .keyPath([$0]) } + names.map { .keyPath(["a", $0]) } + names.map { .variable($0) }
    expressions += names.map { .path(.variable($0), [$0]) } + names.map { .function($0, [a]) } + names.map { .function($0 + ":", [a, a]) }
    expressions += names.map { .path(.subquery(collection: a, variable: $0, predicate: .compare("b", .equal, 1)), ["@count"]) }
    for expression in expressions {
      let predicate = FetchPredicate.comparison(
        FetchComparison(left: expression, op: .equal, right: expression, options: ComparisonOptions(rawValue: 255)))
      let text = predicate.predicateFormat
      XCTAssertEqual(try FetchPredicate(format: text), predicate, text)
      XCTAssertEqual(try FetchExpression(format: expression.description), expression, text)
    }
    // NaN equals nothing, but is printed and parsed.
    for text in [
      FetchExpression.constant(.real(.nan)), .constant(.decimal(.nan)), .constant(.date(Date(timeIntervalSinceReferenceDate: .nan))),
    ] {
      XCTAssertNoThrow(try FetchExpression(format: text.description), text.description)
    }
  }

  /// A number outside of the range of decimals was once parsed as a decimal.
  func testRealNumbersOfEverySizeSurvivePrintingAndParsing() throws {
    var random = SeededGenerator(seed: 127)
    let exponents = Array(-330...308)
    for exponent in exponents {
      for digits in ["1", "2.5", "2.44445", "\(Int64.random(in: 1...Int64.max, using: &random))"] {
        guard let value = Double("\(digits)e\(exponent)"), value.isFinite else { continue }
        let predicate = FetchPredicate.compare("a", .equal, -value)
        XCTAssertEqual(try FetchPredicate(format: predicate.predicateFormat), predicate, predicate.predicateFormat)
      }
    }
    let digits = String(repeating: "4", count: 133)
    let predicate = try FetchPredicate(format: "a == \(digits)")
    XCTAssertEqual(try FetchPredicate(format: predicate.predicateFormat), predicate)
  }

  func testDeepPredicatesSurvivePrintingAndParsing() throws {
    var sum = FetchExpression.keyPath(["a"])
    for _ in 0..<97 { sum = .function("add:to:", [sum, .constant(.int(1))]) }
    var product = FetchExpression.keyPath(["a"])
    for _ in 0..<97 { product = .function("multiply:by:", [.constant(.int(1)), product]) }
    var nested = FetchPredicate.compare("a", .equal, 1)
    for level in 0..<97 {
      nested = level % 2 == 0 ? .not(nested) : level % 4 == 1 ? .and([nested, nested.sibling]) : .or([nested.sibling, nested])
    }
    for predicate in [.comparison(FetchComparison(left: sum, op: .less, right: product)), nested] {
      XCTAssertEqual(try FetchPredicate(format: predicate.predicateFormat), predicate)
    }
  }

  func testPrintedPredicatesAreReadable() throws {
    let text = "(name BEGINSWITH[cd] \"A\\\"b\" OR ANY tags.name == NULL) AND NOT (#in < -5)"
    XCTAssertEqual(try FetchPredicate(format: text).predicateFormat, text)
  }
}

extension FetchPredicate {
  /// Another predicate, to combine with this one.
  fileprivate var sibling: FetchPredicate { .compare("b", .equal, 2) }
}

/// Random predicates from a fixed seed, in the form that parsing yields.
struct PredicateMaker {
  private var random: SeededGenerator

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  /// A number below a bound.
  mutating func next(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }

  mutating func predicate(depth: Int) -> FetchPredicate {
    guard depth > 0 else { return comparison(depth: 0) }
    switch next(6) {
    case 0: return .and((0..<(2 + next(3))).map { _ in predicate(depth: depth - 1) })
    case 1: return .or((0..<(2 + next(3))).map { _ in predicate(depth: depth - 1) })
    case 2: return .not(predicate(depth: depth - 1))
    case 3: return .constant(next(2) == 0)
    default: return comparison(depth: depth - 1)
    }
  }

  mutating func comparison(depth: Int) -> FetchPredicate {
    let operators = ComparisonOperator.allCases
    let modifiers: [ComparisonModifier] = [.direct, .direct, .direct, .any, .all, .none]
    return .comparison(
      FetchComparison(
        left: expression(depth: depth), op: operators[next(operators.count)], right: expression(depth: depth),
        modifier: modifiers[next(modifiers.count)], options: ComparisonOptions(rawValue: next(3) == 0 ? UInt8(next(16)) : 0)))
  }

  private mutating func keys() -> [String] {
    let names = ["name", "in", "SELF", "two words", "é", "_x1", "any", "a\"b", "entity", "abs", "FIRST", "true"]
    var keys = (0..<(1 + next(3))).map { _ in names[next(names.count)] }
    if next(4) == 0 { keys.append("@count") }
    return keys
  }

  private mutating func expression(depth: Int) -> FetchExpression {
    guard depth > 0 else { return next(2) == 0 ? .keyPath(keys()) : .constant(constant(depth: 1)) }
    switch next(11) {
    case 0: return .evaluatedObject
    case 1: return .variable("v\(next(3))")
    case 2: return .path(.variable("v"), keys())
    case 3:
      let names = [
        "add:to:", "from:subtract:", "multiply:by:", "divide:by:", "modulus:by:", "raise:toPower:", "bitwiseXor:with:", "leftshift:by:",
      ]
      return .function(names[next(names.count)], [expression(depth: depth - 1), expression(depth: depth - 1)])
    case 4: return .function(["abs:", "uppercase:", "onesComplement:"][next(3)], [expression(depth: depth - 1)])
    case 5: return .path(.subquery(collection: .keyPath(keys()), variable: "x", predicate: predicate(depth: depth - 1)), ["@count"])
    case 6: return .conditional(predicate(depth: depth - 1), expression(depth: depth - 1), expression(depth: depth - 1))
    case 7: return .aggregate([.keyPath(keys()), expression(depth: depth - 1)])
    case 8: return .element(.keyPath(keys()), [.first, .last, .size, .at(next(9))][next(4)])
    case 9: return .keyPath(keys())
    default: return .constant(constant(depth: 2))
    }
  }

  private mutating func constant(depth: Int) -> FetchConstant {
    switch next(depth > 1 ? 12 : 11) {
    case 0: return .null
    case 1: return .bool(next(2) == 0)
    case 2: return .int([0, -1, 5, .max, .min][next(5)])
    case 3: return .real([0.1, -2.5, 1e300, 5, .infinity, -.infinity, 2.5e-300, 1e16][next(8)])
    case 4: return .decimal([Decimal(string: "19.99") ?? 0, Decimal(string: "-0.000001") ?? 0, Decimal(7)][next(3)])
    case 5: return .string(["", "a\"b\\c", "tab\tline\nend", "é😀", "%@", "it's", "\u{1}\u{7F}"][next(7)])
    case 6: return .date(Date(timeIntervalSinceReferenceDate: Double(next(1_000_000)) / 7))
    case 7: return .data(Data((0..<next(5)).map { UInt8($0) }))
    case 8: return .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, UInt8(next(256)))))
    case 9: return URL(string: "https://example.org/a?b=\(next(9))#c").map { .url($0) } ?? .null
    case 10: return .entity("Book")
    default: return .list((0..<next(4)).map { _ in constant(depth: depth - 1) })
    }
  }
}
