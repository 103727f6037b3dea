import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Indexes over expressions: created, used by equal expressions, replaced, and omitted from plaintext copies.
final class ExpressionIndexTests: XCTestCase {
  private typealias Models = SpecificationModels

  private func model(_ expressions: String...) throws -> CompiledModel {
    var book = Models.entity(
      "Book",
      [
        Models.text("title"), Models.text("short"), Models.integer("price"), Models.integer("count"), Models.attribute("rating", .double),
        Models.toOne("author", "Author", "books"),
      ])
    book.indexes = expressions.enumerated().map {
      FetchIndexDescription(name: "e\($0)", elements: [FetchIndexElement(expression: $1), FetchIndexElement(property: "count")])
    }
    return try Models.frozen([book, Models.entity("Author", [Models.text("name"), Models.toMany("books", "Book", "author")])])
  }

  private func fill(_ open: OpenStore) throws {
    try open.save { save in
      for number in 0..<30 {
        try save.insert(
          "Book",
          [
            "title": number % 7 == 6 ? .null : .text(number % 3 == 0 ? "ÉMILE \(number)" : "Book \(number)"), "short": .text("s\(number)"),
            "price": .int(Int64(number % 5)), "count": .int(Int64(number)), "rating": .real(Double(number) - 15.5),
          ])
      }
    }
  }

  private func counts(_ format: String, sortedBy key: String? = nil, _ open: OpenStore) throws -> [Slot] {
    var fetch = FetchSpecification(entityName: "Book", predicate: try FetchPredicate(format: format))
    if let key { fetch.sortDescriptors = [FetchSortDescriptor(expression: try FetchExpression(format: key))] }
    fetch.sortDescriptors.append(FetchSortDescriptor("count"))
    return try open.values("count", fetch)
  }

  private func explain(_ format: String, sortedBy key: String? = nil, _ open: OpenStore) throws -> FetchExplanation.StorePart {
    var fetch = FetchSpecification(entityName: "Book", predicate: try FetchPredicate(format: format))
    if let key {
      fetch.sortDescriptors = [FetchSortDescriptor(expression: try FetchExpression(format: key)), FetchSortDescriptor("count")]
    }
    return try open.store.explain(fetch, in: open.scope)
  }

  private let asked = [
    ("lowercase:(title)", "lowercase(title) == 'émile 3'"), ("lowercase:(title)", "lowercase(title) BEGINSWITH 'émile 1'"),
    ("lowercase:(title)", "lowercase(title) IN {'book 1', 'book 2'}"), ("length(title)", "length(title) > 7"),
    ("price * count", "price * count == 24"),
    ("abs:(price - count)", "abs(price - count) BETWEEN {5, 10}"), ("coalesce(title, short)", "coalesce(title, short) == 's13'"),
    ("canonical:(title)", "canonical(title) == 'emile 0'"), ("floor(rating)", "floor(rating) < -10"),
  ]

  func testEquivalentConditionsUseTheIndex() throws {
    for (expression, format) in asked {
      let store = try TestStore()
      let open = try store.open(model(expression))
      try fill(open)
      let other = try TestStore()
      let plain = try other.open(model())
      try fill(plain)
      let expected = try counts(format, plain)
      XCTAssertFalse(expected.isEmpty, format)
      XCTAssertEqual(try counts(format, open), expected, format)
      XCTAssertEqual(try counts("NOT " + format, open), try counts("NOT " + format, plain), format)
      let part = try explain(format, open)
      XCTAssertEqual(
        part.statements.last?.plan.first?.index,
        .init(origin: .declared, entityName: "Book", name: "e0", properties: [expression, "count"]), "\(format): \(part)")
      XCTAssertEqual(part.warnings, [], format)
      XCTAssertEqual(try counts("price >= 0", sortedBy: expression, open), try counts("price >= 0", sortedBy: expression, plain))
      XCTAssertEqual(try explain("TRUEPREDICATE", sortedBy: expression, open).statements.last?.plan.map(\.access), [.indexScan], expression)
    }
  }

  func testIndexExpressionNamesTheFunctionVersion() throws {
    let store = try TestStore()
    try store.open(model("lowercase:(title)")).close()
    let function = "cd_indexed_\(ExpressionFunctions.version)"
    let ddl = try store.ddl()
    XCTAssertTrue(ddl.contains("CREATE INDEX \"i_Book_e0\" ON \"Book\" (\(function)('lowercase:', 2, \"title\"), \"count\")"), "\(ddl)")
  }

  func testUnindexableExpressionsAreSkipped() throws {
    let store = try TestStore()
    let open = try store.open(
      model(
        "title ==", "nothing", "author.name", "price * 2", "random()", "books.@count", "noindex:(price)", "sum(price)", "price", "now()"))
    let ddl = try store.ddl()
    XCTAssertFalse(ddl.contains { $0.contains("i_Book_e") }, "\(ddl)")
    try fill(open)
    XCTAssertEqual(try counts("price * 2 == 8", open).count, 6)
  }

  func testIndexIsAddedAndRemovedWithTheModel() throws {
    let store = try TestStore()
    let first = try store.open(model())
    try fill(first)
    try first.close()
    let with = try store.open(model("lowercase:(title)"))
    XCTAssertEqual(try explain("lowercase(title) == 'émile 3'", with).warnings, [])
    XCTAssertEqual(try counts("lowercase(title) == 'émile 3'", with), [.int(3)])
    try with.insert("Book", ["title": .text("Émile 3"), "count": .int(99)])
    XCTAssertEqual(try counts("lowercase(title) == 'émile 3'", with), [.int(3), .int(99)])
    try with.close()
    let url = store.url
    let (plain, back) = (store.folder.file("plain.sqlite"), store.folder.file("back.store"))
    try waitFor {
      let file = try await SQLCipherStoreFile.unlock(at: url, key: TestStore.key)
      let findings = try await file.verify(.full)
      XCTAssertEqual(findings, [])
      try await file.exportPlaintext(to: plain)
      _ = try await SQLCipherStoreFile.importPlaintext(from: plain, to: back, key: TestStore.key)
    }
    XCTAssertFalse(String(decoding: try Data(contentsOf: plain), as: UTF8.self).contains("cd_indexed"))
    var description = store.description
    description.url = back
    let copy = try OpenStore(description, model: model("lowercase:(title)"))
    XCTAssertEqual(try explain("lowercase(title) == 'émile 3'", copy).warnings, [])
    try copy.close()
    try store.open(model()).close()
    XCTAssertFalse(try store.ddl().contains { $0.contains("cd_indexed") })
  }
}
