import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SyncCore
import XCTest
import _StoreSpecification
import _SyncSimulation

@testable import SyncEngine

/// Maximum counts of to-many relationships of stores that mirror each other.
final class CountMirrorTests: XCTestCase {
  /// A team has at most three players, two coaches, which require it, two fans, and two sponsors.
  private static let model: CompiledModel = {
    let model = ManagedObjectModel {
      Entity("Team") {
        Attribute("name", .string)
        Relationship("players", toMany: "Player", inverse: "team").count(...3)
        Relationship("coaches", toMany: "Coach", inverse: "team").count(...2).onDelete(.cascade)
        Relationship("fans", toMany: "Person", inverse: "teams").count(...2)
        Relationship("sponsors", toMany: "Person").count(...2)
      }
      Entity("Person") {
        Attribute("name", .string)
        Relationship("teams", toMany: "Team", inverse: "fans")
      }
      Entity("Player", parent: "Person") { Relationship("team", to: "Team", inverse: "players") }
      Entity("Goalkeeper", parent: "Player") {}
      Entity("Coach", parent: "Person") { Relationship("team", to: "Team", inverse: "coaches").required() }
    }
    do { return try CompiledModel(model) } catch { preconditionFailure("\(error)") }
  }()

  private func stores(people: Int = 0) throws -> [SyncedStore] {
    let scenario = Scenario(deviceCount: 0)
    let stores = try (1...2).map { try SyncedStore(scenario, UInt64($0), model: Self.model) }
    try stores[0].context.insert("Team", ["name": "team"])
    for number in 0..<people { try stores[0].context.insert("Person", ["name": "person \(number)"]) }
    try stores[0].context.save()
    try synchronize(stores)
    try advance(stores)
    return stores
  }

  /// Makes what the second store saves next later than what the first one saves.
  private func advance(_ stores: [SyncedStore]) throws {
    stores[1].scenario.time += 60_000
    try stores[1].synchronize()
  }

  private func object(_ entity: String, _ name: String, _ context: ManagedObjectContext) throws -> ManagedObject {
    try XCTUnwrap(try context.all(entity).first { $0["name"] as? String == name })
  }

  private func insert(_ entity: String, _ name: String, in store: SyncedStore) throws {
    let context = ManagedObjectContext(coordinator: store.open.coordinator)
    try context.insert(entity, ["name": name, "team": object("Team", "team", context)])
    try context.save()
  }

  /// Adds a person to the members of the team, or removes it.
  private func set(_ relationship: String, _ name: String, _ isMember: Bool, in store: SyncedStore) throws {
    let context = ManagedObjectContext(coordinator: store.open.coordinator)
    let (person, members) = (try object("Person", name, context), try object("Team", "team", context).mutableSetValue(forKey: relationship))
    if isMember { members.add(person) } else { members.remove(person) }
    try context.save()
  }

  private func members(_ relationship: String, in store: SyncedStore) throws -> [String] {
    let context = ManagedObjectContext(coordinator: store.open.coordinator)
    let members = try object("Team", "team", context)[relationship] as? Set<ManagedObject> ?? []
    return members.map { $0["name"] as? String ?? "nil" }.sorted()
  }

  private func assertMembers(
    _ relationship: String, _ names: [String], in stores: [SyncedStore], _ message: String = "", line: UInt = #line
  ) throws {
    for store in stores { XCTAssertEqual(try members(relationship, in: store), names, message, line: line) }
  }

  func testTheMembersThatWereAddedFirstRemain() throws {
    for isReversed in [false, true] {
      let stores = try stores()
      try insert("Player", "a", in: stores[0])
      try synchronize(stores)
      try advance(stores)
      for name in ["b", "c"] { try insert("Goalkeeper", name, in: stores[0]) }
      for name in ["d", "e"] { try insert("Player", name, in: stores[1]) }
      try synchronize(isReversed ? stores.reversed() : stores)
      try assertMembers("players", ["a", "b", "c"], in: stores)
      for store in stores {
        let context = ManagedObjectContext(coordinator: store.open.coordinator)
        XCTAssertEqual(try context.all("Player").count, 5)
        XCTAssertNil(try object("Player", "d", context)["team"])
      }
      let kept = try stores.flatMap { try $0.replica.journal() }
      XCTAssertEqual(kept.map(\.reason), [.destinationTaken, .destinationTaken])
      XCTAssertEqual(kept.map(\.propertyNames), [["team"], ["team"]])
      // Nothing returns when a member goes.
      let context = ManagedObjectContext(coordinator: stores[1].open.coordinator)
      context.delete(try object("Player", "a", context))
      try context.save()
      try synchronize(stores)
      try assertMembers("players", ["b", "c"], in: stores)
      try insert("Player", "f", in: stores[0])
      try synchronize(stores)
      try assertMembers("players", ["b", "c", "f"], in: stores)
    }
  }

  func testObjectsThatRequireTheRelationshipAppearWhenAMemberGoes() throws {
    let stores = try stores()
    for name in ["a", "b"] { try insert("Coach", name, in: stores[0]) }
    for name in ["c", "d"] { try insert("Coach", name, in: stores[1]) }
    try synchronize(stores)
    try assertMembers("coaches", ["a", "b"], in: stores)
    for store in stores { XCTAssertEqual(try ManagedObjectContext(coordinator: store.open.coordinator).all("Coach").count, 2) }
    let context = ManagedObjectContext(coordinator: stores[0].open.coordinator)
    context.delete(try object("Coach", "a", context))
    try context.save()
    try synchronize(stores)
    try assertMembers("coaches", ["b", "c"], in: stores)
    // What is hidden is deleted with the team.
    let other = ManagedObjectContext(coordinator: stores[1].open.coordinator)
    other.delete(try object("Team", "team", other))
    try other.save()
    try synchronize(stores)
    for store in stores { XCTAssertEqual(try ManagedObjectContext(coordinator: store.open.coordinator).all("Coach").count, 0) }
  }

  func testLinksAppearWhenAMemberGoes() throws {
    for relationship in ["fans", "sponsors"] {
      let stores = try stores(people: 4)
      for number in 0..<2 { try set(relationship, "person \(number)", true, in: stores[0]) }
      for number in 2..<4 { try set(relationship, "person \(number)", true, in: stores[1]) }
      try synchronize(stores)
      try assertMembers(relationship, ["person 0", "person 1"], in: stores, relationship)
      try set(relationship, "person 0", false, in: stores[1])
      try synchronize(stores)
      try assertMembers(relationship, ["person 1", "person 2"], in: stores, relationship)
      // One of a deleted object does not count.
      let context = ManagedObjectContext(coordinator: stores[0].open.coordinator)
      context.delete(try object("Person", "person 1", context))
      try context.save()
      try synchronize(stores)
      try assertMembers(relationship, ["person 2", "person 3"], in: stores, relationship)
    }
  }

  func testLimitsOfTheModel() throws {
    let schema = SyncSchema(Self.model)
    let capacities = schema.syncModel.entities.values.flatMap { entity in entity.capacities.map { ($0.value, entity.isLink) } }
    XCTAssertEqual(capacities.filter { !$0.1 }.map(\.0).sorted(), [2, 3, 3], "of a coach, a player and a goalkeeper")
    XCTAssertEqual(capacities.filter(\.1).map(\.0), [2, 2], "of one end each")
  }
}
