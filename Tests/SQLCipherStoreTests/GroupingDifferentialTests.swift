import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

/// Random groups, aggregates, group conditions and sort orders have the same results in SQL as in memory (rows F13 to F15, F23).
final class GroupingDifferentialTests: XCTestCase {
  private var random = SeededGenerator(seed: 20_260_707)
  private static let texts = ["", "a", "A", "ab", "abc", "é", "e\u{301}", "ß", "日本", "z\u{0}y"]

  private func pick<Element>(_ elements: [Element]) -> Element { elements[Int.random(in: 0..<elements.count, using: &random)] }
  private func chance(_ of: Int) -> Bool { Int.random(in: 0..<of, using: &random) == 0 }

  private func fill(_ stores: [OpenStore]) throws {
    let authors: [[String: Slot]] = (0..<8).map { _ in
      ["name": chance(5) ? .null : .text(pick(Self.texts)), "born": chance(5) ? .null : .int(Int64(pick([1, 2, 3])))]
    }
    let mentors = authors.indices.map { $0 == 0 || chance(3) ? nil : Int.random(in: 0..<$0, using: &random) }
    let books: [(values: [String: Slot], author: Int?, tags: [Int])] = (0..<80).map { index in
      var values: [String: Slot] = ["isbn": .text("isbn \(index)"), "year": .int(Int64(index % 7))]
      if !chance(4) { values["title"] = .text(pick(Self.texts) + (chance(3) ? "\(index)" : "")) }
      if !chance(4) { values["pages"] = .int(pick([0, 1, 2, 3, -1, 5, .max, .min])) }
      if !chance(4) { values["price"] = Slot(Decimal(Int.random(in: -30...300, using: &random)) / 10) }
      if !chance(4) { values["rating"] = .real(pick([0, 0.1, 0.2, 0.3, -0.5, 3.25, 1e16, 1e300, -1e300])) }
      if !chance(4) { values["published"] = .real(Double(Int.random(in: -3...3, using: &random))) }
      if !chance(3) { values["inPrint"] = .int(chance(2) ? 1 : 0) }
      // The combination of title and year is unique.
      if case .text(let title)? = values["title"] { values["title"] = .text(title + String(repeating: " ", count: index / 7)) }
      return (values, chance(4) ? nil : Int.random(in: 0..<8, using: &random), (0..<4).filter { _ in chance(3) })
    }
    for open in stores {
      try open.save { save in
        var authorIDs: [ManagedObjectID] = []
        for (index, author) in authors.enumerated() {
          var values = author
          values["mentor"] = mentors[index].map { authorIDs[$0].slot } ?? .null
          authorIDs.append(try save.insert("Author", values))
        }
        let tags = try (0..<4).map { try save.insert("Tag", ["name": .text("t\($0)")]) }
        for book in books {
          var values = book.values
          values["author"] = book.author.map { authorIDs[$0].slot } ?? .null
          let id = try save.insert("Book", values)
          if !book.tags.isEmpty { try save.change(id, "tags", add: book.tags.map { tags[$0] }) }
        }
      }
    }
  }

  // MARK: Requests

  private let keys = [
    "author", "author.name", "author.mentor", "author.born", "year", "pages", "price", "rating", "published", "inPrint", "title", "entity",
    "year %% 3", "length(title)", "price * 2", "tags.@count", "author.books.@count", "TERNARY(pages > 1, 1, 0)", "canonical(title)",
  ]
  private let numbers = [
    "pages", "price", "rating", "year", "inPrint", "year * 2", "price + 1", "author.born", "tags.@count", "length(title)",
  ]

