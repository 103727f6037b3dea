import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Relationships whose declared inverse does not lead back, which Core Data accepts: setting one sets its inverse, but not the reverse.
public final class OneSidedInverseSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testSettingTheRelationshipSetsItsInverse", { $0.testSettingTheRelationshipSetsItsInverse }),
        ("testSettingTheInverseDoesNotChangeTheRelationship", { $0.testSettingTheInverseDoesNotChangeTheRelationship }),
        ("testChangingTheDestinationClearsThePreviousInverse", { $0.testChangingTheDestinationClearsThePreviousInverse }),
        ("testSecondToManyRelationshipSetsTheSharedInverse", { $0.testSecondToManyRelationshipSetsTheSharedInverse }),
        (
          "testRelationshipThatNamesAToOneAsInverseUpdatesIt",
          {
            $0.testRelationshipThatNamesAToOneAsInverseUpdatesIt
          }
        ),
        ("testDeletingTheOwnerClearsTheInverse", { $0.testDeletingTheOwnerClearsTheInverse }),
        ("testABatchDeletionClearsTheInverse", { $0.testABatchDeletionClearsTheInverse }),
        ("testBatchDeletionKeepsUnrelatedReferences", { $0.testBatchDeletionKeepsUnrelatedReferences }),
        (
          "testBatchDeletionClearsMembersOfAOneSidedRelationship",
          {
            $0.testBatchDeletionClearsMembersOfAOneSidedRelationship
          }
        ),
        ("testRequiredInverseRejectsABatchDeletion", { $0.testRequiredInverseRejectsABatchDeletion }),
        ("testUndoRestoresBothSides", { $0.testUndoRestoresBothSides }),
        ("testCycleOfInversesTerminates", { $0.testCycleOfInversesTerminates }),
      ] as [(String, (OneSidedInverseSpecification) -> () throws -> Void)])
  }

  /// `Chat.pinned` names `Message.chat`, which belongs to `Chat.messages`; `Chat.latest` names `Message.latestIn`, which names none;
  /// `Message.author` has no inverse but `Person.written` names it; the relationships of `Circle` name each other in a cycle.
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
      SpecificationModels.entity("Shelf", [SpecificationModels.text("name"), relationship("boxes", "Box", "shelf", many: true)]),
      SpecificationModels.entity(
        "Box",
        [
          SpecificationModels.text("name"), relationship("shelf", "Shelf", "favorite"),
          .relationship(RelationshipDescription(name: "owner", destination: "Owner", inverse: "label", isOptional: false)),
        ]),
      SpecificationModels.entity(
        "Owner",
        [
          SpecificationModels.text("name"),
          .relationship(RelationshipDescription(name: "box", destination: "Box", inverse: "owner")),
          relationship("label", "Circle", nil),
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

  func testSettingTheInverseDoesNotChangeTheRelationship() throws {
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

  func testChangingTheDestinationClearsThePreviousInverse() throws {
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

  func testSecondToManyRelationshipSetsTheSharedInverse() throws {
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

  func testRelationshipThatNamesAToOneAsInverseUpdatesIt() throws {
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
    // Without a way back, the deletion of the destination goes unnoticed: as in Core Data, the reference stays.
    let last = store.newContext()
    let again = try last.insert("Chat", ["name": "e", "latest": try find("Message", "name", "m", in: last)])
    try last.save()
    XCTAssertNotNil(again.object("latest"))
  }

  /// Deletes the objects with given names by a batch request. The result contains the objects' IDs.
  private func deleteAtOnce(_ entity: String, _ names: [String], in store: OpenStore) throws -> BatchResult {
    var request = BatchDeleteRequest(entityName: entity, predicate: try FetchPredicate(format: "name IN %@", names))
    request.resultType = .objectIDs
    return try store.newContext().execute(request)
  }

  func testABatchDeletionClearsTheInverse() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    let circles = try ["x", "y", "z"].map { try context.insert("Circle", ["name": $0]) }
    try circles[0].setValue(circles[1], forKey: "a")
    try circles[2].setValue(circles[1], forKey: "c")
    let message = try context.insert("Message", ["name": "m"])
    let pinned = try context.insert("Message", ["name": "n"])
    let chat = try context.insert("Chat", ["name": "c", "latest": message])
    try chat.setValue(Set([pinned]), forKey: "pinned")
    try context.save()
    let version = try XCTUnwrap(try store.row(circles[1].objectID)?.version)
    let result = try deleteAtOnce("Circle", ["x"], in: store)
    XCTAssertEqual(result.deletedObjectIDs, [circles[0].objectID])
    XCTAssertEqual(result.updatedObjectIDs, [circles[1].objectID])
    XCTAssertEqual(try deleteAtOnce("Chat", ["c"], in: store).count, 1)
    let other = store.newContext()
    let found = try find("Circle", "name", "y", in: other)
    XCTAssertNil(found.object("b"))
    XCTAssertEqual(found.object("a")?.text("name"), "z", "the object that stays is not released")
    XCTAssertEqual(try store.row(circles[1].objectID)?.version, version + 1)
    XCTAssertEqual(try find("Message", "name", "m", in: other).members("latestIn"), [])
    XCTAssertNil(try find("Message", "name", "n", in: other).object("chat"))
    // A context that has read the objects before.
    context.refreshAllObjects()
    XCTAssertNil(circles[1].object("b"))
    XCTAssertEqual(try deleteAtOnce("Circle", ["y", "z"], in: store).updatedObjectIDs, [])
  }

  func testBatchDeletionKeepsUnrelatedReferences() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    let (x, y) = (try context.insert("Circle", ["name": "x"]), try context.insert("Circle", ["name": "y"]))
    // The inverse alone: nothing leads from x to y.
    try y.setValue(x, forKey: "b")
    try context.save()
    XCTAssertNil(x.object("a"))
    let version = try store.row(y.objectID)?.version
    XCTAssertEqual(try deleteAtOnce("Circle", ["x"], in: store).updatedObjectIDs, [])
    XCTAssertEqual(try store.row(y.objectID)?.version, version)
  }

  func testBatchDeletionClearsMembersOfAOneSidedRelationship() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    let circle = try context.insert("Circle", ["name": "l"])
    let owner = try context.insert("Owner", ["name": "o", "label": circle])
    let shelves = try ["s", "t"].map { try context.insert("Shelf", ["name": $0]) }
    let boxes = try (0..<4).map { try context.insert("Box", ["name": "\($0)", "owner": owner]) }
    try shelves[0].setValue(Set(boxes[0...1]), forKey: "boxes")
    try shelves[1].setValue(Set([boxes[2]]), forKey: "boxes")
    try boxes[3].setValue(shelves[0], forKey: "shelf")
    try context.save()
    let result = try deleteAtOnce("Shelf", ["s"], in: store)
    let other = store.newContext()
    for (number, expected) in [nil, nil, "t"].enumerated() {
      XCTAssertEqual(try find("Box", "name", "\(number)", in: other).object("shelf")?.text("name"), expected, "\(number)")
    }
    XCTAssertTrue(Set(result.updatedObjectIDs).isSuperset(of: boxes[0...1].map(\.objectID)))
    XCTAssertFalse(result.updatedObjectIDs.contains(boxes[2].objectID))
  }

  func testRequiredInverseRejectsABatchDeletion() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    let owner = try context.insert("Owner", ["name": "o"])
    let box = try context.insert("Box", ["name": "b"])
    try owner.setValue(box, forKey: "box")
    XCTAssertEqual(box.object("owner"), owner)
    try context.save()
    XCTAssertThrowsError(try deleteAtOnce("Owner", ["o"], in: store)) {
      let error = $0 as? BatchError
      XCTAssertEqual(error?.code, .requiredRelationship)
      XCTAssertEqual(error?.objectIDs, [box.objectID])
    }
    XCTAssertEqual(try find("Owner", "name", "o", in: store.newContext()).object("box")?.text("name"), "b")
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

  func testCycleOfInversesTerminates() throws {
    let store = try makeStore(Self.model)
    let context = store.newContext()
    let (x, y) = (try context.insert("Circle", ["name": "x"]), try context.insert("Circle", ["name": "y"]))
    try x.setValue(y, forKey: "a")
    XCTAssertEqual(y.object("b"), x)
    // Only one step is followed.
    XCTAssertNil(x.object("c"))
    try context.save()
    XCTAssertEqual(try find("Circle", "name", "y", in: store.newContext()).object("b")?.text("name"), "x")
  }
}
