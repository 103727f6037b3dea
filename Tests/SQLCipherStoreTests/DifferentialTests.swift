import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Random predicates over random graphs have the same results in SQL as in memory.
final class DifferentialTests: XCTestCase {
  private var random = SeededGenerator(seed: 20_260_101)
  private static let texts = [
    "", "a", "A", "ab", "Ab", "abc", "é", "e\u{301}", "E", "ß", "ss", "100%", "a_b", "ab*", "日本", "\u{1F600}", "z\u{0}y",
  ]

  private func text() -> String { Self.texts.randomElement(using: &random) ?? "" }
  private func number() -> Int64 { [0, 1, 2, 3, -1, 5, 100, .max, .min].randomElement(using: &random) ?? 0 }
  private func chance(_ of: Int) -> Bool { Int.random(in: 0..<of, using: &random) == 0 }

  // MARK: Graphs

  private func fill(_ stores: [OpenStore]) throws {
    let plan = (0..<60).map { index -> [String: Slot] in
      var values: [String: Slot] = ["isbn": .text("isbn \(index)")]
      if !chance(4) { values["title"] = .text(text()) }
      values["year"] = .int(Int64(index))
      if !chance(4) { values["pages"] = .int(number()) }
      if !chance(4) { values["price"] = Slot(Decimal(Int.random(in: -3...300, using: &random))) }
      if !chance(4) { values["rating"] = .real([0, 0.5, 1, 2, -1, 3.25, 1e300].randomElement(using: &random) ?? 0) }
      if !chance(4) { values["published"] = .real(Double(Int.random(in: -5...5, using: &random))) }
      if !chance(3) { values["inPrint"] = .int(chance(2) ? 1 : 0) }
      return values
    }
    let authors = (0..<12).map { _ in (chance(5) ? Slot.null : .text(text()), chance(5) ? Slot.null : .int(number())) }
    let bookAuthors = plan.map { _ in chance(4) ? nil : Int.random(in: 0..<authors.count, using: &random) }
    let mentors = authors.indices.map { $0 == 0 || chance(3) ? nil : Int.random(in: 0..<$0, using: &random) }
    let tags = plan.map { _ in (0..<6).filter { _ in chance(3) } }
    let chapters = plan.map { _ in (0..<Int.random(in: 0...3, using: &random)).map { _ in (text(), number()) } }
    for open in stores {
      try open.save { save in
        var authorIDs: [ManagedObjectID] = []
        for (index, author) in authors.enumerated() {
          authorIDs.append(
            try save.insert("Author", ["name": author.0, "born": author.1, "mentor": mentors[index].map { authorIDs[$0].slot } ?? .null]))
        }
        let tagIDs = try (0..<6).map { try save.insert("Tag", ["name": .text(Self.texts[$0])]) }
        for (index, values) in plan.enumerated() {
          var values = values
          values["author"] = bookAuthors[index].map { authorIDs[$0].slot } ?? .null
          let book = try save.insert("Book", values)
          try save.change(book, "tags", add: tags[index].map { tagIDs[$0] })
          let members = try chapters[index].map {
            try save.insert("Chapter", ["title": .text($0.0), "pages": .int($0.1), "book": book.slot])
          }
          if !members.isEmpty { try save.change(book, "chapters", order: members) }
        }
      }
    }
  }

  // MARK: Predicates

  private func predicate(_ depth: Int) -> FetchPredicate {
    if depth > 0, !chance(3) {
      let items = (0..<Int.random(in: 1...3, using: &random)).map { _ in predicate(depth - 1) }
      switch Int.random(in: 0..<5, using: &random) {
      case 0: return .and(items)
      case 1: return .or(items)
      case 2: return .not(items[0])
      case 3: return subquery(depth - 1)
      default: return .not(.and(items))
      }
    }
    return leaf()
  }

  private func subquery(_ depth: Int) -> FetchPredicate {
    let conditions: [FetchPredicate] = [
      .comparison(FetchComparison(left: .path(.variable("x"), ["pages"]), op: .greater, right: .constant(.int(number())))),
      .comparison(FetchComparison(left: .path(.variable("x"), ["title"]), op: .equal, right: .keyPath("title"))),
      .comparison(FetchComparison(left: .path(.variable("x"), ["title"]), op: .contains, right: .constant(.string(text())))),
    ]
    let condition = conditions.randomElement(using: &random) ?? .constant(true)
    let members = FetchExpression.subquery(collection: .keyPath("chapters"), variable: "x", predicate: condition)
    return .comparison(
      FetchComparison(
        left: .path(members, ["@count"]), op: [.greater, .equal, .notEqual].randomElement(using: &random) ?? .equal,
        right: .constant(.int(Int64.random(in: 0...2, using: &random)))))
  }

