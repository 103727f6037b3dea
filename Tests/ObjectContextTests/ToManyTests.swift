import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Members are added, removed and reordered, loaded or not (row M14 and ordered relationships).
final class ToManyTests: XCTestCase {
  private let model = ManagedObjectModel {
    Entity("List") {
      Attribute("name", .string)
      Relationship("items", toMany: "Item", inverse: "list").ordered()
      Relationship("marks", toMany: "Item", inverse: "markers").ordered()
      Relationship("plain", toMany: "Item").ordered()
    }
    Entity("Item") {
      Attribute("name", .string)
      Relationship("list", to: "List", inverse: "items")
      Relationship("markers", toMany: "List", inverse: "marks")
    }
    Entity("Node") {
      Attribute("name", .string)
      Relationship("links", toMany: "Node", inverse: "links")
      Relationship("out", toMany: "Node", inverse: "back")
      Relationship("back", toMany: "Node", inverse: "out")
    }
  }

  private func onLists(_ body: (Stack) throws -> Void) async throws {
    try await onEachStore(model: model, classes: ManagedObjectClasses(), body)
  }

  /// A saved list with items named 0, 1, … in each ordered relationship, in its own context.
  private func list(_ count: Int, key: String, _ stack: Stack) throws -> (ManagedObjectContext, ManagedObject) {
    let writer = stack.makeContext()
    let items = try (0..<count).map { try writer.make("Item", ["name": "\($0)"]) }
    try writer.make("List", ["name": key, key: items])
    try writer.save()
    let context = stack.makeContext()
    return (context, try context.named(key, "List"))
  }

  private let orderedKeys = ["items", "marks", "plain"]

  func testMembersAreInsertedMovedRemovedAndReplacedInOrder() async throws {
    try await onLists { stack in
      for key in orderedKeys {
        let (context, list) = try list(5, key: key, stack)
        XCTAssertEqual(list.names(key), ["0", "1", "2", "3", "4"])
        let members = try list.mutableOrderedSetValue(forKey: key)
        members.insert(try context.make("Item", ["name": "new"]), at: 1)
        XCTAssertEqual(list.names(key), ["0", "new", "1", "2", "3", "4"])
        members.insert(members.objects[5], at: 0)
        XCTAssertEqual(list.names(key), ["4", "0", "new", "1", "2", "3"])
        members.remove(at: 2)
        XCTAssertEqual(list.names(key), ["4", "0", "1", "2", "3"])
        members.replace(at: 3, with: try context.make("Item", ["name": "two"]))
        XCTAssertEqual(list.names(key), ["4", "0", "1", "two", "3"])
        members.replace(at: 0, with: members.objects[4])
        XCTAssertEqual(list.names(key), ["3", "0", "1", "two"])
        members.insert(members.objects[0], at: 4)
        XCTAssertEqual(list.names(key), ["0", "1", "two", "3"])
        try context.save()
        XCTAssertEqual(list.names(key), ["0", "1", "two", "3"])
        XCTAssertEqual(try stack.makeContext().named(key, "List").names(key), ["0", "1", "two", "3"], key)
      }
    }
  }

  func testOrderIsPreservedAcrossManySaves() async throws {
    try await onLists { stack in
      for key in orderedKeys {
        let (context, list) = try list(6, key: key, stack)
        var expected = list.list(key)
        for step in 0..<12 {
          let member = expected.remove(at: (step * 5) % expected.count)
          expected.insert(member, at: (step * 7) % (expected.count + 1))
          try list.setValue(expected, forKey: key)
          try context.save()
          XCTAssertEqual(try stack.makeContext().named(key, "List").names(key), expected.compactMap { $0.text("name") }, key)
        }
      }
    }
  }

  func testMembersAddedWithoutReadingAreAppended() async throws {
    try await onLists { stack in
      for key in orderedKeys {
        let (context, list) = try list(2, key: key, stack)
        let members = try list.mutableOrderedSetValue(forKey: key)
        members.add(try context.make("Item", ["name": "2"]))
        XCTAssertTrue(list.hasFault(forRelationshipNamed: key))
        members.add(try context.make("Item", ["name": "3"]))
        try context.save()
        XCTAssertEqual(try stack.makeContext().named(key, "List").names(key), ["0", "1", "2", "3"], key)
        XCTAssertEqual(list.names(key), ["0", "1", "2", "3"])
      }
    }
  }

  func testOrderSetBeforeARefreshIsReapplied() async throws {
    try await onLists { stack in
      let (context, list) = try list(3, key: "items", stack)
      try list.setValue(Array(list.list("items").reversed()), forKey: "items")
      let other = stack.makeContext()
      try other.make("Item", ["name": "late", "list": try other.named("items", "List")])
      try other.save()
      context.refresh(list, mergeChanges: true)
      XCTAssertEqual(list.names("items"), ["2", "1", "0", "late"])
      try context.save()
      XCTAssertEqual(try stack.makeContext().named("items", "List").names("items"), ["2", "1", "0", "late"])
    }
  }

  func testSettingTheToOneSideAppendsTheMember() async throws {
    try await onLists { stack in
      let (context, list) = try list(2, key: "items", stack)
      let item = try context.make("Item", ["name": "2", "list": list])
      XCTAssertEqual(list.names("items"), ["0", "1", "2"])
      try context.save()
      let other = stack.makeContext()
      XCTAssertEqual(try other.named("items", "List").names("items"), ["0", "1", "2"])
      try item.setValue(nil, forKey: "list")
      XCTAssertEqual(list.names("items"), ["0", "1"])
    }
  }

