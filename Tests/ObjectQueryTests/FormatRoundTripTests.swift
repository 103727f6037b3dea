// FormatRoundTripTests: a printed predicate parses to an equal predicate.
import Foundation
import ObjectModel
import ObjectQuery
import XCTest

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

  func testPrintedPredicatesRead() throws {
    let text = "(name BEGINSWITH[cd] \"A\\\"b\" OR ANY tags.name == NULL) AND NOT (#in < -5)"
    XCTAssertEqual(try FetchPredicate(format: text).predicateFormat, text)
  }
}

/// Random predicates in the form that parsing gives, from a fixed seed.
struct PredicateMaker {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  /// A number below a bound.
  mutating func next(_ bound: Int) -> Int {
    // SplitMix64.
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((word ^ (word >> 31)) % UInt64(bound))
  }

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
