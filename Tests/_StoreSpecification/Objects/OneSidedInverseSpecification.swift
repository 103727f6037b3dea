// OneSidedInverseSpecification: relationships whose named inverse does not lead back, as Core Data accepts them.
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Relationships whose named inverse does not lead back: setting one sets its inverse, and not the other way round.
public final class OneSidedInverseSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testSettingTheRelationshipSetsItsInverse", { $0.testSettingTheRelationshipSetsItsInverse }),
        ("testSettingTheInverseLeavesTheRelationship", { $0.testSettingTheInverseLeavesTheRelationship }),
        ("testAnotherDestinationLeavesTheFormerOne", { $0.testAnotherDestinationLeavesTheFormerOne }),
        ("testMembersFollowASecondToManyRelationship", { $0.testMembersFollowASecondToManyRelationship }),
        (
          "testAToOneRelationshipWithoutAnInverseIsThatOfTheOneThatNamesIt",
          {
            $0.testAToOneRelationshipWithoutAnInverseIsThatOfTheOneThatNamesIt
          }
        ),
        ("testDeletingTheOwnerClearsTheInverse", { $0.testDeletingTheOwnerClearsTheInverse }),
        ("testUndoRestoresBothSides", { $0.testUndoRestoresBothSides }),
        ("testACircleOfInversesEnds", { $0.testACircleOfInversesEnds }),
      ] as [(String, (OneSidedInverseSpecification) -> () throws -> Void)])
  }

  /// `Chat.pinned` names `Message.chat`, which belongs to `Chat.messages`; `Chat.latest` names `Message.latestIn`, which names none; `Message.author` has no
  /// inverse but is named by `Person.written`; the relationships of `Circle` name each other in a ring.
  static let model: CompiledModel = {
    func relationship(_ name: String, _ destination: String, _ inverse: String?, many: Bool = false) -> PropertyDescription {
      .relationship(RelationshipDescription(name: name, destination: destination, inverse: inverse, isToMany: many))
    }
    return SpecificationModels.compile([
      SpecificationModels.entity(
        "Chat",
        [
          SpecificationModels.text("name"), relationship("messages", "Message", "chat", many: true),
          relationship("pinned", "Message", "chat", many: true), relationship("latest", "Message", "latestIn"),
        ]),
      SpecificationModels.entity(
        "Message",
        [
          SpecificationModels.text("name"), relationship("chat", "Chat", "messages"), relationship("latestIn", "Chat", nil, many: true),
          relationship("author", "Person", nil),
        ]),
      SpecificationModels.entity(
        "Person", [SpecificationModels.text("name"), relationship("written", "Message", "author", many: true)]),
      SpecificationModels.entity(
        "Circle",
        [
          SpecificationModels.text("name"), relationship("a", "Circle", "b"), relationship("b", "Circle", "c"),
          relationship("c", "Circle", "a"),
        ]),
    ])
  }()

  func testSettingTheRelationshipSetsItsInverse() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    let (chat, message) = (try context.insert("Chat", ["name": "c"]), try context.insert("Message", ["name": "m"]))
    try chat.setValue(message, forKey: "latest")
    XCTAssertEqual(message.members("latestIn"), [chat])
    try context.save()
    let other = store.newContext()
    let found = try find("Message", "name", "m", in: other)
    XCTAssertEqual(found.members("latestIn").map { $0.text("name") }, ["c"])
    XCTAssertEqual(try find("Chat", "name", "c", in: other).object("latest"), found)
  }

  func testSettingTheInverseLeavesTheRelationship() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    let (chat, message) = (try context.insert("Chat", ["name": "c"]), try context.insert("Message", ["name": "m"]))
    try message.setValue(Set([chat]), forKey: "latestIn")
    XCTAssertNil(chat.object("latest"))
    try context.save()
    let other = store.newContext()
    XCTAssertNil(try find("Chat", "name", "c", in: other).object("latest"))
    XCTAssertEqual(try find("Message", "name", "m", in: other).members("latestIn").count, 1)
  }

  func testAnotherDestinationLeavesTheFormerOne() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    let chat = try context.insert("Chat", ["name": "c"])
    let messages = try ["m", "n"].map { try context.insert("Message", ["name": $0]) }
    try chat.setValue(messages[0], forKey: "latest")
    try context.save()
    try chat.setValue(messages[1], forKey: "latest")
    XCTAssertEqual(messages.map { $0.members("latestIn").count }, [0, 1])
    try context.save()
    let other = store.newContext()
    XCTAssertEqual(try find("Message", "name", "m", in: other).members("latestIn"), [])
    XCTAssertEqual(try find("Message", "name", "n", in: other).members("latestIn").count, 1)
    try chat.setValue(nil, forKey: "latest")
    XCTAssertEqual(messages[1].members("latestIn"), [])
  }

  func testMembersFollowASecondToManyRelationship() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    let chats = try ["c", "d"].map { try context.insert("Chat", ["name": $0]) }
    let message = try context.insert("Message", ["name": "m", "chat": chats[1]])
    try context.save()
    try chats[0].setValue(Set([message]), forKey: "pinned")
    XCTAssertEqual(message.object("chat"), chats[0])
    // The inverse keeps its own inverse in sync.
    XCTAssertEqual(chats.map { $0.members("messages").count }, [1, 0])
    try context.save()
    let other = store.newContext()
    let found = try find("Chat", "name", "c", in: other)
    XCTAssertEqual(found.members("pinned").map { $0.text("name") }, ["m"])
    XCTAssertEqual(found.members("messages"), found.members("pinned"))
    XCTAssertEqual(try find("Chat", "name", "d", in: other).members("messages"), [])
    try found.setValue(Set<ManagedObject>(), forKey: "pinned")
    XCTAssertEqual(found.members("messages"), [])
  }

  func testAToOneRelationshipWithoutAnInverseIsThatOfTheOneThatNamesIt() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    let people = try ["p", "q"].map { try context.insert("Person", ["name": $0]) }
    let message = try context.insert("Message", ["name": "m", "author": people[0]])
    try context.save()
    let other = store.newContext()
    XCTAssertEqual(try find("Person", "name", "p", in: other).members("written").map { $0.text("name") }, ["m"])
    try people[1].setValue(Set([message]), forKey: "written")
    XCTAssertEqual(message.object("author"), people[1])
    XCTAssertEqual(people[0].members("written"), [])
    context.delete(people[1])
    try context.save()
    XCTAssertNil(message.object("author"))
  }

  func testDeletingTheOwnerClearsTheInverse() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    let message = try context.insert("Message", ["name": "m"])
    let pinned = try context.insert("Message", ["name": "n"])
    let chat = try context.insert("Chat", ["name": "c", "latest": message])
    try chat.setValue(Set([pinned]), forKey: "pinned")
    try context.save()
    let other = store.newContext()
    other.delete(try find("Chat", "name", "c", in: other))
    try other.save()
    XCTAssertEqual(try find("Message", "name", "m", in: other).members("latestIn"), [])
    XCTAssertNil(try find("Message", "name", "n", in: store.newContext()).object("chat"))
    // Without a way back the deletion of the destination is not seen: as in Core Data the reference stays.
    let last = store.newContext()
    let again = try last.insert("Chat", ["name": "e", "latest": try find("Message", "name", "m", in: last)])
    try last.save()
    XCTAssertNotNil(again.object("latest"))
  }

  func testUndoRestoresBothSides() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    context.undoManager = ContextUndoManager()
    let (chat, message) = (try context.insert("Chat", ["name": "c"]), try context.insert("Message", ["name": "m"]))
    try context.save()
    try chat.setValue(message, forKey: "latest")
    context.processPendingChanges()
    try context.undo()
    XCTAssertNil(chat.object("latest"))
    XCTAssertEqual(message.members("latestIn"), [])
    try context.redo()
    XCTAssertEqual(chat.object("latest"), message)
    XCTAssertEqual(message.members("latestIn"), [chat])
  }

  func testACircleOfInversesEnds() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    let (x, y) = (try context.insert("Circle", ["name": "x"]), try context.insert("Circle", ["name": "y"]))
    try x.setValue(y, forKey: "a")
    XCTAssertEqual(y.object("b"), x)
    // One step is followed, and no further one.
    XCTAssertNil(x.object("c"))
    try context.save()
    XCTAssertEqual(try find("Circle", "name", "y", in: store.newContext()).object("b")?.text("name"), "x")
  }
}
