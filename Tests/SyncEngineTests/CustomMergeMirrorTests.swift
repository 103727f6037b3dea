import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SyncCore
import XCTest
import _StoreSpecification
import _SyncSimulation

@testable import SyncEngine

/// Attributes that functions of the application merge, between stores that mirror each other.
final class CustomMergeMirrorTests: XCTestCase {
  private static let name = "CustomMergeMirrorTests"

  private static func compiled(_ rule: SyncMergeRule) -> CompiledModel {
    let model = ManagedObjectModel {
      Entity("Note") {
        Attribute("title", .string)
        Attribute("tags", transforming: Set<String>.self).syncMergeRule(rule)
      }
    }
    do { return try CompiledModel(model) } catch { preconditionFailure("\(error)") }
  }
  private static let model = compiled(.custom(name))

  override func setUp() { Self.register() }

  override func tearDown() { SyncMergeFunctions.unregister(forName: Self.name) }

  private static func register() {
    SyncMergeFunctions.register(Set<String>.self, forName: name) { base, one, other in
      let (base, one, other) = (base ?? [], one ?? [], other ?? [])
      return one.intersection(other).union(one.subtracting(base)).union(other.subtracting(base))
    }
  }

  private func stores(count: Int = 2, _ tags: Set<String>?) throws -> [SyncedStore] {
    let scenario = Scenario(deviceCount: 0)
    let stores = try (1...count).map { try SyncedStore(scenario, UInt64($0), model: Self.model) }
    try stores[0].context.insert("Note", ["title": "a", "tags": tags])
    try stores[0].context.save()
    try synchronize(stores)
    return stores
  }

  private func set(_ tags: Set<String>?, in store: SyncedStore) throws {
    let context = ManagedObjectContext(coordinator: store.open.coordinator)
    try XCTUnwrap(try context.all("Note").first).setValue(tags, forKey: "tags")
    try context.save()
  }

  private func tags(of store: SyncedStore) throws -> Set<String>? {
    let note = try XCTUnwrap(try ManagedObjectContext(coordinator: store.open.coordinator).all("Note").first)
    return try note.value(forKey: "tags", as: Set<String>.self)
  }

  func testTagsThatSeveralDevicesAddAndRemoveAreMerged() throws {
    let stores = try stores(count: 3, ["a", "b"])
    try set(["a", "b", "c"], in: stores[0])
    try set(["b"], in: stores[1])
    try set(["a", "b", "d", "e"], in: stores[2])
    try set(["a", "b", "d"], in: stores[2])
    try synchronize(stores.reversed())
    for store in stores { XCTAssertEqual(try tags(of: store), ["b", "c", "d"]) }
    try set(nil, in: stores[1])
    try synchronize(stores)
    XCTAssertNil(try tags(of: stores[0]))
  }

  func testSeveralRequestsOfATransactionAreOneChange() throws {
    let stores = try stores(["a"])
    try stores[0].open.persistentStore.performTransaction {
      try set(["a", "b"], in: stores[0])
      try set(["a", "b", "c"], in: stores[0])
    }
    try set([], in: stores[1])
    try synchronize(stores)
    XCTAssertEqual(try tags(of: stores[0]), ["b", "c"])
  }

  func testAnObjectThatATransactionInsertsAndChangesHasTheLastValue() throws {
    let stores = try stores(["a"])
    try stores[0].open.persistentStore.performTransaction {
      let note = try stores[0].context.insert("Note", ["title": "b"])
      try stores[0].context.save()
      try note.setValue(Set(["new"]), forKey: "tags")
      try stores[0].context.save()
    }
    try synchronize(stores)
    let notes = try ManagedObjectContext(coordinator: stores[1].open.coordinator).all("Note")
    XCTAssertEqual(try Set(notes.map { try $0.value(forKey: "tags", as: Set<String>.self) }), [["a"], ["new"]])
  }

  func testRestartsDoNotChangeWhatASaveHasReplaced() throws {
    let stores = try stores(["a"])
    try set(["a", "b"], in: stores[0])
    // The save was read, and is read again when it was not sent yet, but another one was imported.
    _ = try stores[0].replica.transaction { try stores[0].replica.pendingSaves(after: 0, maximumChangeCount: 10) }
    try set(["a", "c"], in: stores[1])
    try stores[1].synchronize()
    for action in try stores[0].handle(.remoteChange) {
      if case .pull = action { _ = try stores[0].handle(stores[0].answer(action)) }
    }
    XCTAssertEqual(try tags(of: stores[0]), ["a", "b", "c"])
    try stores[0].reopenReplica()
    XCTAssertEqual(try tags(of: stores[0]), ["a", "b", "c"])
    try synchronize(stores)
    XCTAssertEqual(try tags(of: stores[1]), ["a", "b", "c"])
  }