  private func aggregate() -> String {
    let distinct = chance(4) ? "distinct " : ""
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return "count(*)"
    case 1: return "count(\(distinct)\(pick(keys)))"
    case 2: return "\(pick(["min", "max"]))(\(pick(["title", "published", "pages", "price", "rating", "author.name", "inPrint"])))"
    case 3: return "median(\(distinct)\(pick(numbers)))"
    case 4: return "average(\(distinct)\(pick(numbers)))"
    default: return "sum(\(distinct)\(pick(numbers)))"
    }
  }

  private func scalar(of groups: [String]) -> String {
    switch Int.random(in: 0..<5, using: &random) {
    case 0 where !groups.isEmpty: return pick(groups)
    case 1: return "\(aggregate()) + 1"
    case 2: return "TERNARY(\(condition(of: groups)), 1, 0)"
    default: return aggregate()
    }
  }

  private func condition(of groups: [String]) -> String {
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return "\(pick(groups + ["max(title)"])) != nil"
    case 1: return "n \(pick([">", "<=", "==", "!="])) \(Int.random(in: 0...9, using: &random))"
    case 2: return "count(*) BETWEEN {2, \(Int.random(in: 2...20, using: &random))}"
    case 3: return "sum(price) > \(Int.random(in: -5...60, using: &random)).5"
    case 4: return "min(title) BEGINSWITH[c] 'a' OR max(year) IN {1, 3, 6}"
    case 5: return "average(rating) < median(rating)"
    case 6: return "NOT (sum(pages) == max(pages) AND count(distinct author) > 1)"
    default: return "$n %% 2 == \(Int.random(in: 0...1, using: &random))"
    }
  }

  private func request() throws -> (FetchSpecification, String) {
    var fetch = FetchSpecification(entityName: "Book")
    let groups = chance(5) ? [] : (0..<Int.random(in: 1...2, using: &random)).map { _ in pick(keys) }
    var properties = ["count(*) AS n"]
    for (number, group) in groups.enumerated() where !chance(4) { properties.append("\(group) AS g\(number)") }
    if groups.contains("author"), chance(2) { properties.append("author.name AS who, author.mentor.name, author.books.@sum.price AS all") }
    for number in 0..<Int.random(in: 0...2, using: &random) { properties.append("\(scalar(of: groups)) AS e\(number)") }
    fetch.propertiesToFetch = try FetchProperty.list(format: properties.joined(separator: ", "))
    if !groups.isEmpty { fetch.propertiesToGroupBy = try FetchProperty.list(format: groups.joined(separator: ", ")) }
    var text = "\(properties) by \(groups)"
    if chance(2) {
      let having = (0..<Int.random(in: 1...2, using: &random)).map { _ in "(\(condition(of: groups)))" }
        .joined(separator: pick([" AND ", " OR "]))
      fetch.havingPredicate = try FetchPredicate(format: having)
      text += " having \(having)"
    }
    if chance(3) {
      fetch.predicate = try FetchPredicate(format: pick(["pages > 0", "author != nil", "year < 5 OR rating == nil", "FALSEPREDICATE"]))
    }
    if chance(4) { fetch.returnsDistinctResults = true }
    for _ in 0..<Int.random(in: 0...2, using: &random) {
      let key = chance(2) ? "n" : scalar(of: groups)
      fetch.sortDescriptors.append(
        FetchSortDescriptor(
          expression: try FetchExpression(format: key), ascending: chance(2), comparison: chance(3) ? .caseInsensitive : .binary))
      text += " order \(key)"
    }
    if chance(3) { fetch.fetchLimit = Int.random(in: 1...6, using: &random) }
    if chance(4) { fetch.fetchOffset = Int.random(in: 1...4, using: &random) }
    return (fetch, text)
  }

  /// Rows as comparable texts, sorted if the fetch specifies no order.
  private func texts(_ fetch: FetchSpecification, in open: OpenStore) throws -> [String] {
    let texts = try open.dictionaries(fetch).rows.map { "\($0)" }
    let isOrdered = !fetch.sortDescriptors.isEmpty || fetch.fetchLimit > 0 || fetch.fetchOffset > 0
    return isOrdered ? texts : texts.sorted()
  }

  func testRandomGroupsMatchTheInMemoryStore() throws {
    let store = try TestStore()
    let encrypted = try store.open()
    let memory = try OpenStore(PersistentStoreDescription(type: .inMemory), model: SpecificationModels.library)
    try fill([encrypted, memory])
    var (answered, rows) = (0, 0)
    for round in 0..<2_000 {
      let (fetch, text) = try request()
      let expected: [String]
      do {
        expected = try texts(fetch, in: memory)
      } catch {
        XCTAssertThrowsError(try texts(fetch, in: encrypted), "round \(round): \(text)") {
          XCTAssertEqual("\($0)", "\(error)", "round \(round): \(text)")
        }
        continue
      }
      answered += 1
      rows += expected.count
      XCTAssertEqual(try texts(fetch, in: encrypted), expected, "round \(round): \(text)")
      XCTAssertEqual(try encrypted.count(fetch), expected.count, "round \(round): \(text)")
      XCTAssertEqual(try memory.count(fetch), expected.count, "round \(round): \(text)")
    }
    XCTAssertGreaterThan(answered, 1_600)
    XCTAssertGreaterThan(rows, 6_000)
  }
}
