import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Merge rules that do not fit the model are rejected, and merged values are validated (rows C17, C19 and C23).
final class MergeRuleTests: XCTestCase {
  private enum Mood: String, Sendable { case glad, sad }

  private static let model = ManagedObjectModel {
    Composite("Place") { Attribute("city", .string).length(2...20) }
    Entity("Note") {
      Attribute("key", .string)
      Attribute("text", .string)
      Unique("key")
    }
    Entity("Chat", class: "Chat", parent: "Note") {
      Attribute("title", .string).required().length(1...10)
      Attribute("mood", .string)
      Attribute("count", .integer32).range(0...100)
      Attribute("low", .integer32)
      Attribute("high", .integer32)
      Attribute("any", transforming: [String].self)
      Attribute("scratch", .string).transient()
      Attribute("home", composite: "Place")
      Attribute("keyFolded", .string).derived("canonical:(key)")
      Relationship("parent", to: "Chat", inverse: "children")
      Relationship("children", toMany: "Chat", inverse: "parent")
    }
  }

  /// A class with validation: the minimum must not exceed the maximum, and titles are trimmed.
  final class Chat: ManagedObject {
    override class var keysWithCustomValidation: [String] { ["title"] }
    override func validateValue(_ value: inout Any?, forKey key: String) throws {
      if key == "title" {
        try validate(&value, forKey: key) { (title: inout String) in title = title.trimmingCharacters(in: .whitespaces) }
      }
      try super.validateValue(&value, forKey: key)
    }
    override func validateForUpdate() throws {
      try super.validateForUpdate()
      try validateBounds()
    }
    override func validateForInsert() throws {
      try super.validateForInsert()
      try validateBounds()
    }
    private func validateBounds() throws {
      if let low = self["low"] as? Int32, let high = self["high"] as? Int32, low > high {
        throw ValidationError(object: self, key: "low", reason: "is above “high”")
      }
    }
  }

  private static let classes = ManagedObjectClasses(["Chat": Chat.self])

  private func onChats(_ body: (Stack) throws -> Void) async throws {
    try await onEachStore(model: Self.model, classes: Self.classes, body)
  }

  // MARK: Invalid rules

  /// Policies with an error, and its message.
  private static let mistakes: [(MergePolicy, String)] = {
    let base = MergePolicy.mergeByPropertyObjectTrump
    struct Mine: MergeResolver {}
    return [
      (base.resolving("Chat", "title", as: Int.self) { $0.store }, "Chat.title"),
      (base.resolving("Chat", "count", as: String.self) { $0.store }, "Chat.count"),
      (base.resolving("Chat", "count", as: Bool.self) { $0.store }, "Chat.count"),
      (base.resolving("Chat", "parent", as: String.self) { $0.store }, "Chat.parent"),
      (base.resolving("Chat", "title", as: ManagedObjectID.self) { $0.store }, "Chat.title"),
      (base.resolving("Chat", "home.city", as: Date.self) { $0.store }, "Chat.home.city"),
      (base.resolving("Chat", "titel", as: String.self) { $0.store }, "Chat.titel"),
      (base.resolving("Caht", "title", as: String.self) { $0.store }, "Caht"),
      (base.resolving("Caht", by: .rollback), "Caht"),
      (base.resolving("Chat", "children", as: ManagedObjectID.self) { $0.store }, "Chat.children"),
      (base.resolving("Chat", "home", as: String.self) { $0.store }, "Chat.home"),
      (base.resolving("Chat", "scratch", as: String.self) { $0.store }, "Chat.scratch"),
      (base.resolving("Chat", "keyFolded", as: String.self) { $0.store }, "Chat.keyFolded"),
      (MergePolicy.error.resolving("Chat", "title", as: String.self) { $0.store }, "is never applied, since"),
      (base.resolving("Note", by: .error).resolving("Chat", "title", as: String.self) { $0.store }, "is never applied, since"),
      (MergePolicy(Mine()).resolving("Chat", by: .rollback), "never followed"),
    ]
  }()

