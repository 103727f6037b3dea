import ObjectContext
import ObjectModel
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Access to single links of join tables.
final class LinkStoreTests: XCTestCase {
  private static func model() throws -> CompiledModel {
    try CompiledModel(
      ManagedObjectModel {
        Entity("Thing") { Attribute("name", .string) }
        Entity("Book", parent: "Thing") { Relationship("tags", toMany: "Tag", inverse: "things") }
        Entity("Tag") { Relationship("things", toMany: "Book", inverse: "tags") }
        Entity("Person") {
          Relationship("friends", toMany: "Person", inverse: "friends")
          Relationship("liked", toMany: "Thing")
        }
      })
  }

  private func relationship(_ entity: String, _ name: String, _ open: OpenStore) throws -> CompiledRelationship {
    try XCTUnwrap(open.model.entity(named: entity)?.property(named: name)?.toMany)
  }

  func testLinksAreFoundAndListedInBatches() throws {
    let file = try TestStore()
    let open = try file.open(try Self.model())
    defer { try? open.close() }
    let store = try XCTUnwrap(open.store as? any LinkStore)
    let context = open.newContext()
    let books = try (0..<4).map { try context.insert("Book", ["name": "\($0)"]) }
    let tags = try (0..<3).map { _ in try context.insert("Tag") }
    let people = try (0..<3).map { _ in try context.insert("Person") }
    for (number, tag) in tags.enumerated() { for book in books[number...] { try tag.mutableSetValue(forKey: "things").add(book) } }
    try people[0].mutableSetValue(forKey: "friends").add(people[2])
    try people[1].mutableSetValue(forKey: "liked").add(books[3])
    try context.save()
    func link(_ source: ManagedObject, _ destination: ManagedObject) -> LinkChanges.Link {
      LinkChanges.Link(source: source.objectID.reference, destination: destination.objectID.reference)
    }
    let expected = tags.enumerated().flatMap { number, tag in books[number...].map { link(tag, $0) } }
    // From both sides, each in the order of its sources.
    for (entity, name, links) in [
      ("Tag", "things", expected),
      ("Book", "tags", expected.map { LinkChanges.Link(source: $0.destination, destination: $0.source) }),
    ] {
      let relationship = try relationship(entity, name, open)
      let sorted = links.sorted { ($0.source.key, $0.destination.key) < ($1.source.key, $1.destination.key) }
      for count in [1, 2, 4, 100] {
        var found: [LinkChanges.Link] = []
        while true {
          let batch = try store.links(of: relationship, after: found.last, maximumCount: count)
          XCTAssertLessThanOrEqual(batch.count, count)
          if batch.isEmpty { break }
          found += batch
        }
        XCTAssertEqual(found, sorted)
      }
    }
    let things = try relationship("Tag", "things", open)
    XCTAssertEqual(
      try store.contains([link(tags[0], books[0]), link(tags[2], books[0]), link(tags[2], books[3])], of: things), [true, false, true])
    let friends = try relationship("Person", "friends", open)
    XCTAssertEqual(try store.links(of: friends, after: nil, maximumCount: 10), [link(people[0], people[2]), link(people[2], people[0])])
    XCTAssertEqual(try store.contains([link(people[2], people[0]), link(people[1], people[0])], of: friends), [true, false])
    let liked = try relationship("Person", "liked", open)
    XCTAssertEqual(try store.links(of: liked, after: nil, maximumCount: 10), [link(people[1], books[3])])
  }

  func testARelationshipWhoseLinksAreValuesOfRowsHasNone() throws {
    let model = try CompiledModel(
      ManagedObjectModel {
        Entity("Folder") { Relationship("notes", toMany: "Note", inverse: "folder") }
        Entity("Note") { Relationship("folder", to: "Folder", inverse: "notes") }
      })
    let file = try TestStore()
    let open = try file.open(model)
    defer { try? open.close() }
    let store = try XCTUnwrap(open.store as? any LinkStore)
    let context = open.newContext()
    let note = try context.insert("Note", ["folder": try context.insert("Folder")])
    try context.save()
    let link = LinkChanges.Link(source: try XCTUnwrap(note.object("folder")).objectID.reference, destination: note.objectID.reference)
    let notes = try relationship("Folder", "notes", open)
    XCTAssertEqual(try store.contains([link], of: notes), [false])
    XCTAssertEqual(try store.links(of: notes, after: nil, maximumCount: 10), [])
  }
}