  func testObjectsFromBeforeSynchronizationAreTheBase() throws {
    let scenario = Scenario(deviceCount: 0)
    let one = try SyncedStore(scenario, 1, model: Self.model, begins: false) { open in
      let context = open.newContext()
      try context.insert("Note", ["tags": Set(["a", "b"])])
      try context.save()
    }
    let other = try SyncedStore(scenario, 2, model: Self.model)
    try one.replica.begin(in: ZoneID(high: 1, low: 1), as: DeviceID(1))
    // Saves before the object is added to the zone.
    try set(["a", "b", "c"], in: one)
    try set(["a", "c"], in: one)
    while try one.replica.addBaseline(maximumCount: 1) != nil {}
    try synchronize([one, other])
    XCTAssertEqual(try tags(of: other), ["a", "c"])
    try set(["a"], in: one)
    try set(["a", "c", "d"], in: other)
    try synchronize([one, other])
    XCTAssertEqual(try tags(of: one), ["a", "d"])
  }

  func testMissingHistoryIsMerged() throws {
    let stores = try stores(["a"])
    try set(["a", "b"], in: stores[1])
    try stores[1].synchronize()
    try set([], in: stores[0])
    try stores[0].replica.transaction { try stores[0].replica.reconcile() }
    try synchronize(stores)
    XCTAssertEqual(try tags(of: stores[1]), ["b"])
  }

  // MARK: Without the function

  func testAProgramWithoutTheFunctionKeepsTheValuesAndReportsIt() throws {
    let stores = try stores(count: 3, ["a"])
    try set(["a", "b"], in: stores[0])
    try set(["a", "c"], in: stores[1])
    try stores[0].synchronize()
    try stores[1].synchronize()
    SyncMergeFunctions.unregister(forName: Self.name)
    try stores[2].synchronize()
    let shown = try XCTUnwrap(try tags(of: stores[2]))
    XCTAssertEqual(shown, ["a", "c"])
    let unmerged = stores[2].replica.takeUnmergedValues()
    XCTAssertEqual(unmerged.map(\.attribute), ["tags"])
    XCTAssertEqual(unmerged.map(\.failure), [.missing])
    let error = SyncError.unmerged(try XCTUnwrap(unmerged.first), path: nil)
    XCTAssertEqual(error.code, .mergeFailed)
    XCTAssertTrue(error.message.contains("Note.tags") && error.message.contains(Self.name), error.message)
    // What it shows is no damage.
    var verification = ObjectVerification()
    while try !stores[2].replica.verifyObjects(&verification, batch: 3) {}
    XCTAssertEqual(verification.differences, [])
    let context = ManagedObjectContext(coordinator: stores[2].open.coordinator)
    try XCTUnwrap(try context.all("Note").first).setValue("other", forKey: "title")
    try context.save()
    try stores[2].synchronize()
    // A program with the function merges what it has.
    Self.register()
    try stores[2].replica.adoptModel(batch: 10)
    XCTAssertEqual(try tags(of: stores[2]), ["a", "b", "c"])
    try synchronize(stores)
    XCTAssertEqual(try tags(of: stores[0]), ["a", "b", "c"])
  }

  func testADeviceWithAnOlderModelKeepsTheValues() throws {
    let scenario = Scenario(deviceCount: 0)
    let stores = try (1...2).map { try SyncedStore(scenario, UInt64($0), model: Self.model) }
    let older = try SyncedStore(scenario, 3, model: Self.compiled(.latest))
    try stores[0].context.insert("Note", ["tags": Set(["a"])])
    try stores[0].context.save()
    for store in stores + [older] { try store.synchronize() }
    try set(["a", "b"], in: stores[0])
    try set(["a", "c"], in: stores[1])
    for store in stores + [older] { try store.synchronize() }
    XCTAssertEqual(try tags(of: older), ["a", "c"])
    // It replaces what it shows. What the other device has added remains.
    try set(["c", "d"], in: older)
    for store in [older] + stores + [older] { try store.synchronize() }
    XCTAssertEqual(try tags(of: older), ["c", "d"])
    for store in stores { XCTAssertEqual(try tags(of: store), ["b", "c", "d"]) }
  }

  func testAFailingFunctionDoesNotStopTheImport() throws {
    struct Refused: Error {}
    let stores = try stores(["a"])
    SyncMergeFunctions.register(Set<String>.self, forName: Self.name) { _, _, _ in throw Refused() }
    try set(["a", "b"], in: stores[0])
    try stores[0].context.insert("Note", ["title": "new"])
    try stores[0].context.save()
    try set(["a", "c"], in: stores[1])
    for store in stores + stores { try store.synchronize() }
    XCTAssertEqual(try stores.map { try ManagedObjectContext(coordinator: $0.open.coordinator).all("Note").count }, [2, 2])
    XCTAssertEqual(Set(stores.flatMap { $0.replica.takeUnmergedValues() }.map(\.failure)), [.failed("Refused")])
    let journal = try stores.flatMap { try $0.replica.journal() }
    XCTAssertEqual(journal.map(\.reason), [.failedMerge])
    XCTAssertEqual(journal.first?.propertyNames, ["tags"])
    // A corrected function merges them after all.
    Self.register()
    for store in stores { try store.replica.adoptModel(batch: 10) }
    try synchronize(stores)
    let notes = try ManagedObjectContext(coordinator: stores[1].open.coordinator).all("Note")
    XCTAssertTrue(try notes.contains { try $0.value(forKey: "tags", as: Set<String>.self) == ["a", "b", "c"] })
  }
}
