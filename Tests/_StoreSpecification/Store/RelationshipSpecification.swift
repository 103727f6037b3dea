import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// The members of to-many relationships, in any form of storage.
public final class RelationshipSpecification: StoreSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testAToManyRelationshipFollowsItsToOneInverse", { $0.testAToManyRelationshipFollowsItsToOneInverse }),
        ("testManyToManyIsReadFromBothSides", { $0.testManyToManyIsReadFromBothSides }),
        ("testLinksAreRemoved", { $0.testLinksAreRemoved }),
        ("testAddingAnExistingLinkHasNoEffect", { $0.testAddingAnExistingLinkHasNoEffect }),
        ("testSelfReferencingRelationshipIsReadFromBothEnds", { $0.testSelfReferencingRelationshipIsReadFromBothEnds }),
        ("testSelfReferencingToOneRelationshipWorks", { $0.testSelfReferencingToOneRelationshipWorks }),
        ("testARelationshipWithoutInverseKeepsItsMembers", { $0.testARelationshipWithoutInverseKeepsItsMembers }),
        ("testDeletingARowRemovesItsLinks", { $0.testDeletingARowRemovesItsLinks }),
        ("testMembersOfManyObjectsAreReadTogether", { $0.testMembersOfManyObjectsAreReadTogether }),
        ("testAMissingObjectHasNoMembers", { $0.testAMissingObjectHasNoMembers }),
        ("testLinkChangesDoNotChangeVersions", { $0.testLinkChangesDoNotChangeVersions }),
        ("testMembersCanBeInsertedInTheSameSave", { $0.testMembersCanBeInsertedInTheSameSave }),
      ] as [(String, (RelationshipSpecification) -> () throws -> Void)])
  }

  private func references(_ ids: ManagedObjectID...) -> Set<ObjectReference> { Set(ids.map(\.reference)) }

  private func books(_ open: OpenStore, _ titles: [String]) throws -> [ManagedObjectID] {
    try titles.map { try open.insert("Book", ["title": .text($0)]) }
  }

  func testAToManyRelationshipFollowsItsToOneInverse() throws {
    let open = try makeStore()
    let ada = try open.insert("Author", ["name": .text("Ada")])
    let bob = try open.insert("Author", ["name": .text("Bob")])
    let first = try open.insert("Book", ["title": .text("1"), "author": ada.slot])
    let second = try open.insert("Book", ["title": .text("2"), "author": ada.slot])
    XCTAssertEqual(Set(try open.members(ada, "books")), references(first, second))
    XCTAssertEqual(try open.members(bob, "books"), [])
    try open.save { try $0.update(second, ["author": bob.slot]) }
    XCTAssertEqual(try open.members(ada, "books"), [first.reference])
    XCTAssertEqual(try open.members(bob, "books"), [second.reference])
    try open.save { try $0.update(first, ["author": .null]) }
    XCTAssertEqual(try open.members(ada, "books"), [])
  }

  func testManyToManyIsReadFromBothSides() throws {
    let open = try makeStore()
    let books = try books(open, ["1", "2", "3"])
    let red = try open.insert("Tag", ["name": .text("red")])
    let blue = try open.insert("Tag", ["name": .text("blue")])
    try open.save { save in
      try save.change(books[0], "tags", add: [red, blue])
      try save.change(blue, "books", add: [books[1]])
    }
    XCTAssertEqual(Set(try open.members(books[0], "tags")), references(red, blue))
    XCTAssertEqual(try open.members(books[1], "tags"), [blue.reference])
    XCTAssertEqual(try open.members(books[2], "tags"), [])
    XCTAssertEqual(try open.members(red, "books"), [books[0].reference])
    XCTAssertEqual(Set(try open.members(blue, "books")), references(books[0], books[1]))
  }

  func testLinksAreRemoved() throws {
    let open = try makeStore()
    let books = try books(open, ["1", "2"])
    let tag = try open.insert("Tag", ["name": .text("red")])
    try open.save { try $0.change(tag, "books", add: books) }
    try open.save { try $0.change(tag, "books", remove: [books[0]]) }
    XCTAssertEqual(try open.members(tag, "books"), [books[1].reference])
    XCTAssertEqual(try open.members(books[0], "tags"), [])
    try open.save { try $0.change(books[1], "tags", remove: [tag]) }
    XCTAssertEqual(try open.members(tag, "books"), [])
  }

  func testAddingAnExistingLinkHasNoEffect() throws {
    let open = try makeStore()
    let book = try books(open, ["1"])[0]
    let tag = try open.insert("Tag", ["name": .text("red")])
    try open.save { try $0.change(book, "tags", add: [tag]) }
    try open.save { try $0.change(book, "tags", add: [tag]) }
    XCTAssertEqual(try open.members(book, "tags"), [tag.reference])
    try open.save { try $0.change(book, "tags", remove: [tag]) }
    try open.save { try $0.change(book, "tags", remove: [tag]) }
    XCTAssertEqual(try open.members(book, "tags"), [])
  }

  func testSelfReferencingRelationshipIsReadFromBothEnds() throws {
    let open = try makeStore()
    let people = try ["a", "b", "c"].map { try open.insert("Author", ["name": .text($0)]) }
    // A context sends both ends, since both objects changed.
    try open.save { save in
      try save.change(people[0], "friends", add: [people[1], people[2]])
      try save.change(people[1], "friends", add: [people[0]])
      try save.change(people[2], "friends", add: [people[0]])
    }
    XCTAssertEqual(Set(try open.members(people[0], "friends")), references(people[1], people[2]))
    XCTAssertEqual(try open.members(people[1], "friends"), [people[0].reference])
    try open.save { save in
      try save.change(people[0], "friends", remove: [people[1]])
      try save.change(people[1], "friends", remove: [people[0]])
    }
    XCTAssertEqual(try open.members(people[0], "friends"), [people[2].reference])
    XCTAssertEqual(try open.members(people[1], "friends"), [])
    XCTAssertEqual(try open.members(people[2], "friends"), [people[0].reference])
  }

  func testSelfReferencingToOneRelationshipWorks() throws {
    let open = try makeStore()
    let teacher = try open.insert("Author", ["name": .text("teacher")])
    let pupils = try (0..<3).map { _ in try open.insert("Author", ["mentor": teacher.slot]) }
    XCTAssertEqual(Set(try open.members(teacher, "pupils")), Set(pupils.map(\.reference)))
    try open.save { try $0.update(teacher, ["mentor": teacher.slot]) }
    XCTAssertTrue(try open.members(teacher, "pupils").contains(teacher.reference), "An object may refer to itself.")
  }

  func testARelationshipWithoutInverseKeepsItsMembers() throws {
    let open = try makeStore()
    let books = try books(open, ["1", "2", "3"])
    let left = try open.insert("Shelf", ["name": .text("left"), "first": books[0].slot])
    let right = try open.insert("Shelf", ["name": .text("right"), "first": books[0].slot])
    try open.save { save in
      try save.change(left, "hidden", add: [books[0], books[1]])
      try save.change(right, "hidden", add: [books[1], books[2]])
    }
    XCTAssertEqual(Set(try open.members(left, "hidden")), references(books[0], books[1]))
    XCTAssertEqual(Set(try open.members(right, "hidden")), references(books[1], books[2]))
    try open.save { try $0.change(left, "hidden", remove: [books[1]]) }
    XCTAssertEqual(Set(try open.members(right, "hidden")), references(books[1], books[2]))
    XCTAssertEqual(try open.value(right, "first"), books[0].slot)
  }

  func testDeletingARowRemovesItsLinks() throws {
    let open = try makeStore()
    let books = try books(open, ["1", "2"])
    let tag = try open.insert("Tag", ["name": .text("red")])
    let shelf = try open.insert("Shelf", [:])
    try open.save { save in
      try save.change(tag, "books", add: books)
      try save.change(shelf, "hidden", add: books)
      try save.change(shelf, "books", add: books, order: books)
    }
    try open.save { try $0.delete(books[0]) }
    XCTAssertEqual(try open.members(tag, "books"), [books[1].reference])
    XCTAssertEqual(try open.members(shelf, "hidden"), [books[1].reference])
    XCTAssertEqual(try open.members(shelf, "books"), [books[1].reference])
    try open.save { save in
      try save.delete(tag)
      try save.delete(shelf)
    }
    XCTAssertEqual(try open.members(books[1], "tags"), [])
    XCTAssertEqual(try open.members(books[1], "shelves"), [])
  }

  func testMembersOfManyObjectsAreReadTogether() throws {
    let open = try makeStore()
    let authors = try open.newIDs("Author", count: 1_200)
    let tags = try open.newIDs("Tag", count: 1_200)
    let books = try open.newIDs("Book", count: 1_200)
    try open.save { save in
      for (index, author) in authors.enumerated() { try save.insert(author, ["born": .int(Int64(index))]) }
      for (index, tag) in tags.enumerated() { try save.insert(tag, ["name": .text("\(index)")]) }
      // Every second author has two books; book n has the tags n and n + 1.
      for (index, book) in books.enumerated() { try save.insert(book, ["author": authors[index / 2 * 2].slot]) }
      for (index, book) in books.enumerated() { try save.change(book, "tags", add: [tags[index], tags[(index + 1) % 1_200]]) }
    }
    let asked = Array(authors.reversed())
    let byAuthor = try open.store.newValues(
      forRelationship: open.relationship("Author", "books"), forObjectsWith: asked, in: open.scope)
    XCTAssertEqual(byAuthor.ends.count, 1_200)
    for (position, index) in (0..<1_200).reversed().enumerated() {
      let expected = index % 2 == 0 ? references(books[index], books[index + 1]) : []
      if Set(byAuthor[position]) != expected { XCTFail("The books of author \(index) are others'.") }
    }
    let byBook = try open.store.newValues(forRelationship: open.relationship("Book", "tags"), forObjectsWith: books, in: open.scope)
    for index in 0..<1_200 where Set(byBook[index]) != references(tags[index], tags[(index + 1) % 1_200]) {
      XCTFail("The tags of book \(index) are others'.")
    }
  }

  func testAMissingObjectHasNoMembers() throws {
    let open = try makeStore()
    let never = try open.newID("Author")
    XCTAssertEqual(try open.members(never, "books"), [])
    XCTAssertEqual(try open.members(never, "friends"), [])
  }

  func testLinkChangesDoNotChangeVersions() throws {
    let open = try makeStore()
    let book = try books(open, ["1"])[0]
    let tag = try open.insert("Tag", ["name": .text("red")])
    try open.save { try $0.change(book, "tags", add: [tag]) }
    XCTAssertEqual(try open.row(book)?.version, 1)
    XCTAssertEqual(try open.row(tag)?.version, 1)
  }

  func testMembersCanBeInsertedInTheSameSave() throws {
    let open = try makeStore()
    let book = try open.newID("Book")
    let tag = try open.newID("Tag")
    try open.save { save in
      try save.change(book, "tags", add: [tag])
      try save.insert(book, ["title": .text("1")])
      try save.insert(tag, ["name": .text("red")])
    }
    XCTAssertEqual(try open.members(tag, "books"), [book.reference])
  }
}
