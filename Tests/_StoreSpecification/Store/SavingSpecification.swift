import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Saved values are read unchanged, and a save is atomic.
public final class SavingSpecification: StoreSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testValuesOfEveryTypeRoundTrip", { $0.testValuesOfEveryTypeRoundTrip }),
        ("testNilDiffersFromZeroAndEmpty", { $0.testNilDiffersFromZeroAndEmpty }),
        ("testStringsPreserveEveryByte", { $0.testStringsPreserveEveryByte }),
        ("testLargeValuesRoundTrip", { $0.testLargeValuesRoundTrip }),
        ("testUpdateChangesOnlyTheNamedProperties", { $0.testUpdateChangesOnlyTheNamedProperties }),
        ("testUpdateToNilRemovesTheValue", { $0.testUpdateToNilRemovesTheValue }),
        ("testEveryUpdateIncrementsTheVersion", { $0.testEveryUpdateIncrementsTheVersion }),
        ("testDeletedRowIsNotFound", { $0.testDeletedRowIsNotFound }),
        ("testOneSaveCanInsertUpdateAndDelete", { $0.testOneSaveCanInsertUpdateAndDelete }),
        ("testEmptySaveSucceeds", { $0.testEmptySaveSucceeds }),
        ("testRowsCanReferToEachOtherInAnyOrder", { $0.testRowsCanReferToEachOtherInAnyOrder }),
        ("testOneSaveCanWriteThousandsOfRows", { $0.testOneSaveCanWriteThousandsOfRows }),
        ("testAFailedSaveChangesNothing", { $0.testAFailedSaveChangesNothing }),
        ("testDeletedRowCanBeReplacedInTheSameSave", { $0.testDeletedRowCanBeReplacedInTheSameSave }),
      ] as [(String, (SavingSpecification) -> () throws -> Void)])
  }

  func testValuesOfEveryTypeRoundTrip() throws {
    let open = try makeStore(SpecificationModels.types)
    let samples: [[String: Slot]] = [
      [
        "aInteger16": .int(-32_768), "aInteger32": .int(Int64(Int32.min)), "aInteger64": .int(.min), "aDouble": .real(-1e308),
        "aFloat": .real(Double(Float.leastNonzeroMagnitude)), "aBoolean": .int(1), "aDate": .real(-978_307_200.123),
        "aDecimal": Slot(try XCTUnwrap(Decimal(string: "-12345678901234567890.0123456789"))), "aString": .text("x"),
        "aURI": .text("https://example.org/a?b=c#d"), "aUUID": Slot(UUID()), "aBinary": .bytes(Data([0, 1, 255])),
        "aTransformable": .bytes(Data("[1]".utf8)),
      ],
      [
        "aInteger16": .int(32_767), "aInteger32": .int(Int64(Int32.max)), "aInteger64": .int(.max), "aDouble": .real(.infinity),
        "aFloat": .real(Double(Float.pi)), "aBoolean": .int(0), "aDate": .real(1e9 / 3), "aDecimal": Slot(Decimal(0)),
        "aBinary": .bytes(Data(0...255)),
      ],
    ]
    for values in samples {
      let id = try open.insert("Sample", values)
      for slot in try open.entity("Sample").slots { XCTAssertEqual(try open.value(id, slot.name), values[slot.name] ?? .null, slot.name) }
    }
  }

  func testNilDiffersFromZeroAndEmpty() throws {
    let open = try makeStore(SpecificationModels.types)
    let empty: [String: Slot] = [
      "aInteger64": .int(0), "aDouble": .real(0), "aBoolean": .int(0), "aString": .text(""), "aBinary": .bytes(Data()), "aDate": .real(0),
    ]
    let zero = try open.insert("Sample", empty)
    let null = try open.insert("Sample", [:])
    for (name, value) in empty {
      XCTAssertEqual(try open.value(zero, name), value, name)
      XCTAssertEqual(try open.value(null, name), .null, name)
    }
  }

  func testStringsPreserveEveryByte() throws {
    let open = try makeStore(SpecificationModels.types)
    for text in ["é", "e\u{301}", "a\0b", "\0", "👩‍👩‍👧", "'\"`;--", "\u{FEFF}x", "\u{FFFF}", "line\r\nline", " "] {
      let id = try open.insert("Sample", ["aString": .text(text)])
      guard case .text(let read)? = try open.value(id, "aString") else { return XCTFail("No text came back.") }
      XCTAssertEqual(Array(read.utf8), Array(text.utf8))
    }
  }

  func testLargeValuesRoundTrip() throws {
    let open = try makeStore(SpecificationModels.types)
    let text = String(repeating: "größer ", count: 40_000)
    let data = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let id = try open.insert("Sample", ["aString": .text(text), "aBinary": .bytes(data)])
    XCTAssertEqual(try open.value(id, "aString"), .text(text))
    XCTAssertEqual(try open.value(id, "aBinary"), .bytes(data))
  }

  func testUpdateChangesOnlyTheNamedProperties() throws {
    let open = try makeStore()
    let author = try open.insert("Author", ["name": .text("Ada"), "born": .int(1815)])
    let book = try open.insert("Book", ["title": .text("Notes"), "pages": .int(20), "author": author.slot])
    try open.save { try $0.update(book, ["pages": .int(21)]) }
    XCTAssertEqual(try open.value(book, "title"), .text("Notes"))
    XCTAssertEqual(try open.value(book, "pages"), .int(21))
    XCTAssertEqual(try open.value(book, "author"), author.slot)
    XCTAssertEqual(try open.value(author, "born"), .int(1815))
  }

  func testUpdateToNilRemovesTheValue() throws {
    let open = try makeStore()
    let author = try open.insert("Author", ["name": .text("Ada")])
    let book = try open.insert("Book", ["title": .text("Notes"), "author": author.slot])
    try open.save { try $0.update(book, ["title": .null, "author": .null]) }
    XCTAssertEqual(try open.value(book, "title"), .null)
    XCTAssertEqual(try open.value(book, "author"), .null)
  }

  func testEveryUpdateIncrementsTheVersion() throws {
    let open = try makeStore()
    let author = try open.insert("Author", ["name": .text("Ada")])
    XCTAssertEqual(try open.row(author)?.version, 1)
    try open.save { try $0.update(author, ["born": .int(1815)]) }
    try open.save { try $0.update(author, [:]) }
    XCTAssertEqual(try open.row(author)?.version, 3, "An update of no slot is a new version too.")
    XCTAssertEqual(try open.rows(FetchSpecification(entityName: "Author")).first?.version, 3)
  }

  func testDeletedRowIsNotFound() throws {
    let open = try makeStore()
    let author = try open.insert("Author", ["name": .text("Ada")])
    try open.save { try $0.delete(author) }
    XCTAssertNil(try open.row(author))
    XCTAssertEqual(try open.count("Author"), 0)
    XCTAssertEqual(try open.ids(FetchSpecification(entityName: "Author")), [])
  }

  func testOneSaveCanInsertUpdateAndDelete() throws {
    let open = try makeStore()
    let changed = try open.insert("Author", ["name": .text("old")])
    let deleted = try open.insert("Author", ["name": .text("gone")])
    let inserted = try open.save { save in
      try save.update(changed, ["name": .text("new")])
      try save.delete(deleted)
      return try save.insert("Author", ["name": .text("fresh")])
    }
    XCTAssertEqual(try open.value(changed, "name"), .text("new"))
    XCTAssertNil(try open.row(deleted))
    XCTAssertEqual(try open.value(inserted, "name"), .text("fresh"))
  }

  func testEmptySaveSucceeds() throws {
    let open = try makeStore()
    try open.save { _ in }
    XCTAssertEqual(try open.count("Author"), 0)
  }

  func testRowsCanReferToEachOtherInAnyOrder() throws {
    let open = try makeStore()
    let ids = try open.newIDs("Author", count: 2)
    let book = try open.newID("Book")
    try open.save { save in
      try save.insert(book, ["title": .text("first"), "author": ids[1].slot])
      try save.insert(ids[0], ["spouse": ids[1].slot])
      try save.insert(ids[1], ["spouse": ids[0].slot])
    }
    XCTAssertEqual(try open.value(ids[0], "spouse"), ids[1].slot)
    XCTAssertEqual(try open.members(ids[1], "books"), [book.reference])
  }

  func testOneSaveCanWriteThousandsOfRows() throws {
    let open = try makeStore()
    let ids = try open.newIDs("Author", count: 2_500)
    XCTAssertEqual(Set(ids).count, 2_500)
    try open.save { save in
      for (index, id) in ids.enumerated() { try save.insert(id, ["name": .text("author \(index)"), "born": .int(Int64(index))]) }
    }
    XCTAssertEqual(try open.count("Author"), 2_500)
    try open.save { save in for id in ids { try save.update(id, ["name": .text("changed")]) } }
    XCTAssertEqual(try open.count(FetchSpecification(entityName: "Author", predicate: .compare("name", .equal, "changed"))), 2_500)
    try open.save { save in for id in ids.dropLast() { try save.delete(id) } }
    XCTAssertEqual(try open.values("born", FetchSpecification(entityName: "Author")), [.int(2_499)])
  }

  func testAFailedSaveChangesNothing() throws {
    let open = try makeStore()
    let kept = try open.insert("Author", ["name": .text("kept")])
    let stale = try open.insert("Author", ["name": .text("stale")])
    let old = try XCTUnwrap(open.row(stale))
    try open.save { try $0.update(stale, ["born": .int(1)]) }
    assertStoreError(.mergeConflict) {
      try open.save { save in
        try save.insert("Author", ["name": .text("new")])
        try save.delete(kept)
        try save.update(old, ["born": .int(2)])
      }
    }
    XCTAssertEqual(try open.count("Author"), 2)
    XCTAssertEqual(try open.value(kept, "name"), .text("kept"))
    XCTAssertEqual(try open.value(stale, "born"), .int(1))
  }

  func testDeletedRowCanBeReplacedInTheSameSave() throws {
    let open = try makeStore()
    let tag = try open.insert("Tag", ["name": .text("games")])
    let next = try open.save { save in
      try save.delete(tag)
      return try save.insert("Tag", ["name": .text("games")])
    }
    XCTAssertNotEqual(tag, next)
    XCTAssertEqual(try open.ids(FetchSpecification(entityName: "Tag")), [next])
  }
}
