import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SyncCore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SyncEngine
@testable import _SyncSimulation

/// Stores with different versions of one model.
final class ModelVersionMirrorTests: XCTestCase {
  /// The versions, each of which differs from the first one by one change.
  private enum Version: Int, CaseIterable {
    case attributeAdded, attributeRemoved, attributeRenamed, entityAdded, typeChanged

    /// The name of the attribute that one version renames.
    var title: String { self == .attributeRenamed ? "name" : "title" }

    var attributes: [String] {
      [title, "stars"] + (self == .attributeAdded ? ["color"] : []) + (self == .attributeRemoved ? [] : ["text"])
    }

    var model: CompiledModel {
      let model = ManagedObjectModel {
        Entity("Folder") {
          Attribute("label", .string)
          Relationship("notes", toMany: "Note", inverse: "folder").onDelete(.cascade)
        }
        Entity("Note") {
          if self == .attributeRenamed { Attribute("name", .string).renamed(from: "title") } else { Attribute("title", .string) }
          if self != .attributeRemoved { Attribute("text", .string) }
          if self == .attributeAdded { Attribute("color", .string) }
          if self == .typeChanged { Attribute("stars", .string) } else { Attribute("stars", .integer64) }
          Relationship("folder", to: "Folder", inverse: "notes").required()
          if self == .entityAdded { Relationship("tags", toMany: "Tag", inverse: "note").onDelete(.cascade) }
        }
        if self == .entityAdded {
          Entity("Tag") {
            Attribute("word", .string)
            Relationship("note", to: "Note", inverse: "tags")
          }
        }
      }
      do { return try CompiledModel(model) } catch { preconditionFailure("\(error)") }
    }
  }

  /// The values of notes by their stable IDs. The renamed attribute has its first name.
  private func notes(_ store: SyncedStore, _ version: Version) throws -> [String: [String: String]] {
    try store.contents().filter { $0.value["entity"] == "Note" }.mapValues { values in
      Dictionary(uniqueKeysWithValues: values.map { ($0 == version.title ? "title" : $0, $1) })
    }
  }

  func testEveryPairOfFiveVersionsOfAModelMirrorsWhatBothKnowAndLosesNothing() throws {
    for version in Version.allCases { for other in Version.allCases { try mirror(version, other) } }
  }

  private func mirror(_ version: Version, _ other: Version) throws {
    let names = "\(version) and \(other)"
    var random = SeededGenerator(seed: UInt64(100 + version.rawValue * 10 + other.rawValue))
    let scenario = Scenario(deviceCount: 0)
    let versions = [version, other]
    let stores = try versions.enumerated().map { try SyncedStore(scenario, UInt64($0 + 1), model: $1.model) }
    let folder = try stores[0].context.insert("Folder", ["label": "home"])
    for number in 0..<4 {
      try stores[0].context.insert("Note", [version.title: "\(number)", "stars": stars(1, version), "folder": folder])
    }
    try stores[0].context.save()
    for store in [0, 1, 0] { try stores[store].synchronize() }
    for _ in 0..<20 {
      let index = Int.random(in: 0...1, using: &random)
      try edit(stores[index], versions[index], &random)
      if Int.random(in: 0..<3, using: &random) == 0 { try stores[Int.random(in: 0...1, using: &random)].synchronize() }
    }
    for store in [0, 1, 0, 1] { try stores[store].synchronize() }
    for store in stores { XCTAssertTrue(try store.isIdle, names) }

    // Both have the same values of what both know.
    let (mine, theirs) = (try notes(stores[0], version), try notes(stores[1], other))
    XCTAssertEqual(Set(mine.keys), Set(theirs.keys), names)
    XCTAssertGreaterThan(mine.count, 2, names)
    for (id, values) in mine {
      let known = theirs[id] ?? [:]
      for (key, value) in values where key != "tags" {
        guard let other = known[key] else { continue }
        // A text that is no number is not shown as one.
        if key == "stars", value == "many" || other == "many" {
          XCTAssertTrue([value, other].allSatisfy { $0 == "many" || $0 == "nil" }, "\(names): \(value), \(other)")
        } else {
          XCTAssertEqual(value, other, "\(names): \(key)")
        }
      }
    }
    // What one does not know was carried through: a new store of the same version has the same.
    for (index, version) in versions.enumerated() {
      let new = try SyncedStore(scenario, UInt64(10 + index), model: version.model)
      try new.synchronize()
      let (expected, found) = (try stores[index].contents(), try new.contents())
      for id in Set(expected.keys).union(found.keys) { XCTAssertEqual(found[id], expected[id], names) }
    }
  }

  private func stars(_ number: Int, _ version: Version) -> Any {
    if version != .typeChanged { return Int64(number) }
    return number == 7 ? "many" : "\(number)"
  }