  func testAddingAndRemovingDoNotReadTheMembers() async throws {
    try await onEachStore { stack in
      let writer = stack.makeContext()
      let author = try writer.make("Author", ["name": "A"])
      let first = try writer.make("Book", ["title": "1", "author": author])
      let tag = try writer.make("Tag", ["name": "t"])
      try first.setValue([tag], forKey: "tags")
      try writer.save()
      let context = stack.makeContext()
      let same = try context.named("A", "Author")
      let old = try XCTUnwrap(context.objects("Book").first)
      let sameTag = try context.named("t", "Tag")
      for object in [same, old, sameTag] { _ = object.entity.name }
      XCTAssertEqual(old.text("title"), "1")
      stack.statements?.reset()
      let new = try context.make("Book", ["title": "2"])
      try same.mutableSetValue(forKey: "books").add(new)
      try same.mutableSetValue(forKey: "books").remove(old)
      try old.mutableSetValue(forKey: "tags").remove(sameTag)
      try new.mutableSetValue(forKey: "tags").add(sameTag)
      XCTAssertEqual(stack.statements?.count ?? 0, 0)
      XCTAssertTrue(same.hasFault(forRelationshipNamed: "books"))
      try context.save()
      XCTAssertEqual(same.many("books"), [new])
      XCTAssertEqual(sameTag.many("books"), [new])
      let third = stack.makeContext()
      XCTAssertEqual(try third.named("A", "Author").many("books").compactMap { $0.text("title") }, ["2"])
      XCTAssertEqual(try third.named("t", "Tag").many("books").compactMap { $0.text("title") }, ["2"])
    }
  }

  func testAMemberAddedTwiceCountsOnce() async throws {
    try await onEachStore { stack in
      let writer = stack.makeContext()
      let author = try writer.make("Author", ["name": "A"])
      try writer.make("Book", ["title": "1", "author": author])
      try writer.save()
      let context = stack.makeContext()
      let same = try context.named("A", "Author")
      let book = try XCTUnwrap(context.objects("Book").first)
      same.addToToMany(book, at: 0)
      same.addToToMany(book, at: 0)
      XCTAssertEqual(same.toManyCount(0), 1)
      try same.setValue([book, book], forKey: "books")
      XCTAssertEqual(same.toManyCount(0), 1)
      try context.save()
      XCTAssertEqual(try stack.makeContext().named("A", "Author").many("books").count, 1)
    }
  }

  func testNewMemberRemovedAgainIsSavedWithoutTheLink() async throws {
    try await onLists { stack in
      for key in orderedKeys {
        let (context, list) = try list(1, key: key, stack)
        let item = try context.make("Item", ["name": "x"])
        let members = try list.mutableOrderedSetValue(forKey: key)
        members.add(item)
        members.remove(item)
        XCTAssertEqual(list.names(key), ["0"])
        try context.save()
        XCTAssertEqual(try stack.makeContext().named(key, "List").names(key), ["0"])
      }
    }
  }

  func testManyMembersAreAddedAndRemovedInLinearTime() async throws {
    try await onEachStore([.inMemory]) { stack in
      let context = stack.makeContext()
      let author = Author(context: context)
      author.name = "A"
      let books = try (0..<20_000).map { try context.make("Book", ["title": "\($0)"]) }
      for book in books { author.addToToMany(book, at: 0) }
      XCTAssertEqual(author.toManyCount(0), 20_000)
      for book in books { author.removeFromToMany(book, at: 0) }
      XCTAssertEqual(author.toManyCount(0), 0)
      for book in books.reversed() { author.addToToMany(book, at: 0) }
      XCTAssertEqual(author.toManyArray(0, as: ManagedObject.self).first, books.last)
    }
  }

  func testSelfLinkHasTwoEqualSides() async throws {
    try await onLists { stack in
      let context = stack.makeContext()
      let (ann, ben) = (try context.make("Node", ["name": "ann"]), try context.make("Node", ["name": "ben"]))
      try ann.setValue([ann, ben], forKey: "links")
      XCTAssertEqual(ben.sortedNames("links"), ["ann"])
      try context.save()
      let other = stack.makeContext()
      let same = try other.named("ann", "Node")
      XCTAssertEqual(same.sortedNames("links"), ["ann", "ben"])
      try other.named("ben", "Node").mutableSetValue(forKey: "links").remove(same)
      XCTAssertEqual(same.sortedNames("links"), ["ann"])
      try other.save()
      let third = stack.makeContext()
      XCTAssertEqual(try third.named("ann", "Node").sortedNames("links"), ["ann"])
      XCTAssertEqual(try third.named("ben", "Node").sortedNames("links"), [])
    }
  }

  func testDirectedGraphIsConsistentFromBothEnds() async throws {
    try await onLists { stack in
      let context = stack.makeContext()
      let nodes = try (0..<4).map { try context.make("Node", ["name": "\($0)"]) }
      try nodes[0].setValue([nodes[1], nodes[2]], forKey: "out")
      try nodes[3].setValue([nodes[0], nodes[1]], forKey: "back")
      try context.save()
      let other = stack.makeContext()
      XCTAssertEqual(try other.named("0", "Node").sortedNames("out"), ["1", "2", "3"])
      XCTAssertEqual(try other.named("1", "Node").sortedNames("out"), ["3"])
      XCTAssertEqual(try other.named("1", "Node").sortedNames("back"), ["0"])
      try other.named("1", "Node").setValue([], forKey: "back")
      XCTAssertEqual(try other.named("0", "Node").sortedNames("out"), ["2", "3"])
      try other.save()
      XCTAssertEqual(try stack.makeContext().named("0", "Node").sortedNames("out"), ["2", "3"])
    }
  }
}
