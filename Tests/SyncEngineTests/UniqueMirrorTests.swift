import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore
import SyncCore
import XCTest
import _StoreSpecification
import _SyncSimulation
import _TestSupport

@testable import SyncEngine

/// Uniqueness constraints of stores that mirror each other.
final class UniqueMirrorTests: XCTestCase {
  private static let model: CompiledModel = {
    let model = ManagedObjectModel {
      Entity("Tag") {
        Attribute("name", .string)
        Attribute("color", .string)
        Relationship("notes", toMany: "Note", inverse: "tags")
        Relationship("children", toMany: "Child", inverse: "tag").onDelete(.cascade)
        Relationship("similar", toMany: "Tag", inverse: "similar")
        Unique("name")
      }
      Entity("Label", parent: "Tag") { Attribute("size", .integer64) }
      Entity("Note") {
        Attribute("title", .string)
        Relationship("tags", toMany: "Tag", inverse: "notes")
        Relationship("lead", to: "Tag")
      }
      Entity("Child") {
        Attribute("title", .string)
        Attribute("place", .integer64)
        Relationship("tag", to: "Tag", inverse: "children").required()
        Unique("tag", "place")
      }
    }
    do { return try CompiledModel(model) } catch { preconditionFailure("\(error)") }
  }()

  private func stores(_ count: UInt64 = 2) throws -> [SyncedStore] {
    let scenario = Scenario(deviceCount: 0)
    return try (1...count).map { try SyncedStore(scenario, $0, model: Self.model) }
  }

  private func names(_ entity: String = "Tag", _ key: String = "name", in store: SyncedStore) throws -> [String] {
    try ManagedObjectContext(coordinator: store.open.coordinator).all(entity).map { $0[key] as? String ?? "nil" }.sorted()
  }

  private func object(_ entity: String, _ key: String, _ value: String, of store: SyncedStore) throws -> ManagedObject {
    try XCTUnwrap(try store.context.all(entity).first { $0[key] as? String == value })
  }

  private func insertTag(_ name: String, color: String, children: Range<Int> = 0..<0, in store: SyncedStore) throws {
    let tag = try store.context.insert("Tag", ["name": name, "color": color])
    let note = try store.context.insert("Note", ["title": "of \(color)", "lead": tag])
    try note.mutableSetValue(forKey: "tags").add(tag)
    for place in children { try store.context.insert("Child", ["title": "\(color) \(place)", "place": Int64(place), "tag": tag]) }
    try store.context.save()
  }

  func testCase10TheSameNameCreatedOnTwoDevicesEndsAsOneObjectWithBothSetsOfChildren() throws {
    let stores = try stores()
    try insertTag("red", color: "crimson", children: 0..<2, in: stores[0])
    try insertTag("red", color: "scarlet", children: 2..<5, in: stores[1])
    try synchronize(stores)
    for store in stores {
      XCTAssertEqual(try names(in: store), ["red"])
      let context = ManagedObjectContext(coordinator: store.open.coordinator)
      let tag = try XCTUnwrap(try context.all("Tag").first)
      XCTAssertEqual((tag["children"] as? Set<ManagedObject>)?.count, 5)
      XCTAssertEqual((tag["notes"] as? Set<ManagedObject>)?.count, 2)
      XCTAssertTrue(try context.all("Note").allSatisfy { $0["lead"] as? ManagedObject === tag })
    }
    // One device keeps the color that has lost.
    let kept = try stores.flatMap { try $0.replica.journal() }
    XCTAssertEqual(kept.map(\.reason), [.duplicate])
    XCTAssertEqual(kept.map(\.propertyNames), [["color"]])
  }

  func testObjectsThatHaveBecomeOneStayOneWhenTheNameChanges() throws {
    let stores = try stores()
    try insertTag("red", color: "crimson", in: stores[0])
    try insertTag("red", color: "scarlet", in: stores[1])
    try synchronize(stores)
    try object("Tag", "name", "red", of: stores[1]).setValue("ruby", forKey: "name")
    try stores[1].context.save()
    try synchronize(stores)
    for store in stores { XCTAssertEqual(try names(in: store), ["ruby"]) }
    // The name is free.
    try insertTag("red", color: "rose", in: stores[0])
    try synchronize(stores)
    for store in stores { XCTAssertEqual(try names(in: store), ["red", "ruby"]) }
  }

  func testALinkThatReplacesOneOfTheSurvivorInTheSameSaveRemains() throws {
    // Which object survives depends on their IDs.
    for round in 0..<6 {
      let stores = try stores()
      for name in round % 2 == 0 ? ["red", "other"] : ["other", "red"] {
        let tag = try stores[0].context.insert("Tag", ["name": name])
        if name == "red" { try tag.mutableSetValue(forKey: "similar").add(tag) }
        try stores[0].context.save()
      }
      try synchronize(stores)
      // One device gives the name to another tag, which is similar to itself instead of the former one.
      let (former, new) = (try object("Tag", "name", "red", of: stores[1]), try object("Tag", "name", "other", of: stores[1]))
      try former.setValue("former", forKey: "name")
      try former.mutableSetValue(forKey: "similar").remove(former)
      try new.setValue("red", forKey: "name")
      try new.mutableSetValue(forKey: "similar").add(new)
      try stores[1].context.save()
      // Then the other one gives the name to the former tag again: both are one, and so are the links.
      let tag = try object("Tag", "name", "red", of: stores[0])
      for name in ["blue", "red"] {
        try tag.setValue(name, forKey: "name")
        try stores[0].context.save()
      }
      try synchronize(stores)
      for store in stores {
        XCTAssertEqual(try names(in: store), ["red"])
        let context = ManagedObjectContext(coordinator: store.open.coordinator)
        let tag = try XCTUnwrap(try context.all("Tag").first)
        XCTAssertEqual((tag["similar"] as? Set<ManagedObject>)?.map(\.objectID), [tag.objectID])
      }
    }
  }

