import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// A long-lived context still finds its objects, and releases the state of released ones.
final class LongLivedContextTests: XCTestCase {
  func testRegisteredObjectsAreFoundWhileRetained() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      var ids: [ManagedObjectID] = []
      for round in 0..<20 {
        let tags = try (0..<200).map { try context.make("Tag", ["name": "\(round) \($0)"]) }
        try context.save()
        ids.append(contentsOf: tags.map(\.objectID))
      }
      XCTAssertEqual(context.registeredObjects.count, 0)
      var random = SeededGenerator(seed: 11)
      var held: [ManagedObjectID: ManagedObject] = [:]
      for _ in 0..<5_000 {
        guard let id = ids.randomElement(using: &random) else { continue }
        if let object = held[id] {
          XCTAssertTrue(context.registeredObject(for: id) === object)
          held[id] = nil
        } else {
          XCTAssertNil(context.registeredObject(for: id))
          if Bool.random(using: &random) { held[id] = context.object(with: id) }
        }
      }
      XCTAssertEqual(context.registeredObjects, Set(held.values))
      XCTAssertEqual(Set(held.values.compactMap { $0.text("name") }).count, held.count)
      held = [:]
      XCTAssertEqual(context.registeredObjects.count, 0)
    }
  }

  func testRepeatedlyDeletedMembersAreReleased() async throws {
    let model = ManagedObjectModel {
      Entity("Album") { Relationship("photos", toMany: "Photo") }
      Entity("Photo") { Attribute("name", .string) }
    }
    try await onEachStore([.sqlcipher], model: model, classes: ManagedObjectClasses()) { stack in
      let context = stack.makeContext()
      let kept = try context.make("Photo", ["name": "kept"])
      let album = try context.make("Album", ["photos": [kept]])
      try context.save()
      for _ in 0..<6 {
        let photos = try (0..<1_000).map { try context.make("Photo", ["name": "\($0)"]) }
        let members = try album.mutableSetValue(forKey: "photos")
        for photo in photos { members.add(photo) }
        try context.save()
        XCTAssertEqual(members.count, 1_001)
        for photo in photos { context.delete(photo) }
        try context.save()
        XCTAssertEqual(members.count, 1)
        XCTAssertEqual(album.many("photos"), [kept])
      }
      XCTAssertEqual(try stack.makeContext().objects("Album").first?.sortedNames("photos"), ["kept"])
    }
  }

  func testEarlierFetchResultsDoNotRetainObjects() async throws {
    try await onEachStore { stack in
      do {
        let writer = stack.makeShortLivedContext()
        for number in 0..<500 { try writer.make("Tag", ["name": "\(number)"]) }
        try writer.save()
      }
      let context = stack.makeContext()
      for _ in 0..<100 {
        XCTAssertEqual(try context.objects("Tag").count, 500)
        XCTAssertEqual(context.registeredObjects.count, 0)
      }
    }
  }

  func testLoopOverManyBatchesReadsSiblingsTogether() async throws {
    try await onEachStore([.sqlcipher]) { stack in
      let count = 30_000
      do {
        let writer = stack.makeShortLivedContext()
        for number in 0..<count { try writer.make("Author", ["name": "\(number)"]) }
        for author in try writer.objects("Author") { try writer.make("Book", ["title": "T", "author": author]) }
        try writer.save()
      }
      stack.forgetRows()
      let context = stack.makeContext()
      let authors = try context.objects("Author")
      stack.statements?.reset()
      var books = 0
      for author in authors { books += author.many("books").count }
      XCTAssertEqual(books, count)
      // One statement reads the members of 250 authors, which makes more groups than a context keeps.
      XCTAssertLessThanOrEqual(stack.statements?.count ?? 0, 150)
    }
  }
}
