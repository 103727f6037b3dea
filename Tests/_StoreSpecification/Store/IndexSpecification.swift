import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// Indexes do not affect results: every kind of query runs on texts with every kind of index, and each result is compared with that of the
/// comparison function.
public final class IndexSpecification: StoreSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testIndexesDoNotChangeResults", { $0.testIndexesDoNotChangeResults }),
        ("testIndexesDoNotChangeTheOrder", { $0.testIndexesDoNotChangeTheOrder }),
        ("testStringsOfRelatedObjectsAreOrderedConsistently", { $0.testStringsOfRelatedObjectsAreOrderedConsistently }),
      ] as [(String, (IndexSpecification) -> () throws -> Void)])
  }

  private static let texts: [String] = {
    var random = SeededGenerator(seed: 3)
    let letters = ["a", "A", "ä", "Ä", "a\u{308}", "ß", "SS", "z", "*", "?", "\\", "é", "É", "σ", "ς", "Σ", "ı", "İ", "ﬁ", "0", " ", "漢"]
    return (0..<120).map { _ in
      (0..<Int.random(in: 0...4, using: &random)).map { _ in letters.randomElement(using: &random) ?? "" }.joined()
    }
  }()

  /// Every text order: each comparison, and the localized ones with the rules of several locales.
  private static let orders: [TextOrder] = FetchSortDescriptor.Comparison.allCases.flatMap { comparison in
    // The last one is not a known locale, and has special characters of SQL and C.
    let locales = ["sv_SE", "de@collation=phonebook", "en_US_POSIX", "a\"b'c:d\0"].map { Locale(identifier: $0) }
    return [TextOrder(comparison)] + (comparison.isLocalized ? locales.map { TextOrder(comparison, locale: $0) } : [])
  }

  private func makeModel(_ collation: FetchIndexElement.Collation, ascending: Bool) throws -> CompiledModel {
    var entity = SpecificationModels.entity("Word", [SpecificationModels.text("text"), SpecificationModels.integer("number")])
    entity.indexes = [
      FetchIndexDescription(
        name: "byText", elements: [FetchIndexElement(property: "text", isAscending: ascending, collation: collation), .ascending("number")])
    ]
    return try SpecificationModels.compiled([entity])
  }

  private func fill(_ open: OpenStore) throws {
    try open.save { save in
      for (number, text) in Self.texts.enumerated() { try save.insert("Word", ["text": .text(text), "number": .int(Int64(number))]) }
      try save.insert("Word", ["number": .int(1_000)])
    }
  }

  private func numbers(_ fetch: FetchSpecification, _ open: OpenStore) throws -> [Int64] {
    try open.values("number", fetch).compactMap { if case .int(let number) = $0 { number } else { nil } }
  }

  func testIndexesDoNotChangeResults() throws {
    let foldings: [ComparisonOptions] = [[], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive]]
    let operators: [ComparisonOperator] = [
      .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .beginsWith, .endsWith, .contains, .like,
    ]
    var random = SeededGenerator(seed: 4)
    for (position, collation) in FetchIndexElement.Collation.allCases.enumerated() {
      let open = try makeStore(makeModel(collation, ascending: position % 2 == 0))
      try fill(open)
      for options in foldings {
        for op in operators {
          for _ in 0..<12 {
            var needle = Self.texts.randomElement(using: &random) ?? ""
            if op == .like, Bool.random(using: &random) { needle += "*" }
            if op == .like, Bool.random(using: &random) { needle = "?" + needle }
            let found = try numbers(FetchSpecification(entityName: "Word", predicate: .compare("text", op, needle, options: options)), open)
            let expected = Self.texts.indices.filter { TextMatching.matches(Self.texts[$0], op, needle, options) }.map(Int64.init)
            XCTAssertEqual(
              Set(found), Set(expected + (op == .notEqual ? [1_000] : [])), "\(op) \(needle) \(options) with an index \(collation)")
            XCTAssertEqual(found.count, Set(found).count)
          }
        }
      }
    }
  }

  func testStringsOfRelatedObjectsAreOrderedConsistently() throws {
    var word = SpecificationModels.entity("Word", [SpecificationModels.text("text"), SpecificationModels.toMany("uses", "Use", "word")])
    word.indexes = [FetchIndexDescription(name: "byText", elements: [.ascending("text", collation: .caseInsensitive)])]
    let use = SpecificationModels.entity("Use", [SpecificationModels.integer("number"), SpecificationModels.toOne("word", "Word", "uses")])
    let open = try makeStore(SpecificationModels.compiled([word, use]))
    // Words are used twice; the last uses have a word without text, or none.
    var texts: [String?] = []
    try open.save { save in
      for text in Self.texts.prefix(40).map(Optional.some) + [nil] {
        let word = try save.insert("Word", text.map { ["text": .text($0)] } ?? [:])
        for _ in 0..<2 {
          try save.insert("Use", ["number": .int(Int64(texts.count)), "word": word.slot])
          texts.append(text)
        }
      }
      try save.insert("Use", ["number": .int(Int64(texts.count))])
      texts.append(nil)
    }
    for order in Self.orders {
      for ascending in [true, false] {
        var fetch = FetchSpecification(entityName: "Use")
        fetch.sortDescriptors = [
          FetchSortDescriptor("word.text", ascending: ascending, comparison: order.comparison, locale: order.locale),
          FetchSortDescriptor("number", ascending: false),
        ]
        let slots = texts.map { $0.map(Slot.text) ?? .null }
        let expected = slots.indices.sorted { left, right in
          let result = SlotOrder.compare(slots[left], slots[right], by: order)
          return result == 0 ? left > right : (result < 0) == ascending
        }.map(Int64.init)
        XCTAssertEqual(try numbers(fetch, open), expected, "\(order), ascending \(ascending)")
        fetch.fetchOffset = 3
        fetch.fetchLimit = 20
        XCTAssertEqual(try numbers(fetch, open), Array(expected[3..<23]), "a window of \(order), ascending \(ascending)")
      }
    }
  }

  func testIndexesDoNotChangeTheOrder() throws {
    for (position, collation) in FetchIndexElement.Collation.allCases.enumerated() {
      let open = try makeStore(makeModel(collation, ascending: position % 2 == 1))
      try fill(open)
      for order in Self.orders {
        for ascending in [true, false] {
          var fetch = FetchSpecification(entityName: "Word")
          fetch.sortDescriptors = [
            FetchSortDescriptor("text", ascending: ascending, comparison: order.comparison, locale: order.locale),
            FetchSortDescriptor("number"),
          ]
          let expected = (Self.texts.indices.map { (Slot.text(Self.texts[$0]), Int64($0)) } + [(Slot.null, Int64(1_000))]).sorted {
            left, right in
            let result = SlotOrder.compare(left.0, right.0, by: order)
            return result == 0 ? left.1 < right.1 : (result < 0) == ascending
          }.map(\.1)
          XCTAssertEqual(try numbers(fetch, open), expected, "\(order), ascending \(ascending), with an index \(collation)")
          fetch.fetchOffset = 7
          fetch.fetchLimit = 11
          XCTAssertEqual(try numbers(fetch, open), Array(expected[7..<18]), "a window of \(order) with an index \(collation)")
        }
      }
    }
  }
}
