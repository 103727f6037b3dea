@_spi(Generated) import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Properties in memory only (row M8).
final class TransientTests: XCTestCase {
  private let model = ManagedObjectModel {
    Entity("Thing") {
      Attribute("name", .string)
      Attribute("mood", .string).transient()
      Attribute("any", .undefined).transient()
      Relationship("friend", to: "Thing").transient()
      Relationship("guests", toMany: "Thing").transient()
    }
  }

  private func onThings(_ body: (Stack) throws -> Void) async throws {
    try await onEachStore(model: model, classes: ManagedObjectClasses(), body)
  }

  func testTransientValuesAreNotStored() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let guest = try context.make("Thing", ["name": "guest"])
      let thing = try context.make("Thing", ["name": "host", "mood": "glad", "friend": guest])
      try thing.setValue([guest], forKey: "guests")
      try context.save()
      XCTAssertEqual(thing.text("mood"), "glad")
      XCTAssertTrue(thing.one("friend") === guest)
      let same = try stack.makeContext().named("host", "Thing")
      XCTAssertNil(same["mood"])
      XCTAssertNil(same.one("friend"))
      XCTAssertEqual(same.many("guests"), [])
    }
  }

  func testPrefetchingATransientRelationshipSendsNoStoreRequest() async throws {
    try await onThings { stack in
      let writer = stack.makeContext()
      for name in ["a", "b"] { try writer.make("Thing", ["name": name]) }
      try writer.save()
      let context = stack.makeContext()
      let things = try context.objects("Thing", by: "name")
      stack.statements?.reset()
      try context.prefetch(["guests"], for: things)
      XCTAssertEqual(stack.statements?.count ?? 0, 0)
      XCTAssertEqual(things[0].many("guests"), [])
      var request = FetchRequest<ManagedObject>(entityName: "Thing")
      request.relationshipKeyPathsForPrefetching = ["guests"]
      XCTAssertEqual(try stack.makeContext().fetch(request).count, 2)
    }
  }

  func testSettingATransientPropertyMakesNoPersistentChanges() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let thing = try context.make("Thing", ["name": "a"])
      try context.save()
      try thing.setValue("glad", forKey: "mood")
      XCTAssertTrue(context.hasChanges)
      XCTAssertTrue(thing.hasChanges)
      XCTAssertFalse(thing.hasPersistentChangedValues)
      XCTAssertEqual(thing.changedValues()["mood"] as? String, "glad")
      stack.statements?.reset()
      try context.save()
      XCTAssertEqual(stack.statements?.texts.filter { $0.hasPrefix("UPDATE") }.count ?? 0, 0)
      XCTAssertEqual(thing.text("mood"), "glad")
      XCTAssertFalse(context.hasChanges)
    }
  }

  func testFaultsLoseTransientValues() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let thing = try context.make("Thing", ["name": "a", "mood": "glad"])
      try context.save()
      context.refresh(thing, mergeChanges: true)
      XCTAssertEqual(thing.text("mood"), "glad")
      context.refresh(thing, mergeChanges: false)
      XCTAssertNil(thing["mood"])
      XCTAssertEqual(thing.text("name"), "a")
    }
  }

  func testFaultsRestoreTransientDefaults() async throws {
    let model = ManagedObjectModel {
      Entity("Thing", class: "Moody") {
        Attribute("name", .string)
        Attribute("mood", .string).required().transient().initially("calm")
        Attribute("level", .integer32).transient().initially(3)
      }
    }
    try await onEachStore(model: model, classes: ManagedObjectClasses(["Thing": Moody.self])) { stack in
      let context = stack.makeContext()
      let thing = try XCTUnwrap(context.make("Thing", ["name": "a"]) as? Moody)
      func check(_ thing: Moody, _ mood: String, _ level: Int32?, _ place: String) throws {
        XCTAssertEqual(try thing.value(forKey: "mood") as? String, mood, place)
        XCTAssertEqual(thing.mood, mood, place)
        XCTAssertEqual(try thing.value(forKey: "level") as? Int32, level, place)
        XCTAssertEqual(thing.level, level, place)
        XCTAssertEqual(try FetchPredicate(format: "mood == %@", mood).evaluate(with: thing), true, place)
      }
      try check(thing, "calm", 3, "new")
      try context.save()
      try check(thing, "calm", 3, "saved")
      context.refresh(thing, mergeChanges: false)
      try check(thing, "calm", 3, "a fault again")
      XCTAssertFalse(context.hasChanges)
      XCTAssertEqual(thing.changedValues().count, 0)
      (thing.mood, thing.level) = ("glad", nil)
      try check(thing, "glad", nil, "set")
      thing.setOptionalValue("b", at: 0)
      try context.save()
      try check(thing, "glad", nil, "saved again: it is no fault")
      thing.level = 8
      context.rollback()
      try check(thing, "calm", 3, "rolled back")
      stack.forgetRows()
      for fault in try [stack.makeContext().existingObject(with: thing.objectID), stack.makeContext().objects("Thing")[0]] {
        try check(try XCTUnwrap(fault as? Moody), "calm", 3, "read")
      }
    }
  }

  func testStoreCannotQueryTransientProperties() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      try context.make("Thing", ["name": "a", "mood": "glad"])
      try context.save()
      XCTAssertThrowsError(try context.objects("Thing", where: "mood == 'glad'")) {
        XCTAssertTrue("\($0)".contains("mood"), "\($0)")
      }
      XCTAssertThrowsError(try context.objects("Thing", by: "mood"))
    }
  }

  func testContextCanQueryTransientProperties() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let guest = try context.make("Thing", ["name": "guest"])
      let host = try context.make("Thing", ["name": "host", "friend": guest])
      try host.setValue([guest], forKey: "guests")
      for isSaved in [false, true] {
        if isSaved { try context.save() }
        for format in ["friend.name == 'guest'", "ANY guests.name BEGINSWITH 'g'", "guests.@count == 1", "NOT friend == nil"] {
          var request = FetchRequest<ManagedObject>(entityName: "Thing", predicate: try FetchPredicate(format: format))
          XCTAssertThrowsError(try context.fetch(request), format)
          request.allowsInMemoryFiltering = true
          XCTAssertEqual(try context.fetch(request), [host], format)
        }
      }
    }
  }

  func testUntypedTransientAcceptsAnyAttributeValue() async throws {
    try await onThings { stack in
      let thing = try stack.makeContext().make("Thing")
      try thing.setValue(4, forKey: "any")
      XCTAssertEqual(thing["any"] as? Int64, 4)
      try thing.setValue("four", forKey: "any")
      XCTAssertEqual(thing["any"] as? String, "four")
    }
  }
}

/// A class with transient properties that have defaults.
private final class Moody: ManagedObject {
  var mood: String {
    get { value(1) }
    set { setValue(newValue, at: 1) }
  }
  var level: Int32? {
    get { optionalValue(2) }
    set { setOptionalValue(newValue, at: 2) }
  }
}