  private func leaf() -> FetchPredicate {
    let order: [ComparisonOperator] = [.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual]
    let modifiers: [ComparisonModifier] = [.any, .all, .none]
    let op = order.randomElement(using: &random) ?? .equal
    func modifier() -> ComparisonModifier { modifiers.randomElement(using: &random) ?? .any }
    switch Int.random(in: 0..<19, using: &random) {
    case 0:
      return .compare(
        ["title", "author.name", "author.mentor.name"].randomElement(using: &random) ?? "title", op, chance(5) ? nil : text())
    case 1: return .compare(["pages", "author.born"].randomElement(using: &random) ?? "pages", op, chance(5) ? nil : number())
    case 2: return .compare("rating", op, [0, 0.5, 1, 1e300, -2].randomElement(using: &random) ?? 0)
    case 3: return .compare("price", op, Decimal(Int.random(in: -3...300, using: &random)))
    case 4:
      let options: [ComparisonOptions] = [[], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive]]
      let operators: [ComparisonOperator] = [.contains, .beginsWith, .endsWith, .like, .equal, .notEqual, .less]
      return .compare(
        ["title", "author.name"].randomElement(using: &random) ?? "title", operators.randomElement(using: &random) ?? .contains, text(),
        options: options.randomElement(using: &random) ?? [])
    case 5: return .compare("title", .in, (0..<Int.random(in: 0...4, using: &random)).map { _ in text() })
    case 6: return .compare("pages", .between, [number(), number()])
    case 7: return .compare("tags.name", op, text(), modifier: modifier())
    case 8: return .compare("chapters.pages", op, number(), modifier: modifier())
    case 9:
      return .compare(
        ["tags.@count", "chapters.@count", "chapters.@max.pages", "author.pupils.@count"].randomElement(using: &random) ?? "tags.@count",
        op,
        Int64.random(in: -1...3, using: &random))
    case 10:
      let options: [ComparisonOptions] = [[], .caseInsensitive, .localeSensitive]
      return .comparison(
        FetchComparison(
          left: .keyPath("title"), op: op, right: .keyPath("author.name"), options: options.randomElement(using: &random) ?? []))
    case 11:
      return .compare(
        ["author", "author.mentor", "author.spouse"].randomElement(using: &random) ?? "author", chance(2) ? .equal : .notEqual, nil)
    case 12: return .compare("rating", op, number())
    case 13: return .compare("pages", op, [2.5, -0.5, 1e300, 9_007_199_254_740_993].randomElement(using: &random) ?? 0)
    case 14 where chance(3): return .comparison(FetchComparison(left: .keyPath("price"), op: op, right: .keyPath("author.born")))
    case 14: return chance(2) ? .compare("price", op, Int64.random(in: -3...300, using: &random)) : .compare("price", op, 2.5)
    case 15:
      let functions: [FetchExpression] = [
        .function("add:to:", [.keyPath("pages"), .constant(.int(1))]), .function("divide:by:", [.keyPath("pages"), .keyPath("rating")]),
        .function("modulus:by:", [.keyPath("pages"), .constant(.int(3))]), .function("abs:", [.keyPath("rating")]),
        .function("length:", [.keyPath("title")]), .function("add:to:", [.keyPath("price"), .constant(.int(1))]),
      ]
      return .comparison(
        FetchComparison(
          left: functions.randomElement(using: &random) ?? .keyPath("pages"), op: op,
          right: .constant(.int(Int64.random(in: -2...100, using: &random)))))
    case 16:
      return .compare(
        ["author.books.@sum.price", "author.books.@avg.rating", "author.books.@min.published", "author.books.@avg.price"]
          .randomElement(using: &random) ?? "author.books.@count", op, 3)
    case 17:
      let inner = FetchExpression.function("uppercase:", [.keyPath("title")])
      return .comparison(FetchComparison(left: inner, op: .beginsWith, right: .constant(.string(text()))))
    default: return .compare("inPrint", chance(2) ? .equal : .notEqual, chance(2))
    }
  }

  private func sort() -> [FetchSortDescriptor] {
    let paths = ["title", "pages", "rating", "price", "author.name", "author.mentor.born", "tags.@count"]
    let keys = (0..<Int.random(in: 0...2, using: &random)).map { _ in
      FetchSortDescriptor(
        paths.randomElement(using: &random) ?? "title", ascending: chance(2), comparison: chance(3) ? .caseInsensitive : .binary)
    }
    return keys + [FetchSortDescriptor("isbn")]
  }

  func testRandomPredicatesMatchTheInMemoryStore() throws {
    let store = try TestStore()
    let model = SpecificationModels.library
    let encrypted = try store.open()
    let memory = try OpenStore(PersistentStoreDescription(type: .inMemory), model: model)
    try fill([encrypted, memory])
    var answered = 0
    for round in 0..<500 {
      var fetch = FetchSpecification(entityName: "Book", predicate: predicate(3))
      fetch.sortDescriptors = sort()
      if chance(4) { fetch.fetchLimit = Int.random(in: 1...10, using: &random) }
      if chance(4) { fetch.fetchOffset = Int.random(in: 1...10, using: &random) }
      let expected: [String]
      do {
        expected = try memory.texts("isbn", fetch)
      } catch {
        XCTAssertThrowsError(try encrypted.texts("isbn", fetch), "round \(round): \(String(describing: fetch.predicate))")
        continue
      }
      answered += 1
      XCTAssertEqual(try encrypted.texts("isbn", fetch), expected, "round \(round): \(String(describing: fetch.predicate))")
      XCTAssertEqual(try encrypted.count(fetch), expected.count, "round \(round)")
    }
    XCTAssertGreaterThan(answered, 400)
  }
}
