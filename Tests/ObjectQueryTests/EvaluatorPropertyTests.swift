import Foundation
import ObjectModel
import ObjectQuery
import XCTest

/// Logical laws that hold for every predicate, tested with random predicates and objects from a fixed seed.
final class EvaluatorPropertyTests: XCTestCase {
  func testNotNegatesAndCompoundsCombineResults() throws {
    var random = PredicateMaker(seed: 7)
    let library = try randomLibrary(&random)
    for _ in 0..<400 {
      let (p, q) = (comparison(&random), comparison(&random))
      let (ofP, ofQ) = (Set(try library.fetch("Book", p)), Set(try library.fetch("Book", q)))
      let all = Set(try library.fetch("Book", nil))
      XCTAssertEqual(Set(try library.fetch("Book", .not(p))), all.subtracting(ofP), "\(p)")
      XCTAssertEqual(Set(try library.fetch("Book", .not(.and([p, .not(q)])))), all.subtracting(ofP).union(ofQ), "\(p) \(q)")
      XCTAssertEqual(Set(try library.fetch("Book", .or([p, .not(q)]))), ofP.union(all.subtracting(ofQ)), "\(p) \(q)")
      XCTAssertEqual(Set(try library.fetch("Book", try FetchPredicate(format: p.predicateFormat))), ofP, "\(p)")
    }
  }

  func testQuantifiedComparisonsAgreeWithIteration() throws {
    var random = PredicateMaker(seed: 11)
    let library = try randomLibrary(&random)
    let authors = try library.fetch("Author", nil)
    for _ in 0..<200 {
      guard case .comparison(var comparison) = comparison(&random), case .keyPath(let names) = comparison.left else { continue }
      let meets = Set(try library.fetch("Book", .comparison(comparison)))
      comparison.left = .keyPath(["books"] + names)
      for (modifier, expected) in [
        (ComparisonModifier.any, { (books: [Int]) in books.contains { meets.contains($0) } }),
        (.all, { books in books.allSatisfy { meets.contains($0) } }), (.none, { books in !books.contains { meets.contains($0) } }),
      ] {
        comparison.modifier = modifier
        let found = Set(try library.fetch("Author", .comparison(comparison)))
        for author in authors {
          let books = try library.fetch("Book", .compare("author", .equal, library.objectID(of: author)))
          XCTAssertEqual(found.contains(author), expected(books), "\(FetchPredicate.comparison(comparison))")
        }
      }
    }
  }

  func testTheDeepestPredicateEvaluatesOnASmallStack() throws {
    let format = String(repeating: "NOT (", count: 97) + "pages == 1" + String(repeating: ")", count: 97)
    let sum = "pages == " + String(repeating: "(1 + ", count: 97) + "1" + String(repeating: ")", count: 97)
    let library = try Library()
    try library.add("Book", 1, ["pages": 98])
    // A box for the results. `@unchecked Sendable`: the closure runs on another thread, which the test waits for.
    final class Box: @unchecked Sendable {
      var answers: [[Int]] = []
      let library: Library
      init(_ library: Library) { self.library = library }
    }
    let box = Box(library)
    let done = expectation(description: "answered")
    let thread = Thread {
      for text in [format, sum] {
        if let predicate = try? FetchPredicate(format: text), let found = try? box.library.fetch("Book", predicate) {
          XCTAssertEqual(try? FetchPredicate(format: predicate.predicateFormat), predicate)
          box.answers.append(found)
        }
      }
      done.fulfill()
    }
    thread.stackSize = 3 * 1024 * 1024
    thread.start()
    wait(for: [done], timeout: 60)
    XCTAssertEqual(box.answers, [[1], [1]])
  }

  // MARK: Random objects and comparisons

  private static let words = ["", "a", "A", "é", "E\u{301}", "abc", "Straße", "STRASSE", "z", "日本"]
  private static let numbers = [-1, 0, 1, 2, 100]

  private func randomLibrary(_ random: inout PredicateMaker) throws -> Library {
    let library = try Library()
    for number in 1...6 { try library.add("Author", number, ["name": Self.words[random.next(Self.words.count)]]) }
    for number in 10..<50 {
      var values: [String: any FetchConstantConvertible] = [:]
      if random.next(4) > 0 { values["title"] = Self.words[random.next(Self.words.count)] }
      if random.next(4) > 0 { values["pages"] = Self.numbers[random.next(Self.numbers.count)] }
      if random.next(4) > 0 { values["rating"] = Double(Self.numbers[random.next(Self.numbers.count)]) / 2 }
      if random.next(4) > 0 { values["price"] = Decimal(Self.numbers[random.next(Self.numbers.count)]) }
      if random.next(4) > 0 { values["inPrint"] = random.next(2) == 0 }
      // Author 6 has no books.
      try library.add("Book", number, values, toOne: random.next(4) > 0 ? ["author": 1 + random.next(5)] : [:])
    }
    return library
  }

  private func comparison(_ random: inout PredicateMaker) -> FetchPredicate {
    let orders: [ComparisonOperator] = [.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual]
    if random.next(2) == 0 {
      let operators = orders + [.contains, .beginsWith, .endsWith, .like]
      let words = Self.words + ["*", "?*"]
      return .compare(
        ["title", "author.name"][random.next(2)], operators[random.next(operators.count)],
        random.next(8) == 0 ? nil : words[random.next(words.count)], options: ComparisonOptions(rawValue: UInt8(random.next(4))))
    }
    let key = ["pages", "rating", "price", "inPrint"][random.next(4)]
    let number = Self.numbers[random.next(Self.numbers.count)]
    switch random.next(5) {
    case 0: return .compare(key, .in, FetchConstant.list([.int(Int64(number)), .null, .real(0.5)]))
    case 1: return .compare(key, .between, FetchConstant.list([.real(-0.5), .int(Int64(number))]))
    case 2: return .compare(key, orders[random.next(6)], nil)
    case 3: return .compare(key, orders[random.next(6)], Double(number) / 2)
    default: return .compare(key, orders[random.next(6)], number)
    }
  }
}
