import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// Ordered relationships keep their order on insertions, moves and removals.
public final class OrderingSpecification: StoreSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testOneToManyKeepsItsOrder", { $0.testOneToManyKeepsItsOrder }),
        ("testManyToManyIsOrderedIndependentlyOnEachSide", { $0.testManyToManyIsOrderedIndependentlyOnEachSide }),
        ("testAMemberMovesToAnotherOwner", { $0.testAMemberMovesToAnotherOwner }),
        ("testRepeatedInsertionAtTheFrontKeepsTheOrder", { $0.testRepeatedInsertionAtTheFrontKeepsTheOrder }),
        ("testRandomMovesKeepTheOrder", { $0.testRandomMovesKeepTheOrder }),
        ("testOrderSurvivesReopening", { $0.testOrderSurvivesReopening }),
      ] as [(String, (OrderingSpecification) -> () throws -> Void)])
  }

  private func order(_ open: OpenStore, _ id: ManagedObjectID, _ name: String) throws -> [Int64] { try open.members(id, name).map(\.key) }

  func testOneToManyKeepsItsOrder() throws {
    let open = try makeStore()
    let book = try open.newID("Book")
    let chapters = try open.newIDs("Chapter", count: 4)
    try open.save { save in
      try save.insert(book, ["title": .text("1")])
      for chapter in chapters { try save.insert(chapter, ["book": book.slot]) }
      try save.change(book, "chapters", add: chapters, order: [2, 0, 3, 1].map { chapters[$0] })
    }
    XCTAssertEqual(try order(open, book, "chapters"), [2, 0, 3, 1].map { chapters[$0].key })
    try open.save { try $0.change(book, "chapters", order: chapters.reversed()) }
    XCTAssertEqual(try order(open, book, "chapters"), chapters.reversed().map(\.key))
    try open.save { save in
      try save.delete(chapters[2])
      try save.change(book, "chapters", order: [chapters[1], chapters[3], chapters[0]])
    }
    XCTAssertEqual(try order(open, book, "chapters"), [1, 3, 0].map { chapters[$0].key })
  }

  func testManyToManyIsOrderedIndependentlyOnEachSide() throws {
    let open = try makeStore()
    let books = try (0..<3).map { try open.insert("Book", ["pages": .int(Int64($0))]) }
    let shelves = try (0..<2).map { try open.insert("Shelf", ["name": .text("\($0)")]) }
    try open.save { save in
      try save.change(shelves[0], "books", add: books, order: [books[1], books[2], books[0]])
      try save.change(shelves[1], "books", add: [books[1], books[0]], order: [books[1], books[0]])
      try save.change(books[0], "shelves", order: [shelves[1], shelves[0]])
      try save.change(books[1], "shelves", order: [shelves[0], shelves[1]])
    }
    XCTAssertEqual(try order(open, shelves[0], "books"), [1, 2, 0].map { books[$0].key })
    XCTAssertEqual(try order(open, shelves[1], "books"), [1, 0].map { books[$0].key })
    XCTAssertEqual(try order(open, books[0], "shelves"), [1, 0].map { shelves[$0].key })
    XCTAssertEqual(try order(open, books[1], "shelves"), [0, 1].map { shelves[$0].key })
    try open.save { try $0.change(books[1], "shelves", order: [shelves[1], shelves[0]]) }
    XCTAssertEqual(try order(open, books[1], "shelves"), [1, 0].map { shelves[$0].key })
    XCTAssertEqual(try order(open, shelves[0], "books"), [1, 2, 0].map { books[$0].key }, "The other side keeps its order.")
  }

  func testAMemberMovesToAnotherOwner() throws {
    let open = try makeStore()
    let books = try open.newIDs("Book", count: 2)
    let chapters = try open.newIDs("Chapter", count: 4)
    try open.save { save in
      for book in books { try save.insert(book, [:]) }
      for (index, chapter) in chapters.enumerated() { try save.insert(chapter, ["book": books[index / 2].slot]) }
      try save.change(books[0], "chapters", add: Array(chapters[..<2]), order: Array(chapters[..<2]))
      try save.change(books[1], "chapters", add: Array(chapters[2...]), order: Array(chapters[2...]))
    }
    try open.save { save in
      try save.update(chapters[0], ["book": books[1].slot])
      try save.change(books[0], "chapters", remove: [chapters[0]], order: [chapters[1]])
      try save.change(books[1], "chapters", add: [chapters[0]], order: [chapters[2], chapters[0], chapters[3]])
    }
    XCTAssertEqual(try order(open, books[0], "chapters"), [chapters[1].key])
    XCTAssertEqual(try order(open, books[1], "chapters"), [2, 0, 3].map { chapters[$0].key })
  }

  func testRepeatedInsertionAtTheFrontKeepsTheOrder() throws {
    let open = try makeStore()
    let book = try open.insert("Book", [:])
    var expected: [ManagedObjectID] = []
    for _ in 0..<70 {
      let chapter = try open.newID("Chapter")
      // Always between the first and the second, so that sparse order keys run out of gaps.
      expected.insert(chapter, at: min(1, expected.count))
      try open.save { save in
        try save.insert(chapter, ["book": book.slot])
        try save.change(book, "chapters", add: [chapter], order: expected)
      }
    }
    XCTAssertEqual(try order(open, book, "chapters"), expected.map(\.key))
  }

  func testRandomMovesKeepTheOrder() throws {
    let open = try makeStore()
    var generator = SeededGenerator(seed: 25)
    let shelf = try open.insert("Shelf", [:])
    let books = try (0..<12).map { try open.insert("Book", ["pages": .int(Int64($0))]) }
    var expected: [ManagedObjectID] = []
    for _ in 0..<60 {
      var next = expected
      let book = books[Int.random(in: 0..<books.count, using: &generator)]
      if let position = next.firstIndex(of: book) {
        next.remove(at: position)
        if Bool.random(using: &generator) { next.insert(book, at: Int.random(in: 0...next.count, using: &generator)) }
      } else {
        next.insert(book, at: Int.random(in: 0...next.count, using: &generator))
      }
      let (before, after) = (Set(expected), Set(next))
      try open.save {
        try $0.change(shelf, "books", add: Array(after.subtracting(before)), remove: Array(before.subtracting(after)), order: next)
      }
      expected = next
      XCTAssertEqual(try order(open, shelf, "books"), expected.map(\.key))
    }
  }

  func testOrderSurvivesReopening() throws {
    guard storeUnderTest.keepsRows else { return }
    let folder = try makeFolder()
    var open = try openStore(in: folder)
    let shelf = try open.insert("Shelf", [:])
    let books = try (0..<3).map { try open.insert("Book", ["pages": .int(Int64($0))]) }
    try open.save { try $0.change(shelf, "books", add: books, order: books.reversed()) }
    try open.close()
    open = try openStore(in: folder)
    XCTAssertEqual(try order(open, shelf, "books"), books.reversed().map(\.key))
  }
}
