import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Readers on any thread see whole saves only; a save can swap unique values.
final class ConcurrencyTests: XCTestCase {
  func testReadersNeverSeePartialTransactions() throws {
    let store = try TestStore()
    let open = try store.open()
    let pair = try open.save { save in try (0..<2).map { try save.insert("Tag", ["name": .text("0-\($0)")]) } }
    try waitFor {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          for round in 1...60 {
            try open.save { save in for (index, id) in pair.enumerated() { try save.update(id, ["name": .text("\(round)-\(index)")]) } }
          }
        }
        for reader in 0..<4 {
          group.addTask {
            for _ in 0..<150 {
              let rows =
                reader % 2 == 0
                ? try open.rows(FetchSpecification(entityName: "Tag")) : try open.store.newValuesForObjects(with: pair, in: open.scope)
              XCTAssertEqual(Set(rows.map(\.version)).count, 1, "half a save was seen")
            }
          }
        }
        try await group.waitForAll()
      }
    }
  }

  func testAReadAfterASaveSeesIt() throws {
    let store = try TestStore()
    let open = try store.open()
    let tag = try open.insert("Tag", ["name": .text("0")])
    for round in 1...50 {
      try open.save { try $0.update(tag, ["name": .text("\(round)")]) }
      XCTAssertEqual(try open.value(tag, "name"), .text("\(round)"))
    }
  }

  func testSaveByAnotherStoreOnTheFileIsDetected() throws {
    let store = try TestStore()
    let (first, second) = (try store.open(), try store.open())
    let tag = try first.insert("Tag", ["name": .text("red")])
    let stale = try XCTUnwrap(first.row(tag))
    let same = ManagedObjectID(space: second.scope.objectIDSpace.number, entityNumber: tag.entityNumber, key: tag.key)
    try second.save { try $0.update(same, ["name": .text("blue")]) }
    assertStoreError(.mergeConflict) { try first.save { try $0.update(stale, ["name": .text("green")]) } }
    XCTAssertEqual(try first.texts("name", FetchSpecification(entityName: "Tag")), ["blue"])
  }

  func testUniqueValuesRotateInACycle() throws {
    let store = try TestStore()
    let open = try store.open()
    let tags = try open.save { save in try (0..<5).map { try save.insert("Tag", ["name": .text("\($0)")]) } }
    try open.save { save in for (index, tag) in tags.enumerated() { try save.update(tag, ["name": .text("\((index + 1) % 5)")]) } }
    XCTAssertEqual(try tags.map { try open.value($0, "name") }, ["1", "2", "3", "4", "0"].map { .text($0) })
    XCTAssertEqual(try tags.map { try open.row($0)?.version }, [2, 2, 2, 2, 2])
  }

  func testCycleWithAConflictChangesNothing() throws {
    let store = try TestStore()
    let open = try store.open()
    let tags = try open.save { save in try (0..<3).map { try save.insert("Tag", ["name": .text("\($0)")]) } }
    let error = assertStoreError(.constraintConflict) {
      try open.save { save in
        try save.update(tags[0], ["name": .text("1")])
        try save.update(tags[1], ["name": .text("2")])
      }
    }
    XCTAssertEqual(error?.constraintConflicts.map(\.databaseObjectID), [tags[2]])
    XCTAssertEqual(error?.constraintConflicts.map(\.objectIDs), [[tags[1]]])
    XCTAssertEqual(try tags.map { try open.value($0, "name") }, ["0", "1", "2"].map { .text($0) })
  }

  func testBulkInsertReportsAllConflicts() throws {
    let store = try TestStore()
    let open = try store.open()
    let old = try open.insert("Tag", ["name": .text("7")])
    let ids = try open.newIDs("Tag", count: 40)
    let error = assertStoreError(.constraintConflict) {
      try open.save { save in for (index, id) in ids.enumerated() { try save.insert(id, ["name": .text("\(index % 38)")]) } }
    }
    let conflicts = error?.constraintConflicts ?? []
    XCTAssertEqual(conflicts.count, 3)
    XCTAssertEqual(conflicts.first { $0.databaseObjectID != nil }?.objectIDs, [ids[7]])
    XCTAssertEqual(conflicts.first { $0.databaseObjectID != nil }?.databaseObjectID, old)
    XCTAssertEqual(
      Set(conflicts.filter { $0.databaseObjectID == nil }.map { Set($0.objectIDs) }), [[ids[0], ids[38]], [ids[1], ids[39]]])
    XCTAssertEqual(try open.count("Tag"), 1)
  }

  func testDanglingKeysAreRejectedWithForeignKeyChecks() throws {
    for isChecked in [true, false] {
      let store = try TestStore()
      var description = store.description
      description.enforcesForeignKeys = isChecked
      let open = try OpenStore(description, model: SpecificationModels.library)
      let author = try open.newID("Author")
      let insert = { _ = try open.insert("Book", ["title": .text("t"), "author": author.slot]) }
      if isChecked { assertStoreError(.objectNotFound, insert) } else { try insert() }
      // The order of changes within a save does not matter.
      try open.save { save in
        let second = try open.newID("Author")
        try save.insert("Book", ["title": .text("u"), "author": second.slot])
        try save.insert(second, ["name": .text("a")])
      }
      XCTAssertEqual(try open.count("Book"), isChecked ? 1 : 2)
    }
  }
}
