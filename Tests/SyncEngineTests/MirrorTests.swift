import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SyncCore
import SyncEngine
import XCTest
import _StoreSpecification
import _SyncSimulation

/// Two stores that mirror each other.
final class MirrorTests: XCTestCase {
  private func stores() throws -> (SyncedStore, SyncedStore) {
    let scenario = Scenario(deviceCount: 0)
    return (try SyncedStore(scenario, 1), try SyncedStore(scenario, 2))
  }

  func testObjectsOfAllTypesReachTheOtherStore() throws {
    let (one, other) = try stores()
    let root = try one.context.insert("Folder", ["title": "root", "made": Date(timeIntervalSinceReferenceDate: 12.5)])
    let child = try one.context.insert("Folder", ["title": "child", "parent": root, "size": nil])
    for number in 0..<20 {
      try one.context.insert(
        "Note",
        [
          "title": "note \(number)", "text": number % 3 == 0 ? nil : "e\u{301}", "rating": -0.0 + Double(number),
          "folder": number % 2 == 0 ? root : child,
          "data": Data([0, 1, UInt8(number)]), "price": Decimal(string: "12.50"), "key": UUID(), "isRead": number % 2 == 0,
        ])
    }
    try one.context.insert("Cover", ["color": "red", "folder": child])
    try one.context.save()
    try one.synchronize()
    try other.synchronize()
    try assertEqualContents(one, other, count: 23)
    XCTAssertEqual(try other.contents().values.filter { $0["cover"] ?? "nil" != "nil" }.count, 1)
  }

  func testChangesOnBothSidesAreMergedPerProperty() throws {
    let (one, other) = try stores()
    let folder = try one.context.insert("Folder", ["title": "a", "size": 1])
    try one.context.save()
    try one.synchronize()
    try other.synchronize()
    let theirs = try XCTUnwrap(try other.context.all("Folder").first)
    try theirs.setValue("b", forKey: "title")
    try other.context.save()
    try folder.setValue(2, forKey: "size")
    try one.context.save()
    for store in [one, other, one] { try store.synchronize() }
    try assertEqualContents(one, other, count: 1)
    let values = try XCTUnwrap(try one.contents().values.first)
    XCTAssertEqual(values["title"], "b")
    XCTAssertEqual(values["size"], "2")
  }

  func testPartsOfACompositeAreMergedOneByOneAndTransformedValuesArrive() throws {
    let model = try CompiledModel(
      ManagedObjectModel {
        Composite("Place") {
          Attribute("city", .string)
          Attribute("street", .string)
        }
        Entity("Person") {
          Attribute("home", composite: "Place")
          Attribute("words", transforming: [String].self)
        }
      })
    let scenario = Scenario(deviceCount: 0)
    let (one, other) = (try SyncedStore(scenario, 1, model: model), try SyncedStore(scenario, 2, model: model))
    let person = try one.context.insert("Person", ["home": ["city": "Rome", "street": "first"], "words": ["a", "b"]])
    try one.context.save()
    for store in [one, other] { try store.synchronize() }
    try person.setValue("Milan", forKeyPath: "home.city")
    try one.context.save()
    let copy = try XCTUnwrap(try other.context.all("Person").first)
    XCTAssertEqual(try copy.value(forKey: "words", as: [String].self), ["a", "b"])
    try copy.setValue("second", forKeyPath: "home.street")
    try other.context.save()
    try synchronize([one, other])
    let values = try XCTUnwrap(try one.contents().values.first)
    XCTAssertEqual([values["home.city"], values["home.street"]], ["Milan", "second"])
  }

  func testDeletionsCascadeOnBothSides() throws {
    let (one, other) = try stores()
    let root = try one.context.insert("Folder", ["title": "root"])
    try one.context.insert("Note", ["title": "n", "folder": root])
    let kept = try one.context.insert("Folder", ["title": "kept"])
    try one.context.insert("Cover", ["color": "red", "folder": kept])
    try one.context.save()
    try one.synchronize()
    try other.synchronize()
    try assertEqualContents(one, other, count: 4)
    for folder in try other.context.all("Folder") { other.context.delete(folder) }
    try other.context.save()
    try other.synchronize()
    try one.synchronize()
    try assertEqualContents(one, other, count: 1)
    XCTAssertEqual(try one.contents().values.first?["folder"], "nil")
  }