  func testInvalidRulesThrowImmediatelyAndWriteNothing() async throws {
    try await onChats { stack in
      for (policy, place) in Self.mistakes {
        let context = stack.makeContext()
        context.mergePolicy = policy
        let error = try XCTUnwrap(context.pendingError as? MergePolicyError, place)
        XCTAssertEqual(error.issues.count, 1, place)
        XCTAssertTrue("\(error)".contains(place), "\(error)")
        let chat = try context.make("Chat", ["title": "t", "key": place])
        for _ in 0..<2 { XCTAssertThrowsError(try context.save()) { XCTAssertTrue($0 is MergePolicyError, "\($0)") } }
        context.rollback()
        XCTAssertTrue(context.pendingError is MergePolicyError, "A rollback does not fix the policy.")
        XCTAssertNil(chat.managedObjectContext)
        context.mergePolicy = .rollback
        XCTAssertNil(context.pendingError)
        try context.save()
      }
      XCTAssertEqual(try stack.makeContext().objects("Note").count, 0)
    }
  }

  func testContainerRejectsAPolicyWithInvalidRules() throws {
    for (policy, place) in Self.mistakes {
      XCTAssertThrowsError(try PersistentContainer(name: "chats", managedObjectModel: Self.model, mergePolicy: policy)) {
        XCTAssertTrue(($0 as? ModelValidationError).map { "\($0)".contains(place) } ?? false, "\($0)")
      }
    }
    let all = Self.mistakes.dropLast(3).reduce(MergePolicy.mergeByPropertyObjectTrump) { policy, _ in policy }
      .resolving("Chat", "titel", as: String.self) { $0.store }.resolving("Caht", by: .rollback)
    XCTAssertThrowsError(try PersistentContainer(name: "chats", managedObjectModel: Self.model, mergePolicy: all)) {
      XCTAssertEqual(($0 as? ModelValidationError)?.issues.count, 2, "All errors are reported together.")
    }
  }

  func testValidRulesAreAccepted() async throws {
    try await onChats { stack in
      let policy = MergePolicy.error.resolving("Chat", by: .mergeByPropertyStoreTrump)
        .resolving("Chat", "title", as: String.self) { $0.store }.resolving("Chat", "mood", as: Mood.self) { _ in .glad }
        .resolving("Chat", "count", as: Int.self) { ($0.object ?? 0) + ($0.store ?? 0) - ($0.original ?? 0) }
        .resolving("Chat", "parent", as: ManagedObjectID.self) { $0.store }.resolving("Chat", "any", as: [String].self) { $0.store }
        .resolving("Chat", "home.city", as: String.self) { $0.store }.resolving("Note", "text", as: String?.self) { $0.store }
        .resolving("Note", "title", as: String.self) { $0.store }
      let (context, other) = (stack.makeContext(), stack.makeContext())
      context.mergePolicy = policy
      XCTAssertNil(context.pendingError)
      let chat = try context.make("Chat", ["title": "t", "count": 5, "mood": "glad"])
      try context.save()
      let same = try other.existingObject(with: chat.objectID)
      for (object, count, mood) in [(same, 7, "sad"), (chat, 8, "glad")] {
        try object.setValue(count, forKey: "count")
        try object.setValue(mood == "sad" ? nil : "sad", forKey: "mood")
      }
      try other.save()
      try context.save()
      XCTAssertEqual(chat["count"] as? Int32, 10)
      XCTAssertEqual(chat.text("mood"), "glad", "An enumeration gives its raw value.")
    }
  }

  // MARK: Validation of merged values

  /// Changes a chat in two contexts, so that the first one's save meets the conflict.
  private func clash(
    _ stack: Stack, _ policy: MergePolicy, mine: [String: Any], theirs: [String: Any],
    _ check: (ManagedObject, ManagedObjectContext) throws -> Void
  ) throws {
    let (context, other) = (stack.makeContext(), stack.makeContext())
    context.mergePolicy = policy
    let chat = try context.make("Chat", ["title": "old", "count": 5, "low": 1, "high": 9])
    try context.save()
    let same = try other.existingObject(with: chat.objectID)
    for (key, value) in theirs { try same.setValue(value, forKey: key) }
    try other.save()
    for (key, value) in mine { try chat.setValue(value, forKey: key) }
    try check(chat, context)
  }

