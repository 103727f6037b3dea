import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// A save detects changes by others since its rows were read.
public final class ConflictSpecification: StoreSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testUpdatingAStaleRowConflicts", { $0.testUpdatingAStaleRowConflicts }),
        ("testUpdatingADeletedRowConflicts", { $0.testUpdatingADeletedRowConflicts }),
        ("testDeletingAStaleRowConflicts", { $0.testDeletingAStaleRowConflicts }),
        ("testDeletingADeletedRowConflicts", { $0.testDeletingADeletedRowConflicts }),
        ("testADeletionWithoutAVersionIsNotChecked", { $0.testADeletionWithoutAVersionIsNotChecked }),
        ("testALockedRowIsChecked", { $0.testALockedRowIsChecked }),
        ("testAllConflictsAreReportedTogether", { $0.testAllConflictsAreReportedTogether }),
        ("testConflictingSaveWritesNothing", { $0.testConflictingSaveWritesNothing }),
        ("testCurrentRowCanBeSavedAfterAConflict", { $0.testCurrentRowCanBeSavedAfterAConflict }),
      ] as [(String, (ConflictSpecification) -> () throws -> Void)])
  }

  /// A store with an author, and the author's row before another save changed it.
  private func staleAuthor() throws -> (open: OpenStore, id: ManagedObjectID, stale: RowImage) {
    let open = try makeStore()
    let id = try open.insert("Author", ["name": .text("Ada"), "born": .int(1)])
    let stale = try XCTUnwrap(open.row(id))
    try open.save { try $0.update(id, ["born": .int(2)]) }
    return (open, id, stale)
  }

  func testUpdatingAStaleRowConflicts() throws {
    let (open, id, stale) = try staleAuthor()
    let error = assertStoreError(.mergeConflict) { try open.save { try $0.update(stale, ["name": .text("Eve")]) } }
    let conflict = try XCTUnwrap(error?.mergeConflicts.first)
    XCTAssertEqual(error?.mergeConflicts.count, 1)
    XCTAssertEqual(conflict.objectID, id)
    XCTAssertEqual(conflict.oldVersion, 1)
    XCTAssertEqual(conflict.newVersion, 2)
    let row = try XCTUnwrap(conflict.persistedRow)
    XCTAssertEqual(try open.value(row, "born"), .int(2))
    XCTAssertEqual(try open.value(row, "name"), .text("Ada"))
    XCTAssertEqual(row.version, 2)
  }

  func testUpdatingADeletedRowConflicts() throws {
    let (open, id, stale) = try staleAuthor()
    try open.save { try $0.delete(id) }
    let error = assertStoreError(.mergeConflict) { try open.save { try $0.update(stale, ["name": .text("Eve")]) } }
    let conflict = try XCTUnwrap(error?.mergeConflicts.first)
    XCTAssertEqual(conflict.objectID, id)
    XCTAssertEqual(conflict.newVersion, 0)
    XCTAssertNil(conflict.persistedRow)
  }

  func testDeletingAStaleRowConflicts() throws {
    let (open, id, stale) = try staleAuthor()
    let error = assertStoreError(.mergeConflict) { try open.save { $0.delete(stale) } }
    XCTAssertEqual(error?.mergeConflicts.map(\.objectID), [id])
    XCTAssertNotNil(try open.row(id))
  }

  func testDeletingADeletedRowConflicts() throws {
    let (open, id, stale) = try staleAuthor()
    try open.save { try $0.delete(id) }
    let error = assertStoreError(.mergeConflict) { try open.save { $0.delete(stale) } }
    XCTAssertEqual(error?.mergeConflicts.map(\.newVersion), [0])
  }

  func testADeletionWithoutAVersionIsNotChecked() throws {
    let (open, id, _) = try staleAuthor()
    let blind = SaveChangesRequest.VersionedReference(reference: id.reference, version: 0)
    try open.save { $0.request.deleted.append(blind) }
    XCTAssertNil(try open.row(id))
  }

  func testALockedRowIsChecked() throws {
    let (open, id, stale) = try staleAuthor()
    let error = assertStoreError(.mergeConflict) {
      try open.save { save in
        save.lock(stale)
        try save.insert("Author", ["name": .text("new")])
      }
    }
    XCTAssertEqual(error?.mergeConflicts.map(\.objectID), [id])
    XCTAssertEqual(try open.count("Author"), 1)
    let current = try XCTUnwrap(open.row(id))
    try open.save { save in
      save.lock(current)
      try save.insert("Author", ["name": .text("new")])
    }
    XCTAssertEqual(try open.row(id)?.version, current.version, "A row that is only checked keeps its version.")
  }

  func testAllConflictsAreReportedTogether() throws {
    let open = try makeStore()
    let authors = try (0..<3).map { try open.insert("Author", ["born": .int(Int64($0))]) }
    let tag = try open.insert("Tag", ["name": .text("red")])
    let stale = try (authors + [tag]).map { try XCTUnwrap(open.row($0)) }
    try open.save { save in
      try save.update(authors[0], ["born": .int(10)])
      try save.update(tag, ["name": .text("blue")])
    }
    let error = assertStoreError(.mergeConflict) {
      try open.save { save in
        for row in stale.prefix(3) { try save.update(row, ["name": .text("mine")]) }
        save.delete(stale[3])
      }
    }
    XCTAssertEqual(Set(error?.mergeConflicts.map(\.objectID) ?? []), [authors[0], tag])
  }

  func testConflictingSaveWritesNothing() throws {
    let (open, _, stale) = try staleAuthor()
    let other = try open.insert("Author", ["name": .text("other")])
    let tag = try open.insert("Tag", ["name": .text("red")])
    let book = try open.insert("Book", [:])
    assertStoreError(.mergeConflict) {
      try open.save { save in
        try save.update(other, ["name": .text("changed")])
        try save.change(book, "tags", add: [tag])
        try save.insert("Tag", ["name": .text("blue")])
        try save.update(stale, ["name": .text("Eve")])
      }
    }
    XCTAssertEqual(try open.value(other, "name"), .text("other"))
    XCTAssertEqual(try open.members(book, "tags"), [])
    XCTAssertEqual(try open.count("Tag"), 1)
  }

  func testCurrentRowCanBeSavedAfterAConflict() throws {
    let (open, id, stale) = try staleAuthor()
    let error = assertStoreError(.mergeConflict) { try open.save { try $0.update(stale, ["name": .text("Eve")]) } }
    let row = try XCTUnwrap(error?.mergeConflicts.first?.persistedRow)
    try open.save { try $0.update(row, ["name": .text("Eve")]) }
    XCTAssertEqual(try open.value(id, "name"), .text("Eve"))
    XCTAssertEqual(try open.value(id, "born"), .int(2))
  }
}