  func testAChildThatIsAddedToADeletedParentIsDeletedToo() throws {
    let (one, other) = try stores()
    let root = try one.context.insert("Folder", ["title": "root"])
    try one.context.save()
    try one.synchronize()
    try other.synchronize()
    one.context.delete(root)
    try one.context.save()
    let theirs = try XCTUnwrap(try other.context.all("Folder").first)
    try other.context.insert("Note", ["title": "late", "folder": theirs])
    try other.context.save()
    for store in [one, other, one, other] { try store.synchronize() }
    try assertEqualContents(one, other, count: 0)
  }

  func testAnObjectWithARequiredOneToOneRelationshipIsDeletedWithTheOther() throws {
    let model = try CompiledModel(
      ManagedObjectModel {
        Entity("Account") {
          Attribute("name", .string)
          Relationship("badge", to: "Badge", inverse: "owner").onDelete(.cascade)
        }
        Entity("Badge") {
          Attribute("color", .string)
          Relationship("owner", to: "Account", inverse: "badge").required()
        }
      })
    let scenario = Scenario(deviceCount: 0)
    let (one, other) = (try SyncedStore(scenario, 1, model: model), try SyncedStore(scenario, 2, model: model))
    let account = try one.context.insert("Account", ["name": "a"])
    try one.context.insert("Badge", ["color": "red", "owner": account])
    try one.context.save()
    for store in [one, other] { try store.synchronize() }
    try assertEqualContents(one, other, count: 2)
    one.context.delete(account)
    try one.context.save()
    // The other store replaces the badge at the same time.
    let theirs = try XCTUnwrap(try other.context.all("Account").first)
    other.context.delete(try XCTUnwrap(theirs.object("badge")))
    try other.context.insert("Badge", ["color": "blue", "owner": theirs])
    try other.context.save()
    let checks = SyncChecks()
    for store in [other, one, other, one] { try store.synchronize { try checks.check(store, store === one ? 1 : 2) } }
    try assertEqualContents(one, other, count: 0)
  }

  func testObjectsThatWereThereBeforeAreAdded() throws {
    let scenario = Scenario(deviceCount: 0)
    let one = try SyncedStore(scenario, 1) { open in
      let context = open.newContext()
      let root = try context.insert("Folder", ["title": "root"])
      for number in 0..<30 { try context.insert("Note", ["title": "\(number)", "folder": root]) }
      try context.insert("Cover", ["color": "blue", "folder": root])
      try context.save()
    }
    let other = try SyncedStore(scenario, 2)
    try one.synchronize()
    try other.synchronize()
    try assertEqualContents(one, other, count: 32)
  }

  func testAnImportIsNotSentAgain() throws {
    let (one, other) = try stores()
    try one.context.insert("Folder", ["title": "root"])
    try one.context.save()
    try one.synchronize()
    try other.synchronize()
    let count = one.scenario.commitCount
    for store in [one, other, one] { try store.synchronize() }
    XCTAssertEqual(one.scenario.commitCount, count)
  }

  func testALargeBatchRequestIsSentInPartsAndVisibleAtOnce() throws {
    let (one, other) = try stores()
    try one.context.execute(BatchInsertRequest(entityName: "Folder", objects: (0..<2_000).map { ["title": "batch \($0)"] }))
    try one.synchronize()
    XCTAssertEqual(one.scenario.commitCount, 1)
    try other.synchronize()
    try assertEqualContents(one, other, count: 2_000)
  }

  func testBatchRequestsAreSent() throws {
    let (one, other) = try stores()
    try one.context.execute(BatchInsertRequest(entityName: "Folder", objects: (0..<50).map { ["title": "batch \($0)"] }))
    try one.synchronize()
    try other.synchronize()
    try assertEqualContents(one, other, count: 50)
    try other.context.execute(BatchUpdateRequest(entityName: "Folder", propertiesToUpdate: ["size": 3]))
    try other.synchronize()
    try one.synchronize()
    try assertEqualContents(one, other, count: 50)
    try one.context.execute(BatchDeleteRequest(entityName: "Folder"))
    try one.synchronize()
    try other.synchronize()
    try assertEqualContents(one, other, count: 0)
  }
}