  func testRuleResultIsValidatedBeforeTheWrite() async throws {
    let base = MergePolicy.mergeByPropertyObjectTrump
    let wrong: [(MergePolicy, String, ValidationError.Code)] = [
      (base.resolving("Chat", "title", as: String.self) { _ in nil }, "title", .missingValue),
      (base.resolving("Chat", "title", as: String.self) { _ in "" }, "title", .stringTooShort),
      (base.resolving("Chat", "title", as: String.self) { ($0.object ?? "") + "..........." }, "title", .stringTooLong),
      (base.resolving("Chat", "count", as: Int.self) { _ in 101 }, "count", .numberTooLarge),
      (base.resolving("Chat", "count", as: Int.self) { _ in -1 }, "count", .numberTooSmall),
      (base.resolving("Chat", "home.city", as: String.self) { _ in "x" }, "home.city", .stringTooShort),
    ]
    try await onChats { stack in
      for (policy, key, code) in wrong {
        let values: [String: Any] = ["title": "mine", "count": 6, "home.city": "Rome"]
        let others: [String: Any] = ["title": "theirs", "count": 7, "home.city": "Bonn"]
        try clash(stack, policy, mine: values, theirs: others) { chat, context in
          XCTAssertThrowsError(try context.save(), key) {
            XCTAssertEqual(($0 as? ValidationError)?.code, code, "\($0)")
            XCTAssertEqual(($0 as? ValidationError)?.key, key)
            XCTAssertEqual(($0 as? ValidationError)?.objectID, chat.objectID)
          }
          // The object and the store are unchanged.
          XCTAssertTrue(chat.isUpdated)
          XCTAssertEqual(chat.text("title"), "mine")
          XCTAssertEqual(chat["count"] as? Int32, 6)
          XCTAssertEqual(Set(chat.changedValues().keys), ["title", "count", "home.city"])
          stack.forgetRows()
          let stored = try stack.makeContext().existingObject(with: chat.objectID)
          XCTAssertEqual(stored.text("title"), "theirs")
          XCTAssertEqual(stored["count"] as? Int32, 7)
          // Another policy saves it.
          context.mergePolicy = .mergeByPropertyObjectTrump
          try context.save()
          XCTAssertEqual(chat.text("title"), "mine")
        }
      }
    }
  }

