import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SyncCore
import XCTest
import _StoreSpecification
import _SyncSimulation

@testable import SyncEngine

/// Attributes with merge rules, between stores that mirror each other.
final class MergeRuleMirrorTests: XCTestCase {
  private static func compiled(hasRules: Bool) -> CompiledModel {
    func rule(_ rule: SyncMergeRule) -> SyncMergeRule { hasRules ? rule : .latest }
    let model = ManagedObjectModel {
      Entity("Post") {
        Attribute("title", .string)
        Attribute("likes", .integer64).initially(0).syncMergeRule(rule(.counter))
        Attribute("sum", .double).syncMergeRule(rule(.counter))
        Attribute("best", .integer64).syncMergeRule(rule(.max))
        Attribute("since", .date).syncMergeRule(rule(.min))
        Attribute("creator", .string).syncMergeRule(rule(.firstWriter))
        Attribute("flags", .integer32).syncMergeRule(rule(.union))
      }
    }
    do { return try CompiledModel(model) } catch { preconditionFailure("\(error)") }
  }
  private static let model = compiled(hasRules: true)
  private static let modelWithoutRules = compiled(hasRules: false)

  private func stores(count: Int = 2) throws -> [SyncedStore] {
    let scenario = Scenario(deviceCount: 0)
    return try (1...count).map { try SyncedStore(scenario, UInt64($0), model: Self.model) }
  }

  /// Sets values of the only post.
  private func set(_ values: [String: Any?], in store: SyncedStore) throws {
    let context = ManagedObjectContext(coordinator: store.open.coordinator)
    let post = try XCTUnwrap(try context.all("Post").first)
    for (key, value) in values { try post.setValue(value, forKey: key) }
    try context.save()
  }

  private func add(_ number: Int64, in store: SyncedStore) throws {
    let likes = try value("likes", of: store) as? Int64 ?? 0
    try set(["likes": likes + number], in: store)
  }

  private func value(_ key: String, of store: SyncedStore) throws -> Any? {
    try XCTUnwrap(try ManagedObjectContext(coordinator: store.open.coordinator).all("Post").first)[key]
  }

  // MARK: Counters

  func testWhatSeveralDevicesAddToACounterIsAddedUp() throws {
    let stores = try stores(count: 3)
    try stores[0].context.insert("Post", ["title": "a", "likes": 5, "sum": 0.5])
    try stores[0].context.save()
    try synchronize(stores)
    for (number, store) in stores.enumerated() {
      for _ in 0...number { try add(1, in: store) }
      try set(["sum": (try value("sum", of: store) as? Double ?? 0) + 0.25], in: store)
    }
    try synchronize(stores)
    XCTAssertEqual(try value("likes", of: stores[2]) as? Int64, 11)
    XCTAssertEqual(try value("sum", of: stores[0]) as? Double, 1.25)
    try add(-4, in: stores[1])
    try add(10, in: stores[2])
    try synchronize(stores.reversed())
    XCTAssertEqual(try value("likes", of: stores[0]) as? Int64, 17)
  }

  func testBatchUpdatesAddToACounter() throws {
    let stores = try stores()
    for number in 0..<5 { try stores[0].context.insert("Post", ["title": "\(number)", "likes": number]) }
    try stores[0].context.save()
    try synchronize(stores)
    for store in stores {
      let likes = try FetchExpression(format: "likes + 10")
      try store.context.execute(BatchUpdateRequest(entityName: "Post", propertiesToUpdate: ["likes": likes]))
    }
    try synchronize(stores)
    XCTAssertEqual(try stores[1].contents().values.compactMap { $0["likes"] }.sorted(), ["20", "21", "22", "23", "24"])
  }

  func testSeveralRequestsOfATransactionAddOnce() throws {
    let stores = try stores()
    try stores[0].context.insert("Post", ["likes": 1])
    try stores[0].context.save()
    try synchronize(stores)
    try stores[0].open.persistentStore.performTransaction { for _ in 0..<3 { try add(2, in: stores[0]) } }
    try add(100, in: stores[1])
    try synchronize(stores)
    XCTAssertEqual(try value("likes", of: stores[0]) as? Int64, 107)
  }

