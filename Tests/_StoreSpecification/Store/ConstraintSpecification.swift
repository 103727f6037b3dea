import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// No two objects have the same values under a uniqueness constraint.
public final class ConstraintSpecification: StoreSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testInsertingDuplicateValuesConflicts", { $0.testInsertingDuplicateValuesConflicts }),
        ("testUpdatingToDuplicateValuesConflicts", { $0.testUpdatingToDuplicateValuesConflicts }),
        ("testTwoObjectsOfOneSaveCanConflict", { $0.testTwoObjectsOfOneSaveCanConflict }),
        ("testNilValuesDoNotConflict", { $0.testNilValuesDoNotConflict }),
        ("testCompoundConstraintComparesAllItsValues", { $0.testCompoundConstraintComparesAllItsValues }),
        ("testStringsConflictByTheirBytes", { $0.testStringsConflictByTheirBytes }),
        ("testUniqueValuesCanBeSwappedInOneSave", { $0.testUniqueValuesCanBeSwappedInOneSave }),
        ("testUniqueValuesCanRotateInOneSave", { $0.testUniqueValuesCanRotateInOneSave }),
        ("testUniqueValueIsAvailableAfterADeletion", { $0.testUniqueValueIsAvailableAfterADeletion }),
        ("testReplacedUniqueValueIsAvailableInTheSameSave", { $0.testReplacedUniqueValueIsAvailableInTheSameSave }),
        ("testConstraintAppliesToAllSubentities", { $0.testConstraintAppliesToAllSubentities }),
        ("testConflictingSaveWritesNothing", { $0.testConflictingSaveWritesNothing }),
      ] as [(String, (ConstraintSpecification) -> () throws -> Void)])
  }

  func testInsertingDuplicateValuesConflicts() throws {
    let open = try makeStore()
    let first = try open.insert("Tag", ["name": .text("red")])
    let second = try open.newID("Tag")
    let error = assertStoreError(.constraintConflict) { try open.save { try $0.insert(second, ["name": .text("red")]) } }
    XCTAssertEqual(error?.constraintConflicts.count, 1)
    let conflict = try XCTUnwrap(error?.constraintConflicts.first)
    XCTAssertEqual(conflict.entityName, "Tag")
    XCTAssertEqual(conflict.constraint, ["name"])
    XCTAssertEqual(conflict.objectIDs, [second])
    XCTAssertEqual(conflict.databaseObjectID, first)
    XCTAssertEqual(try open.count("Tag"), 1)
  }

  func testUpdatingToDuplicateValuesConflicts() throws {
    let open = try makeStore()
    let first = try open.insert("Tag", ["name": .text("red")])
    let second = try open.insert("Tag", ["name": .text("blue")])
    let error = assertStoreError(.constraintConflict) { try open.save { try $0.update(second, ["name": .text("red")]) } }
    XCTAssertEqual(error?.constraintConflicts.first?.objectIDs, [second])
    XCTAssertEqual(error?.constraintConflicts.first?.databaseObjectID, first)
    XCTAssertEqual(try open.value(second, "name"), .text("blue"))
  }

  func testTwoObjectsOfOneSaveCanConflict() throws {
    let open = try makeStore()
    let ids = try open.newIDs("Tag", count: 2)
    let error = assertStoreError(.constraintConflict) {
      try open.save { save in for id in ids { try save.insert(id, ["name": .text("red")]) } }
    }
    let conflict = try XCTUnwrap(error?.constraintConflicts.first)
    XCTAssertEqual(Set(conflict.objectIDs), Set(ids))
    XCTAssertNil(conflict.databaseObjectID)
    XCTAssertEqual(try open.count("Tag"), 0)
  }

  func testNilValuesDoNotConflict() throws {
    let open = try makeStore()
    try open.insert("Tag", [:])
    try open.insert("Tag", [:])
    try open.insert("Book", ["title": .text("same")])
    try open.insert("Book", ["title": .text("same")])
    XCTAssertEqual(try open.count("Book"), 2, "A compound constraint with a missing value does not clash either.")
  }

  func testCompoundConstraintComparesAllItsValues() throws {
    let open = try makeStore()
    try open.insert("Book", ["title": .text("Poems"), "year": .int(1900)])
    try open.insert("Book", ["title": .text("Poems"), "year": .int(1901)])
    try open.insert("Book", ["title": .text("Songs"), "year": .int(1900)])
    let error = assertStoreError(.constraintConflict) { try open.insert("Book", ["title": .text("Poems"), "year": .int(1901)]) }
    XCTAssertEqual(error?.constraintConflicts.first?.constraint, ["title", "year"])
  }

  func testStringsConflictByTheirBytes() throws {
    let open = try makeStore()
    for name in ["a", "A", "é", "e\u{301}", "a ", ""] { try open.insert("Tag", ["name": .text(name)]) }
    XCTAssertEqual(try open.count("Tag"), 6)
    assertStoreError(.constraintConflict) { try open.insert("Tag", ["name": .text("")]) }
  }

  func testUniqueValuesCanBeSwappedInOneSave() throws {
    let open = try makeStore()
    let red = try open.insert("Tag", ["name": .text("red")])
    let blue = try open.insert("Tag", ["name": .text("blue")])
    try open.save { save in
      try save.update(red, ["name": .text("blue")])
      try save.update(blue, ["name": .text("red")])
    }
    XCTAssertEqual(try open.value(red, "name"), .text("blue"))
    XCTAssertEqual(try open.value(blue, "name"), .text("red"))
  }

  func testUniqueValuesCanRotateInOneSave() throws {
    let open = try makeStore()
    let books = try (0..<5).map { try open.insert("Book", ["title": .text("volume"), "year": .int(Int64($0)), "isbn": .text("\($0)")]) }
    try open.save { save in
      for (index, book) in books.enumerated() {
        try save.update(book, ["year": .int(Int64((index + 1) % 5)), "isbn": .text("\((index + 2) % 5)")])
      }
    }
    XCTAssertEqual(try books.map { try open.value($0, "year") }, [1, 2, 3, 4, 0].map { .int($0) })
    XCTAssertEqual(try books.map { try open.value($0, "isbn") }, [2, 3, 4, 0, 1].map { .text("\($0)") })
  }

  func testUniqueValueIsAvailableAfterADeletion() throws {
    let open = try makeStore()
    let tag = try open.insert("Tag", ["name": .text("red")])
    try open.save { try $0.delete(tag) }
    try open.insert("Tag", ["name": .text("red")])
    XCTAssertEqual(try open.count("Tag"), 1)
  }

  func testReplacedUniqueValueIsAvailableInTheSameSave() throws {
    let open = try makeStore()
    let tag = try open.insert("Tag", ["name": .text("red")])
    try open.save { save in
      try save.insert("Tag", ["name": .text("red")])
      try save.update(tag, ["name": .text("old red")])
    }
    XCTAssertEqual(Set(try open.texts("name", FetchSpecification(entityName: "Tag"))), ["red", "old red"])
  }

  func testConstraintAppliesToAllSubentities() throws {
    let open = try makeStore(SpecificationModels.assets)
    let photo = try open.insert("Photo", ["code": .text("A1")])
    let clip = try open.newID("Clip")
    let error = assertStoreError(.constraintConflict) { try open.save { try $0.insert(clip, ["code": .text("A1")]) } }
    XCTAssertEqual(error?.constraintConflicts.first?.databaseObjectID, photo)
    XCTAssertEqual(error?.constraintConflicts.first?.entityName, "Asset", "It is the entity that declares the constraint.")
    try open.insert("Clip", ["code": .text("A2"), "start": .int(1)])
    let own = assertStoreError(.constraintConflict) { try open.insert("Clip", ["code": .text("A3"), "start": .int(1)]) }
    XCTAssertEqual(own?.constraintConflicts.first?.entityName, "Clip")
  }

  func testConflictingSaveWritesNothing() throws {
    let open = try makeStore()
    let tag = try open.insert("Tag", ["name": .text("red")])
    let author = try open.insert("Author", ["name": .text("Ada")])
    assertStoreError(.constraintConflict) {
      try open.save { save in
        try save.update(author, ["name": .text("Eve")])
        try save.insert("Author", ["name": .text("new")])
        try save.insert("Tag", ["name": .text("red")])
      }
    }
    XCTAssertEqual(try open.texts("name", FetchSpecification(entityName: "Author")), ["Ada"])
    XCTAssertEqual(try open.ids(FetchSpecification(entityName: "Tag")), [tag])
  }
}