  /// Makes a random save.
  private func edit(_ store: SyncedStore, _ version: Version, _ random: inout SeededGenerator) throws {
    let context = store.context
    context.reset()
    let found = try context.fetch(FetchRequest<ManagedObject>(entityName: "Note")).map { ($0, try $0.stableID?.uuidString ?? "") }
    let notes = found.sorted { $0.1 < $1.1 }.map(\.0)
    let folder = try XCTUnwrap(context.fetch(FetchRequest<ManagedObject>(entityName: "Folder")).first)
    let number = Int.random(in: 0..<10, using: &random)
    guard let note = notes.randomElement(using: &random), number > 1 else {
      try context.insert("Note", [version.title: "new \(number)", "folder": folder])
      return try context.save()
    }
    switch number {
    case 2 where notes.count > 4: context.delete(note)
    case 3 where version == .entityAdded: try context.insert("Tag", ["word": "w\(notes.count)", "note": note])
    default:
      let attribute = version.attributes[Int.random(in: 0..<version.attributes.count, using: &random)]
      let number = Int.random(in: 1...7, using: &random)
      let value: Any = attribute == "stars" ? stars(number, version) : "\(attribute) \(number)"
      try note.setValue(value, forKey: attribute)
    }
    try context.save()
  }

  /// A value of another type stays in the record until the attribute itself is changed.
  func testAnEditOfAnotherAttributeKeepsAValueThatCannotBeShown() throws {
    let scenario = Scenario(deviceCount: 0)
    let texts = try SyncedStore(scenario, 1, model: Version.typeChanged.model)
    let numbers = try SyncedStore(scenario, 2, model: Version.attributeAdded.model)
    let folder = try texts.context.insert("Folder", ["label": "home"])
    for stars in ["many", "5", "5.5"] { try texts.context.insert("Note", ["title": stars, "stars": stars, "folder": folder]) }
    try texts.context.save()
    for store in [texts, numbers] { try store.synchronize() }
    let shown = try numbers.context.fetch(FetchRequest<ManagedObject>(entityName: "Note"))
    XCTAssertEqual(shown.compactMap { $0["stars"] as? Int64 }, [5])
    for note in shown { try note.setValue("changed", forKey: "text") }
    try numbers.context.save()
    for store in [numbers, texts] { try store.synchronize() }
    var notes = try notes(texts, .typeChanged).values
    XCTAssertEqual(Set(notes.compactMap { $0["stars"] }), ["many", "5", "5.5"])
    XCTAssertTrue(notes.allSatisfy { $0["text"] == "changed" })
    for note in shown { try note.setValue(9, forKey: "stars") }
    try numbers.context.save()
    for store in [numbers, texts] { try store.synchronize() }
    notes = try self.notes(texts, .typeChanged).values
    XCTAssertEqual(Set(notes.compactMap { $0["stars"] }), ["9"])
  }

  func testFunctionsOfTheApplicationConvertValuesOfOtherTypes() throws {
    func model(_ type: AttributeType) throws -> CompiledModel {
      try CompiledModel(
        ManagedObjectModel {
          Entity("Party") {
            Attribute("name", .string)
            Attribute("since", type)
          }
          Entity("Person", parent: "Party") {}
        })
    }
    // The earlier version has years as texts, the later one dates.
    SyncConversions.register(from: String.self, to: Date.self, forAttribute: "since", ofEntity: "Party") { text in
      text.hasPrefix("in ") ? Double(text.dropFirst(3)).map { Date(timeIntervalSinceReferenceDate: $0) } : nil
    }
    SyncConversions.register(from: Date.self, to: String.self, forAttribute: "since", ofEntity: "Party") {
      "in \(Int($0.timeIntervalSinceReferenceDate))"
    }
    defer { SyncConversions.unregister(forAttribute: "since", ofEntity: "Party") }
    let scenario = Scenario(deviceCount: 0)
    let texts = try SyncedStore(scenario, 1, model: model(.string))
    let dates = try SyncedStore(scenario, 2, model: model(.date))
    for (name, since) in [("a", "in 7"), ("b", "long ago")] { try texts.context.insert("Person", ["name": name, "since": since]) }
    try texts.context.save()
    for store in [texts, dates] { try store.synchronize() }
    let people = try dates.context.fetch(FetchRequest<ManagedObject>(entityName: "Person"))
    func since(_ name: String) -> Date? { people.first { $0["name"] as? String == name }?["since"] as? Date }
    XCTAssertEqual(since("a"), Date(timeIntervalSinceReferenceDate: 7))
    XCTAssertNil(since("b"))
    // An edit of another attribute leaves the value as it was written.
    for person in people { try person.setValue("new \(person["name"] as? String ?? "")", forKey: "name") }
    try dates.context.save()
    for store in [dates, texts] { try store.synchronize() }
    func values() throws -> Set<String> { Set(try texts.contents().values.compactMap { $0["since"] }) }
    XCTAssertEqual(try values(), ["in 7", "long ago"])
    try XCTUnwrap(people.first { $0["name"] as? String == "new b" }).setValue(Date(timeIntervalSinceReferenceDate: 9), forKey: "since")
    try dates.context.save()
    for store in [dates, texts] { try store.synchronize() }
    XCTAssertEqual(try values(), ["in 7", "in 9"])
  }
}