  func testACounterIsExactAfterRestartsLostAnswersAndACopy() throws {
    let stores = try stores()
    try stores[0].context.insert("Post", ["likes": 1])
    try stores[0].context.save()
    try synchronize(stores)
    for _ in 0..<3 {
      try add(1, in: stores[0])
      try stores[0].reopenReplica()
      // The hub accepts the commit, but the answer is lost.
      for action in try stores[0].handle(.save) { _ = try stores[0].answer(action) }
      try add(1, in: stores[1])
      try stores[1].synchronize()
      try stores[0].reopenReplica()
      try stores[0].synchronize()
    }
    XCTAssertEqual(try value("likes", of: stores[0]) as? Int64, 7)
    // The saves get stamps of another identity, and are sent again.
    try add(1, in: stores[0])
    _ = try stores[0].handle(.save)
    _ = try stores[0].handle(.copied)
    try add(1, in: stores[0])
    stores[0].restart()
    try synchronize(stores)
    XCTAssertEqual(try value("likes", of: stores[1]) as? Int64, 9)
  }

  func testValuesFromBeforeAreCountedOnce() throws {
    let scenario = Scenario(deviceCount: 0)
    let one = try SyncedStore(scenario, 1, model: Self.model, begins: false) { open in
      let context = open.newContext()
      try context.insert("Post", ["likes": 40, "sum": nil])
      try context.save()
    }
    let other = try SyncedStore(scenario, 2, model: Self.model)
    try one.replica.begin(in: ZoneID(high: 1, low: 1), as: DeviceID(1))
    // A save before the object is added to the zone.
    try add(2, in: one)
    try set(["sum": 1.5], in: one)
    while try one.replica.addBaseline(maximumCount: 1) != nil {}
    try synchronize([one, other])
    XCTAssertEqual(try value("likes", of: other) as? Int64, 42)
    XCTAssertEqual(try value("sum", of: other) as? Double, 1.5)
    try add(1, in: one)
    try add(1, in: other)
    try synchronize([one, other])
    XCTAssertEqual(try value("likes", of: one) as? Int64, 44)
  }

  func testMissingHistoryIsAddedToACounter() throws {
    let stores = try stores()
    try stores[0].context.insert("Post", ["likes": 1])
    try stores[0].context.save()
    try synchronize(stores)
    try add(5, in: stores[1])
    try stores[1].synchronize()
    try add(3, in: stores[0])
    try stores[0].replica.transaction { try stores[0].replica.reconcile() }
    try synchronize(stores)
    XCTAssertEqual(try value("likes", of: stores[1]) as? Int64, 9)
  }

  // MARK: Other rules

  func testTheDeclaredValueRemains() throws {
    let stores = try stores()
    try stores[0].context.insert("Post", ["title": "a"])
    try stores[0].context.save()
    try synchronize(stores)
    let date = Date(timeIntervalSinceReferenceDate: 1_000)
    try set(["best": 9, "since": date, "creator": "one", "flags": 0b0011, "title": "one"], in: stores[0])
    try set(["best": 4, "since": date + 60, "creator": "two", "flags": 0b0110, "title": "two"], in: stores[1])
    try synchronize(stores.reversed())
    for store in stores {
      XCTAssertEqual(try value("best", of: store) as? Int64, 9)
      XCTAssertEqual(try value("since", of: store) as? Date, date)
      XCTAssertEqual(try value("creator", of: store) as? String, "one")
      XCTAssertEqual(try value("flags", of: store) as? Int32, 0b0111)
      XCTAssertEqual(try value("title", of: store) as? String, "two")
    }
  }

  func testASavedValueThatDoesNotWinIsReplacedByTheNextRound() throws {
    let stores = try stores()
    try stores[0].context.insert("Post", ["best": 9, "flags": 0b0001, "creator": "one"])
    try stores[0].context.save()
    try synchronize(stores)
    try set(["best": 3, "flags": 0, "creator": "two"], in: stores[0])
    try synchronize(stores)
    for store in stores {
      XCTAssertEqual(try value("best", of: store) as? Int64, 9)
      XCTAssertEqual(try value("flags", of: store) as? Int32, 1)
      XCTAssertEqual(try value("creator", of: store) as? String, "one")
    }
  }

  func testADeviceWithAnOlderModelKeepsTheRules() throws {
    let scenario = Scenario(deviceCount: 0)
    let one = try SyncedStore(scenario, 1, model: Self.model)
    let older = try SyncedStore(scenario, 2, model: Self.modelWithoutRules)
    try one.context.insert("Post", ["likes": 10, "best": 5])
    try one.context.save()
    try synchronize([one, older])
    try add(1, in: one)
    try one.synchronize()
    // The device sets the counter to 12.
    try add(2, in: older)
    try set(["best": 2], in: older)
    try synchronize([older, one])
    XCTAssertEqual(try value("likes", of: one) as? Int64, 12)
    XCTAssertEqual(try value("best", of: older) as? Int64, 5)
  }
}