  func testRulesOverSeveralPropertiesSeeBothSides() async throws {
    try await onChats { stack in
      // Each side alone is valid: 8...9 and 1...3.
      try clash(stack, .mergeByPropertyObjectTrump, mine: ["low": 8], theirs: ["high": 3]) { chat, context in
        XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? ValidationError)?.key, "low", "\($0)") }
        XCTAssertEqual(chat["high"] as? Int32, 9, "It is as it was.")
        XCTAssertEqual(try stack.makeContext().existingObject(with: chat.objectID)["low"] as? Int32, 1)
        try chat.setValue(2, forKey: "low")
        try context.save()
        XCTAssertEqual(chat["high"] as? Int32, 3)
      }
    }
  }

  func testValidatorReplacementOfAMergedValueIsSaved() async throws {
    try await onChats { stack in
      let policy = MergePolicy.rollback.resolving("Chat", "title", as: String.self) { "  \($0.object ?? "") " }
      try clash(stack, policy, mine: ["title": "mine"], theirs: ["title": "theirs"]) { chat, context in
        try context.save()
        XCTAssertEqual(chat.text("title"), "mine")
        stack.forgetRows()
        XCTAssertEqual(try stack.makeContext().existingObject(with: chat.objectID).text("title"), "mine")
        XCTAssertFalse(context.hasChanges)
      }
    }
  }

  func testResolverValuesAreValidated() async throws {
    struct Deciding: MergeResolver {
      let values: [String: (any Sendable)?]
      func decision(for conflict: MergeConflict) throws -> MergeDecision { MergeDecision(.overwrite, values: values) }
      func decision(for conflict: ConstraintConflict) throws -> MergeDecision { MergeDecision(.overwrite, values: values) }
    }
    try await onChats { stack in
      let policy = MergePolicy(Deciding(values: ["title": nil, "count": 1_000]))
      try clash(stack, policy, mine: ["low": 2], theirs: ["low": 3]) { chat, context in
        XCTAssertThrowsError(try context.save()) {
          XCTAssertEqual(Set(($0 as? ValidationError)?.errors.compactMap(\.key) ?? []), ["title", "count"], "\($0)")
        }
        XCTAssertEqual(try stack.makeContext().existingObject(with: chat.objectID)["low"] as? Int32, 3)
      }
    }
  }

  func testMergedNewObjectsAreValidated() async throws {
    let wrong = MergePolicy.mergeByPropertyObjectTrump.resolving("Chat", "title", as: String.self) { _ in nil }
    try await onChats { stack in
      for isHeld in [false, true] {
        let (setup, context) = (stack.makeContext(), stack.makeContext())
        let stored = try setup.make("Chat", ["title": "stored", "key": "k\(isHeld)", "low": 5])
        try setup.save()
        let held = isHeld ? try context.existingObject(with: stored.objectID) : nil
        context.mergePolicy = wrong
        let new = try context.make("Chat", ["title": "new", "key": "k\(isHeld)"])
        XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? ValidationError)?.code, .missingValue, "\($0)") }
        XCTAssertTrue(new.isInserted)
        XCTAssertEqual(new.text("title"), "new")
        XCTAssertFalse(held?.hasChanges ?? false)
        // The class's validation applies to values of both sides.
        context.mergePolicy = .mergeByPropertyObjectTrump
        try new.setValue(2, forKey: "high")
        XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? ValidationError)?.key, "low", "\($0)") }
        XCTAssertEqual(try stack.makeContext().objects("Chat", where: "title == 'stored'").count, 1)
        try new.setValue(7, forKey: "high")
        try context.save()
        XCTAssertEqual(try stack.makeContext().existingObject(with: stored.objectID).text("title"), "new")
        XCTAssertEqual(isHeld, new.managedObjectContext == nil)
        XCTAssertFalse(context.hasChanges)
      }
    }
  }

  func testMergedNewObjectsOfOneSaveAreValidatedOnce() async throws {
    try await onChats { stack in
      let context = stack.makeContext()
      context.mergePolicy = .mergeByPropertyObjectTrump
      _ = try context.make("Chat", ["title": "1", "key": "k", "low": 5])
      let second = try context.make("Chat", ["title": "2", "key": "k", "high": 2])
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? ValidationError)?.key, "low", "\($0)") }
      XCTAssertEqual(try stack.makeContext().objects("Chat").count, 0)
      try second.setValue(6, forKey: "high")
      try context.save()
      let chats = try stack.makeContext().objects("Chat")
      XCTAssertEqual(chats.map { [$0["low"] as? Int32, $0["high"] as? Int32] }, [[5, 6]])
    }
  }

  func testRestoredRowIsValidated() async throws {
    struct Deciding: MergeResolver {
      func decision(for conflict: MergeConflict) throws -> MergeDecision { MergeDecision(.overwrite, values: ["title": nil]) }
    }
    try await onChats { stack in
      let (context, other) = (stack.makeContext(), stack.makeContext())
      context.mergePolicy = MergePolicy(Deciding())
      let chat = try context.make("Chat", ["title": "t", "low": 1])
      try context.save()
      other.delete(try other.existingObject(with: chat.objectID))
      try other.save()
      try chat.setValue(2, forKey: "low")
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? ValidationError)?.code, .missingValue, "\($0)") }
      XCTAssertEqual(try stack.makeContext().objects("Chat").count, 0)
      context.mergePolicy = .overwrite
      try context.save()
      XCTAssertEqual(try stack.makeContext().objects("Chat").count, 1)
    }
  }
}
