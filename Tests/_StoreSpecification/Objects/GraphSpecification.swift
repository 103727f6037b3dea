import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// Relationships between managed objects: inverses, order, inheritance; saved and read again.
public final class GraphSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testAToOneRelationshipKeepsItsInverse", { $0.testAToOneRelationshipKeepsItsInverse }),
        ("testAMemberMovesFromOneOwnerToAnother", { $0.testAMemberMovesFromOneOwnerToAnother }),
        ("testManyToManyIsKeptOnBothSides", { $0.testManyToManyIsKeptOnBothSides }),
        ("testSymmetricRelationshipIsUpdatedOnBothSides", { $0.testSymmetricRelationshipIsUpdatedOnBothSides }),
        ("testOneToOneReplacesThePreviousPartner", { $0.testOneToOneReplacesThePreviousPartner }),
        ("testRelationshipsWithoutInverseAreKept", { $0.testRelationshipsWithoutInverseAreKept }),
        ("testAnOrderedRelationshipKeepsItsOrder", { $0.testAnOrderedRelationshipKeepsItsOrder }),
        ("testOrderedManyToManyHasAnOrderOnEachSide", { $0.testOrderedManyToManyHasAnOrderOnEachSide }),
        ("testMembersAreAddedWithoutReadingTheOthers", { $0.testMembersAreAddedWithoutReadingTheOthers }),
        ("testSubentitiesAreFetchedAndReferenced", { $0.testSubentitiesAreFetchedAndReferenced }),
        ("testRandomGraphRoundTrips", { $0.testRandomGraphRoundTrips }),
      ] as [(String, (GraphSpecification) -> () throws -> Void)])
  }

  private func titles(_ object: ManagedObject, _ key: String, _ name: String = "title") -> [String] {
    object.members(key).compactMap { $0.text(name) }.sorted()
  }

  func testAToOneRelationshipKeepsItsInverse() throws {
    let open = try makeStore()
    let context = open.newContext()
    let ada = try context.insert("Author", ["name": "Ada"])
    let book = try context.insert("Book", ["title": "Notes", "author": ada])
    XCTAssertEqual(ada.members("books"), [book])
    try ada.setValue(Set<ManagedObject>(), forKey: "books")
    XCTAssertNil(book.object("author"))
    try ada.setValue([book], forKey: "books")
    XCTAssertTrue(book.object("author") === ada)
    try context.save()
    let other = open.newContext()
    XCTAssertEqual(titles(try find("Author", "name", "Ada", in: other), "books"), ["Notes"])
    XCTAssertEqual(try find("Book", "title", "Notes", in: other).object("author")?.text("name"), "Ada")
  }

  func testAMemberMovesFromOneOwnerToAnother() throws {
    let open = try makeStore()
    let context = open.newContext()
    let (ada, bob) = (try context.insert("Author", ["name": "Ada"]), try context.insert("Author", ["name": "Bob"]))
    let book = try context.insert("Book", ["title": "Notes", "author": ada])
    try context.save()
    try bob.setValue([book], forKey: "books")
    XCTAssertEqual(ada.members("books"), [])
    XCTAssertTrue(book.object("author") === bob)
    try context.save()
    let other = open.newContext()
    XCTAssertEqual(titles(try find("Author", "name", "Ada", in: other), "books"), [])
    XCTAssertEqual(titles(try find("Author", "name", "Bob", in: other), "books"), ["Notes"])
  }

  func testManyToManyIsKeptOnBothSides() throws {
    let open = try makeStore()
    let context = open.newContext()
    let tags = try ["red", "blue"].map { try context.insert("Tag", ["name": $0]) }
    let books = try ["1", "2"].map { try context.insert("Book", ["title": $0]) }
    try books[0].setValue(Set(tags), forKey: "tags")
    try tags[1].setValue(Set(books), forKey: "books")
    try context.save()
    var other = open.newContext()
    XCTAssertEqual(titles(try find("Tag", "name", "blue", in: other), "books"), ["1", "2"])
    XCTAssertEqual(titles(try find("Book", "title", "1", in: other), "tags", "name"), ["blue", "red"])
    let blue = try find("Tag", "name", "blue", in: other)
    try find("Book", "title", "1", in: other).setValue(Set<ManagedObject>(), forKey: "tags")
    XCTAssertEqual(titles(blue, "books"), ["2"])
    try other.save()
    other = open.newContext()
    XCTAssertEqual(titles(try find("Tag", "name", "red", in: other), "books"), [])
    XCTAssertEqual(titles(try find("Tag", "name", "blue", in: other), "books"), ["2"])
  }

  func testSymmetricRelationshipIsUpdatedOnBothSides() throws {
    let open = try makeStore()
    let context = open.newContext()
    let people = try ["a", "b", "c"].map { try context.insert("Author", ["name": $0]) }
    try people[0].setValue(Set(people[1...]), forKey: "friends")
    XCTAssertEqual(people[2].members("friends"), [people[0]])
    try context.save()
    var other = open.newContext()
    XCTAssertEqual(titles(try find("Author", "name", "a", in: other), "friends", "name"), ["b", "c"])
    XCTAssertEqual(titles(try find("Author", "name", "b", in: other), "friends", "name"), ["a"])
    try find("Author", "name", "b", in: other).setValue(Set<ManagedObject>(), forKey: "friends")
    try other.save()
    other = open.newContext()
    XCTAssertEqual(titles(try find("Author", "name", "a", in: other), "friends", "name"), ["c"])
    XCTAssertEqual(titles(try find("Author", "name", "b", in: other), "friends", "name"), [])
  }

  func testOneToOneReplacesThePreviousPartner() throws {
    let open = try makeStore()
    let context = open.newContext()
    let people = try ["a", "b", "c"].map { try context.insert("Author", ["name": $0]) }
    try people[0].setValue(people[1], forKey: "spouse")
    try context.save()
    XCTAssertTrue(people[1].object("spouse") === people[0])
    try people[2].setValue(people[0], forKey: "spouse")
    XCTAssertNil(people[1].object("spouse"))
    try context.save()
    let other = open.newContext()
    XCTAssertEqual(try find("Author", "name", "a", in: other).object("spouse")?.text("name"), "c")
    XCTAssertEqual(try find("Author", "name", "c", in: other).object("spouse")?.text("name"), "a")
    XCTAssertNil(try find("Author", "name", "b", in: other).object("spouse"))
  }

  func testRelationshipsWithoutInverseAreKept() throws {
    let open = try makeStore()
    let context = open.newContext()
    let books = try ["1", "2"].map { try context.insert("Book", ["title": $0]) }
    for name in ["left", "right"] { try context.insert("Shelf", ["name": name, "hidden": Set(books), "first": books[0]]) }
    try context.save()
    let other = open.newContext()
    for name in ["left", "right"] {
      let shelf = try find("Shelf", "name", name, in: other)
      XCTAssertEqual(titles(shelf, "hidden"), ["1", "2"])
      XCTAssertEqual(shelf.object("first")?.text("title"), "1")
    }
  }

  func testAnOrderedRelationshipKeepsItsOrder() throws {
    let open = try makeStore()
    let context = open.newContext()
    let chapters = try (0..<5).map { try context.insert("Chapter", ["title": "\($0)"]) }
    let book = try context.insert("Book", ["title": "1"])
    try book.setValue([3, 1, 4, 0].map { chapters[$0] }, forKey: "chapters")
    try context.save()
    func order() throws -> [String] {
      try find("Book", "title", "1", in: open.newContext()).list("chapters").compactMap { $0.text("title") }
    }
    XCTAssertEqual(try order(), ["3", "1", "4", "0"])
    try book.setValue([0, 2, 3].map { chapters[$0] }, forKey: "chapters")
    XCTAssertNil(chapters[1].object("book"))
    try context.save()
    XCTAssertEqual(try order(), ["0", "2", "3"])
    try chapters[4].setValue(book, forKey: "book")
    try context.save()
    XCTAssertEqual(try order(), ["0", "2", "3", "4"], "A member that joins from its own side comes last.")
  }

  func testOrderedManyToManyHasAnOrderOnEachSide() throws {
    let open = try makeStore()
    let context = open.newContext()
    let books = try (0..<3).map { try context.insert("Book", ["title": "\($0)"]) }
    let shelves = try ["left", "right"].map { try context.insert("Shelf", ["name": $0]) }
    try shelves[0].setValue([books[2], books[0], books[1]], forKey: "books")
    try shelves[1].setValue([books[1], books[2]], forKey: "books")
    try books[1].setValue([shelves[1], shelves[0]], forKey: "shelves")
    try context.save()
    let other = open.newContext()
    XCTAssertEqual(try find("Shelf", "name", "left", in: other).list("books").compactMap { $0.text("title") }, ["2", "0", "1"])
    XCTAssertEqual(try find("Shelf", "name", "right", in: other).list("books").compactMap { $0.text("title") }, ["1", "2"])
    XCTAssertEqual(try find("Book", "title", "1", in: other).list("shelves").compactMap { $0.text("name") }, ["right", "left"])
  }

  func testMembersAreAddedWithoutReadingTheOthers() throws {
    let open = try makeStore()
    let context = open.newContext()
    let ada = try context.insert("Author", ["name": "Ada"])
    try context.insert("Book", ["title": "1", "author": ada])
    try context.save()
    let other = open.newContext()
    let author = try find("Author", "name", "Ada", in: other)
    try other.insert("Book", ["title": "2", "author": author])
    XCTAssertEqual(titles(author, "books"), ["1", "2"])
    try find("Book", "title", "1", in: other).setValue(nil, forKey: "author")
    XCTAssertEqual(titles(author, "books"), ["2"])
    try other.save()
    XCTAssertEqual(titles(author, "books"), ["2"])
    XCTAssertEqual(titles(try find("Author", "name", "Ada", in: open.newContext()), "books"), ["2"])
  }

  func testSubentitiesAreFetchedAndReferenced() throws {
    let open = try makeStore(SpecificationModels.assets)
    let context = open.newContext()
    let photo = try context.insert("Photo", ["name": "sea", "title": "Sea", "width": 800])
    let clip = try context.insert("Clip", ["name": "wave", "title": 7, "start": 3, "poster": photo])
    try context.insert("Note", ["body": "p", "asset": photo])
    try context.insert("Note", ["body": "c", "asset": clip, "assets": Set([photo, clip])])
    try context.save()
    assertStoreError(.invalidRequest) { try context.insertObject(entityName: "Asset") }
    let other = open.newContext()
    let assets = try other.all("Asset")
    XCTAssertEqual(Set(assets.map(\.entity.name)), ["Photo", "Clip"])
    let note = try find("Note", "body", "c", in: other)
    XCTAssertEqual(note.object("asset")?.entity.name, "Clip")
    XCTAssertEqual(note.object("asset")?.integer("title"), 7)
    XCTAssertEqual(Set(note.members("assets").map(\.entity.name)), ["Photo", "Clip"])
    XCTAssertTrue(note.members("assets").isSubset(of: assets), "An object found by a relationship is the one that was fetched.")
    XCTAssertEqual(note.object("asset")?.object("poster")?.text("title"), "Sea")
    var exact = FetchRequest<ManagedObject>(entityName: "Video")
    XCTAssertEqual(try other.count(for: exact), 1)
    exact.includesSubentities = false
    XCTAssertEqual(try other.count(for: exact), 0)
  }

  func testRandomGraphRoundTrips() throws {
    let open = try makeStore()
    var generator = SeededGenerator(seed: 14)
    let context = open.newContext()
    let authors = try (0..<12).map { try context.insert("Author", ["name": "\($0)"]) }
    let books = try (0..<20).map { try context.insert("Book", ["title": "\($0)"]) }
    let shelves = try (0..<5).map { try context.insert("Shelf", ["name": "\($0)"]) }
    for round in 0..<12 {
      for _ in 0..<15 {
        let (author, book) = (authors.randomElement(using: &generator), books.randomElement(using: &generator))
        let shelf = shelves.randomElement(using: &generator)
        guard let author, let book, let shelf else { continue }
        switch Int.random(in: 0..<7, using: &generator) {
        case 0: try book.setValue(author, forKey: "author")
        case 1: try book.setValue(nil, forKey: "author")
        case 2: try author.setValue(Set(books.filter { _ in Int.random(in: 0..<6, using: &generator) == 0 }), forKey: "books")
        case 3: try shelf.setValue(books.filter { _ in Bool.random(using: &generator) }.shuffled(using: &generator), forKey: "books")
        case 4: try author.setValue(Set(authors.filter { _ in Int.random(in: 0..<4, using: &generator) == 0 }), forKey: "friends")
        case 5: try author.setValue(authors.randomElement(using: &generator), forKey: "spouse")
        default: try book.setValue(shelves.shuffled(using: &generator), forKey: "shelves")
        }
      }
      let expected = try describe(authors, books, shelves)
      try context.save()
      XCTAssertEqual(try describe(authors, books, shelves), expected, "The save changes nothing in memory (round \(round)).")
      let other = open.newContext()
      func sorted(_ entity: String, _ key: String) throws -> [ManagedObject] {
        try other.all(entity).sorted { (Int($0.text(key) ?? "") ?? -1) < (Int($1.text(key) ?? "") ?? -1) }
      }
      let found = try describe(try sorted("Author", "name"), try sorted("Book", "title"), try sorted("Shelf", "name"))
      XCTAssertEqual(found, expected, "round \(round)")
      if found != expected { return }
    }
  }

  private func describe(_ authors: [ManagedObject], _ books: [ManagedObject], _ shelves: [ManagedObject]) throws -> [String] {
    authors.map {
      "\($0.text("name") ?? ""): \(titles($0, "books")) \(titles($0, "friends", "name")) \($0.object("spouse")?.text("name") ?? "-")"
    }
      + books.map {
        "\($0.text("title") ?? ""): \($0.object("author")?.text("name") ?? "-") \($0.list("shelves").compactMap { $0.text("name") })"
      }
      + shelves.map { "\($0.text("name") ?? ""): \($0.list("books").compactMap { $0.text("title") })" }
  }
}
