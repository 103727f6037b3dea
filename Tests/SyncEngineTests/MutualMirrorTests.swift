import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SyncCore
import XCTest
import _StoreSpecification
import _SyncSimulation

@testable import SyncEngine

/// One-to-one relationships that are their own inverse, between stores that mirror each other.
final class MutualMirrorTests: XCTestCase {
  private static let model: CompiledModel = {
    let model = ManagedObjectModel {
      Entity("Person") {
        Attribute("name", .string)
        Relationship("spouse", to: "Person", inverse: "spouse")
      }
    }
    do { return try CompiledModel(model) } catch { preconditionFailure("\(error)") }
  }()

  private func stores(_ names: String...) throws -> [SyncedStore] {
    let scenario = Scenario(deviceCount: 0)
    let stores = try (1...2).map { try SyncedStore(scenario, UInt64($0), model: Self.model) }
    for name in names { try stores[0].context.insert("Person", ["name": name]) }
    try stores[0].context.save()
    try synchronize(stores)
    return stores
  }

  private func marry(_ name: String, _ other: String?, in store: SyncedStore) throws {
    let context = ManagedObjectContext(coordinator: store.open.coordinator)
    let people = try context.all("Person")
    func person(_ name: String) throws -> ManagedObject {
      try XCTUnwrap(try people.first { try $0.value(forKey: "name", as: String.self) == name })
    }
    try person(name).setValue(try other.map(person), forKey: "spouse")
    try context.save()
  }

  /// Returns the names of people with those of their spouses.
  private func spouses(_ store: SyncedStore) throws -> [String: String] {
    var result: [String: String] = [:]
    let context = ManagedObjectContext(coordinator: store.open.coordinator)
    for person in try context.all("Person") {
      guard let spouse = person["spouse"] as? ManagedObject else { continue }
      result[try XCTUnwrap(try person.value(forKey: "name", as: String.self))] = try spouse.value(forKey: "name", as: String.self)
    }
    return result
  }

  func testTheModelCanBeSynchronized() throws { XCTAssertEqual(SyncSchema(Self.model).obstacles, []) }

  func testBothEndsAgreeAfterConcurrentMarriages() throws {
    for isReversed in [false, true] {
      let stores = try stores("a", "b", "c", "d")
      try marry("a", "b", in: stores[0])
      try synchronize(stores)
      XCTAssertEqual(try spouses(stores[1]), ["a": "b", "b": "a"])
      try marry("b", "c", in: stores[0])
      try marry("d", "c", in: stores[1])
      try synchronize(isReversed ? stores.reversed() : stores)
      XCTAssertEqual(try spouses(stores[0]), ["c": "d", "d": "c"])
      try marry("c", nil, in: stores[0])
      try synchronize(stores)
      XCTAssertEqual(try spouses(stores[1]), [:])
      try marry("b", "a", in: stores[1])
      try synchronize(stores)
      XCTAssertEqual(try spouses(stores[0]), ["a": "b", "b": "a"])
    }
  }

  func testADeletedSpouseIsNilOnTheOtherDevice() throws {
    let stores = try stores("a", "b")
    try marry("a", "b", in: stores[0])
    let context = ManagedObjectContext(coordinator: stores[1].open.coordinator)
    let person = try XCTUnwrap(try context.all("Person").first { try $0.value(forKey: "name", as: String.self) == "b" })
    context.delete(person)
    try context.save()
    try synchronize(stores)
    XCTAssertEqual(try spouses(stores[0]), [:])
    XCTAssertEqual(try ManagedObjectContext(coordinator: stores[0].open.coordinator).all("Person").count, 1)
  }
}
