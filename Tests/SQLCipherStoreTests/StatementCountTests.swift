import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification

@testable import SQLCipherStore

/// The number and kind of statements per request.
final class StatementCountTests: XCTestCase {
  private func library() throws -> (store: TestStore, open: OpenStore, books: [ManagedObjectID], authors: [ManagedObjectID]) {
    let store = try TestStore()
    let open = try store.open()
    let (books, authors) = try open.save { save in
      let authors = try (0..<10).map { try save.insert("Author", ["name": .text("a\($0)")]) }
      let books = try (0..<50).map {
        try save.insert("Book", ["title": .text("t\($0)"), "year": .int(Int64($0)), "author": authors[$0 % 10].slot])
      }
      return (books, authors)
    }
    return (store, open, books, authors)
  }

  func testFetchUsesOneStatement() throws {
    let (store, open, _, _) = try library()
    var fetch = FetchSpecification(entityName: "Book", predicate: .compare("author.name", .equal, "a3"))
    fetch.sortDescriptors = [FetchSortDescriptor("title")]
    XCTAssertLessThanOrEqual(try store.statements { _ = try open.rows(fetch) }.count, 2, "the first asks how many authors there are")
    XCTAssertEqual(try store.statements { XCTAssertEqual(try open.rows(fetch).count, 5) }.count, 1)
  }

  func testOneOrManyFaultsUseOneStatement() throws {
    let (store, open, books, _) = try library()
    XCTAssertEqual(try store.statements { XCTAssertNotNil(try open.row(books[7])) }.count, 1)
    let statements = try store.statements {
      XCTAssertEqual(try open.store.newValuesForObjects(with: books, in: open.scope).count, 50)
    }
    XCTAssertEqual(statements.count, 1)
  }

  func testMembersOfManyObjectsUseOneStatement() throws {
    let (store, open, _, authors) = try library()
    let relationship = try open.relationship("Author", "books")
    let statements = try store.statements {
      let values = try open.store.newValues(forRelationship: relationship, forObjectsWith: authors, in: open.scope)
      for position in authors.indices { XCTAssertEqual(values[position].count, 5) }
    }
    XCTAssertEqual(statements.count, 1)
  }

  func testInsertionsUseOneStatementPerTwentyRows() throws {
    let store = try TestStore()
    let open = try store.open()
    let ids = try open.newIDs("Tag", count: 105)
    let pending = open.newSave()
    for (index, id) in ids.enumerated() { try pending.insert(id, ["name": .text("\(index)")]) }
    let statements = try store.statements { try pending.commit() }
    XCTAssertEqual(statements.count, 6, "five of twenty rows, one of five")
  }

  func testUpdateWritesOnlyTheChangedColumns() throws {
    let (store, open, books, _) = try library()
    let pending = open.newSave()
    try pending.update(books[0], ["pages": .int(5)])
    XCTAssertEqual(
      try store.statements { try pending.commit() },
      [#"UPDATE OR FAIL "Book" SET "_version" = ?, "pages" = ? WHERE "Book"."_pk" = ? AND "Book"."_version" = ?"#])
  }

  func testOneStatementDeletesManyRows() throws {
    let (store, open, books, _) = try library()
    let pending = open.newSave()
    for book in books { try pending.delete(book) }
    let statements = try store.statements { try pending.commit() }
    // The rows, and the links of the three join tables that books take part in.
    XCTAssertEqual(statements.count, 4)
    XCTAssertEqual(try open.count("Book"), 0)
  }

  func testMoveInAnOrderUsesOneUpdate() throws {
    let store = try TestStore()
    let open = try store.open()
    let (book, chapters) = try open.save { save in
      let book = try save.insert("Book", ["title": .text("b")])
      let chapters = try (0..<20).map { try save.insert("Chapter", ["title": .text("\($0)"), "book": book.slot]) }
      try save.change(book, "chapters", order: chapters)
      return (book, chapters)
    }
    var order = chapters
    order.insert(order.removeLast(), at: 3)
    let pending = open.newSave()
    try pending.change(book, "chapters", order: order)
    let statements = try store.statements { try pending.commit() }
    XCTAssertEqual(statements.count, 2, "one reads the order, one moves: \(statements)")
    XCTAssertEqual(try open.members(book, "chapters"), order.map(\.reference))
  }

  func testKeysAreReservedInThousands() throws {
    let store = try TestStore()
    let open = try store.open()
    XCTAssertEqual(try store.statements { _ = try open.newID("Tag") }, ["reserve keys"])
    XCTAssertEqual(try store.statements { _ = try open.newIDs("Tag", count: 999) }, [])
    XCTAssertEqual(try store.statements { _ = try open.newID("Tag") }, ["reserve keys"])
  }
}
