import ObjectContext
import ObjectModel
import ObjectQuery
import XCTest
import _TestSupport

/// Sorting rows by their own values, completely or only the first ones, in SQL and in memory.
final class RowOrderTests: XCTestCase {
  private static let count = 2_000

  /// The sort keys: texts with common prefixes, few distinct numbers, some missing values, and pages that distinguish books.
  private struct Values {
    let title: String
    let price: Double
    let pages: Int?
    let number: Int
  }

  private func onBooks(_ body: (ManagedObjectContext, [Values], Stack) throws -> Void) async throws {
    var random = SeededGenerator(seed: 11)
    let values = (0..<Self.count).map { number in
      let end = String(Int.random(in: 0..<300, using: &random))
      let title =
        [end, "The same beginning \(end)", "The same\(String(repeating: "é", count: number % 4))"].randomElement(using: &random) ?? ""
      return Values(
        title: title.isEmpty ? "x" : title, price: Double(Int.random(in: 0..<9, using: &random)) / 4,
        pages: Bool.random(using: &random) ? Int.random(in: -5..<5, using: &random) : nil, number: number)
    }
    try await onEachStore { stack in
      let writer = stack.makeShortLivedContext()
      for value in values {
        let book = try writer.make("Book", ["title": value.title, "price": value.price])
        if let pages = value.pages { try book.setValue(pages, forKey: "pages") }
      }
      try writer.save()
      stack.forgetRows()
      try body(stack.makeContext(), values, stack)
    }
  }

  private func titles(
    _ context: ManagedObjectContext, _ keys: [FetchSortDescriptor], limit: Int = 0, offset: Int = 0
  ) throws -> [String] {
    var request = FetchRequest<ManagedObject>(entityName: "Book")
    request.sortDescriptors = keys
    (request.fetchLimit, request.fetchOffset) = (limit, offset)
    return try context.fetch(request).map { book in
      let (price, pages) = (try book.value(forKey: "price"), try book.value(forKey: "pages"))
      return "\(book.text("title") ?? "") \(price ?? "") \(pages ?? "")"
    }
  }

  private func text(_ value: Values) -> String { "\(value.title) \(value.price) \(value.pages.map(String.init) ?? "")" }

  func testAllRowsAndFirstRowsAreSortedByValue() async throws {
    try await onBooks { context, values, stack in
      let byTitle = { (left: Values, right: Values) in Array(left.title.utf8).lexicographicallyPrecedes(Array(right.title.utf8)) }
      let orders: [([FetchSortDescriptor], (Values, Values) -> Bool)] = [
        (
          [FetchSortDescriptor("title"), FetchSortDescriptor("price", ascending: false)],
          { byTitle($0, $1) || ($0.title == $1.title && $0.price > $1.price) }
        ),
        ([FetchSortDescriptor("title", ascending: false)], { byTitle($1, $0) }),
        (
          [FetchSortDescriptor("pages"), FetchSortDescriptor("title")],
          { $0.pages ?? -9 < $1.pages ?? -9 || ($0.pages == $1.pages && byTitle($0, $1)) }
        ),
        (
          [FetchSortDescriptor("price", ascending: false), FetchSortDescriptor("pages", ascending: false)],
          { $0.price > $1.price || ($0.price == $1.price && $0.pages ?? -9 > $1.pages ?? -9) }
        ),
      ]
      for (keys, precedes) in orders {
        // Equal ones stay in insertion order.
        let expected = values.sorted { precedes($0, $1) || (!precedes($1, $0) && $0.number < $1.number) }.map(text)
        XCTAssertEqual(try titles(context, keys), expected)
        XCTAssertEqual(try titles(context, keys, limit: 700, offset: 30), Array(expected.dropFirst(30).prefix(700)))
        XCTAssertEqual(try titles(context, keys, limit: 3), Array(expected.prefix(3)))
        XCTAssertEqual(try titles(context, keys, limit: 4_000, offset: 1_990), Array(expected.dropFirst(1_990)))
      }
      stack.statements?.reset()
      XCTAssertEqual(try titles(context, orders[0].0, limit: 700).count, 700)
      XCTAssertLessThanOrEqual(stack.statements?.count ?? 0, 3, "the first are found, and read by lists of their keys")
    }
  }
}
