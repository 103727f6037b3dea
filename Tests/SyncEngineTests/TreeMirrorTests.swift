import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SyncCore
import XCTest
import _StoreSpecification
import _SyncSimulation

@testable import SyncEngine

/// Trees of objects that two devices move, between stores that mirror each other.
final class TreeMirrorTests: XCTestCase {
  /// Folders and documents are in folders.
  private static let model: CompiledModel = {
    let model = ManagedObjectModel {
      Entity("Item", abstract: true) {
        Attribute("name", .string)
        Relationship("parent", to: "Folder", inverse: "items")
      }
      Entity("Folder", parent: "Item") { Relationship("items", toMany: "Item", inverse: "parent").onDelete(.cascade) }
      Entity("Document", parent: "Item") {}
    }
    do { return try CompiledModel(model) } catch { preconditionFailure("\(error)") }
  }()

  private func stores() throws -> [SyncedStore] {
    let scenario = Scenario(deviceCount: 0)
    let stores = try (1...2).map { try SyncedStore(scenario, UInt64($0), model: Self.model) }
    for name in ["a", "b", "c"] { try stores[0].context.insert("Folder", ["name": name]) }
    let document = try stores[0].context.insert("Document", ["name": "document"])
    try document.setValue(item("b", stores[0].context), forKey: "parent")
    try stores[0].context.save()
    try synchronize(stores)
    return stores
  }

  private func item(_ name: String, _ context: ManagedObjectContext) throws -> ManagedObject {
    try XCTUnwrap(try context.all("Item").first { try $0.value(forKey: "name", as: String.self) == name })
  }

  private func move(_ name: String, into parent: String?, in store: SyncedStore) throws {
    let context = ManagedObjectContext(coordinator: store.open.coordinator)
    try item(name, context).setValue(try parent.map { try item($0, context) }, forKey: "parent")
    try context.save()
  }

  /// Returns the names of items with those of their parents, which must agree with the items of these.
  private func parents(_ store: SyncedStore) throws -> [String: String] {
    let context = ManagedObjectContext(coordinator: store.open.coordinator)
    var (parents, members): ([String: String], [String: String]) = ([:], [:])
    for item in try context.all("Item") {
      let name = try XCTUnwrap(try item.value(forKey: "name", as: String.self))
      parents[name] = try (item["parent"] as? ManagedObject)?.value(forKey: "name", as: String.self)
      guard item.entity.name == "Folder" else { continue }
      for case let member as ManagedObject in item["items"] as? Set<AnyHashable> ?? [] {
        members[try XCTUnwrap(try member.value(forKey: "name", as: String.self))] = name
      }
    }
    XCTAssertEqual(parents, members)
    return parents
  }

  func testTheEarlierOfTwoMovesIntoEachOtherRemains() throws {
    for isReversed in [false, true] {
      let stores = try stores()
      try move("a", into: "b", in: stores[0])
      try move("b", into: "a", in: stores[1])
      try synchronize(isReversed ? stores.reversed() : stores)
      let remaining = try parents(stores[0])
      XCTAssertEqual(try parents(stores[1]), remaining)
      XCTAssertEqual(remaining.count, 2)
      XCTAssertEqual(remaining["document"], "b")
      XCTAssertTrue(remaining["a"] == "b" || remaining["b"] == "a", "\(remaining)")
      // It can be moved out, and the other one in.
      let (inner, outer) = remaining["a"] == "b" ? ("a", "b") : ("b", "a")
      try move(inner, into: nil, in: stores[1])
      try move(outer, into: inner, in: stores[1])
      try synchronize(stores)
      XCTAssertEqual(try parents(stores[0])[outer], inner)
      XCTAssertNil(try parents(stores[0])[inner])
    }
  }

  func testTheMoveThatDoesNotCountIsInTheJournal() throws {
    let stores = try stores()
    try move("a", into: "b", in: stores[0])
    try move("b", into: "c", in: stores[1])
    try move("c", into: "a", in: stores[1])
    try synchronize(stores)
    let entries = try stores.flatMap { try $0.replica.journal() }
    XCTAssertEqual(entries.map(\.reason), [.cycle])
    XCTAssertEqual(try parents(stores[0]).count, 3)
  }

  /// An application without synchronization may have allowed it.
  func testACycleFromBeforeSynchronizationIsOpened() throws {
    let scenario = Scenario(deviceCount: 0)
    let first = try SyncedStore(scenario, 1, model: Self.model) { open in
      let context = ManagedObjectContext(coordinator: open.coordinator)
      let folders = try (0..<20).map { try context.insert("Folder", ["name": "\($0)"]) }
      for (folder, parent) in zip(folders, folders[1...] + folders[..<1]) { try folder.setValue(parent, forKey: "parent") }
      try context.save()
    }
    let stores = [first, try SyncedStore(scenario, 2, model: Self.model)]
    try synchronize(stores)
    let parents = try parents(stores[1])
    XCTAssertEqual(parents.count, 19)
    XCTAssertEqual(try self.parents(stores[0]), parents)
  }

  func testADeletedFolderTakesOnlyWhatIsInIt() throws {
    let stores = try stores()
    try move("a", into: "b", in: stores[0])
    try move("b", into: "a", in: stores[1])
    try synchronize(stores)
    let inner = try parents(stores[0])["a"] == "b" ? "a" : "b"
    let context = ManagedObjectContext(coordinator: stores[1].open.coordinator)
    context.delete(try item(inner, context))
    try context.save()
    try synchronize(stores)
    let folders = try ManagedObjectContext(coordinator: stores[0].open.coordinator).all("Folder")
    let left = try folders.compactMap { try $0.value(forKey: "name", as: String.self) }
    XCTAssertEqual(left.sorted(), inner == "a" ? ["b", "c"] : ["a", "c"])
  }
}