  func testWhatRefersToAMergedObjectLaterFollows() throws {
    let stores = try stores(3)
    try insertTag("red", color: "crimson", in: stores[0])
    try synchronize(stores)
    try insertTag("blue", color: "navy", in: stores[1])
    try stores[1].synchronize()
    try stores[2].synchronize()
    // The third device refers to the tag before it knows that another one has the same name.
    let blue = try object("Tag", "name", "blue", of: stores[2])
    try stores[2].context.insert("Child", ["title": "late", "place": Int64(9), "tag": blue])
    try stores[2].context.save()
    try object("Tag", "name", "red", of: stores[0]).setValue("blue", forKey: "name")
    try stores[0].context.save()
    try stores[0].synchronize()
    try synchronize(stores)
    for store in stores {
      XCTAssertEqual(try names(in: store), ["blue"])
      XCTAssertEqual(try names("Child", "title", in: store), ["late"])
    }
  }

  func testCase10TwoUniqueValuesSwappedInOneSaveArriveAsOneImport() throws {
    for batch in [1, 2_000] {
      let stores = try stores()
      for name in ["a", "b", "c", "d"] { try insertTag(name, color: "color of \(name)", in: stores[0]) }
      try synchronize(stores)
      stores[1].limits.recordsInBatch = batch
      stores[1].restart()
      let tags = try ["a", "b", "c"].map { try object("Tag", "name", $0, of: stores[0]) }
      for (tag, name) in zip(tags, ["b", "c", "a"]) { try tag.setValue(name, forKey: "name") }
      stores[0].context.delete(try object("Tag", "name", "d", of: stores[0]))
      try stores[0].context.insert("Tag", ["name": "d", "color": "new"])
      try stores[0].context.save()
      try synchronize(stores)
      XCTAssertEqual(try object("Tag", "color", "color of a", of: stores[1])["name"] as? String, "b")
      XCTAssertEqual(try names(in: stores[1]), ["a", "b", "c", "d"])
    }
  }

  func testValuesOfSubentitiesAndRelationshipsAreUnique() throws {
    let stores = try stores()
    try insertTag("red", color: "crimson", children: 0..<2, in: stores[0])
    try synchronize(stores)
    try stores[0].context.insert("Label", ["name": "wide", "size": Int64(1)])
    try stores[0].context.save()
    try insertTag("wide", color: "white", in: stores[1])
    for store in stores {
      let tag = try object("Tag", "name", "red", of: store)
      try store.context.insert("Child", ["title": "of store \(store === stores[0])", "place": Int64(7), "tag": tag])
      try store.context.save()
    }
    try synchronize(stores)
    for store in stores {
      XCTAssertEqual(try names(in: store), ["red", "wide"])
      XCTAssertEqual(try names("Child", "title", in: store).count, 3)
    }
  }

  func testEqualObjectsFromBeforeSynchronizationBecomeOne() throws {
    let scenario = Scenario(deviceCount: 0)
    let stores = try (1...2 as ClosedRange<UInt64>).map { number in
      try SyncedStore(scenario, number, model: Self.model) { open in
        let context = open.newContext()
        for name in ["a", "b", "c"] {
          let tag = try context.insert("Tag", ["name": name, "color": "\(number)"])
          try context.insert("Child", ["title": "\(name)\(number)", "place": Int64(number), "tag": tag])
        }
        try context.save()
      }
    }
    try synchronize(stores)
    for store in stores {
      XCTAssertEqual(try names(in: store), ["a", "b", "c"])
      XCTAssertEqual(try names("Child", "title", in: store), ["a1", "a2", "b1", "b2", "c1", "c2"])
    }
  }

  func testAMergeSurvivesARestart() throws {
    let stores = try stores()
    try insertTag("red", color: "crimson", in: stores[0])
    try stores[0].synchronize()
    try insertTag("red", color: "scarlet", children: 0..<3, in: stores[1])
    try object("Note", "title", "of scarlet", of: stores[1]).setValue("later", forKey: "title")
    try stores[1].context.save()
    for action in try stores[1].handle(.remoteChange) {
      if case .pull = action { _ = try stores[1].handle(stores[1].answer(action)) }
    }
    XCTAssertEqual(try names(in: stores[1]), ["red"])
    try stores[1].reopenReplica()
    try synchronize(stores)
    for store in stores { XCTAssertEqual(try names("Child", "title", in: store).count, 3) }
  }

  func testRandomUniqueValuesAreUniqueOnAllStores() throws {
    for seed in 0..<10 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let stores = try stores(3)
      for _ in 0..<40 {
        let store = stores[Int.random(in: 0..<3, using: &random)]
        let name = "name \(Int.random(in: 0..<4, using: &random))"
        let tags = try store.context.all("Tag")
        switch Int.random(in: 0..<7, using: &random) {
        case 0..<2 where !tags.contains { $0["name"] as? String == name }:
          try insertTag(name, color: "\(seed)", children: 0..<Int.random(in: 0..<3, using: &random), in: store)
        case 2 where !tags.contains { $0["name"] as? String == name }:
          try tags.randomElement(using: &random)?.setValue(name, forKey: "name")
        case 3:
          if let tag = tags.randomElement(using: &random) { store.context.delete(tag) }
        case 4:
          try store.context.all("Note").randomElement(using: &random)?.setValue(tags.randomElement(using: &random), forKey: "lead")
        default: try store.synchronize()
        }
        try store.context.save()
        if Int.random(in: 0..<8, using: &random) == 0 { try store.reopenReplica() }
      }
      try synchronize(stores)
    }
  }
}
