import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Key-value access to properties (rows C3, C4 and M10).
final class KeyValueTests: XCTestCase {
  struct Point: Codable, Sendable, Equatable {
    var x: Double
    var y: Double
  }

  /// Colors as three bytes.
  struct ColourTransformer: AttributeTransformer {
    struct Colour: Sendable, Equatable { var red, green, blue: UInt8 }
    struct Damaged: Error {}
    func data(from value: Colour) throws -> Data { Data([value.red, value.green, value.blue]) }
    func value(from data: Data) throws -> Colour {
      guard data.count == 3 else { throw Damaged() }
      return Colour(red: data[data.startIndex], green: data[data.startIndex + 1], blue: data[data.startIndex + 2])
    }
  }

  private let model = ManagedObjectModel {
    Entity("Thing") {
      Attribute("i16", .integer16)
      Attribute("i32", .integer32)
      Attribute("i64", .integer64)
      Attribute("real", .double)
      Attribute("single", .float)
      Attribute("exact", .decimal)
      Attribute("flag", .boolean)
      Attribute("when", .date)
      Attribute("name", .string)
      Attribute("link", .uri)
      Attribute("mark", .uuid)
      Attribute("raw", .binary)
      Attribute("point", transforming: Point.self)
      Attribute("colour", transforming: ColourTransformer.Colour.self, by: "KeyValueTests.Colour")
      Attribute("lost", transforming: Point.self, by: "KeyValueTests.Nobody")
      Relationship("next", to: "Thing", inverse: "previous")
      Relationship("previous", to: "Thing", inverse: "next")
      Relationship("parts", toMany: "Thing")
      FetchedProperty("found", entity: "Thing")
    }
  }

  override func setUp() { AttributeTransformers.register(ColourTransformer(), forName: "KeyValueTests.Colour") }

  private func onThings(_ body: (Stack) throws -> Void) async throws {
    try await onEachStore(model: model, classes: ManagedObjectClasses(), body)
  }

  private func code(_ body: () throws -> Void) -> KeyValueError.Code? {
    do { try body() } catch { return (error as? KeyValueError)?.code }
    return nil
  }

  func testEveryTypeIsReturnedAsItsSwiftType() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let mark = UUID()
      let when = Date(timeIntervalSinceReferenceDate: 123.25)
      let values: [String: Any] = [
        "i16": Int16.min, "i32": Int32.max, "i64": Int64.min, "real": 0.1, "single": Float(0.1), "flag": true, "when": when,
        "exact": Decimal(string: "12345678901234567890.0123456789") ?? 0, "name": "Zoë 🐠", "mark": mark, "raw": Data([0, 255]),
        "link": URL(fileURLWithPath: "/tmp/a b"),
      ]
      try context.make("Thing", values)
      try context.save()
      stack.forgetRows()
      let other = stack.makeContext()
      let living = try XCTUnwrap(other.objects("Thing").first)
      XCTAssertEqual(living["i16"] as? Int16, .min)
      XCTAssertEqual(living["i32"] as? Int32, .max)
      XCTAssertEqual(living["i64"] as? Int64, .min)
      XCTAssertEqual(living["real"] as? Double, 0.1)
      XCTAssertEqual(living["single"] as? Float, Float(0.1))
      XCTAssertEqual(living["exact"] as? Decimal, values["exact"] as? Decimal)
      XCTAssertEqual(living["flag"] as? Bool, true)
      XCTAssertEqual(living["when"] as? Date, when)
      XCTAssertEqual(living["name"] as? String, "Zoë 🐠")
      XCTAssertEqual(living["mark"] as? UUID, mark)
      XCTAssertEqual(living["raw"] as? Data, Data([0, 255]))
      XCTAssertEqual(living["link"] as? URL, URL(fileURLWithPath: "/tmp/a b"))
    }
  }

  func testAnyValueIsTheValueItself() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let colour = ColourTransformer.Colour(red: 1, green: 2, blue: 3)
      let thing = try context.make("Thing", ["colour": colour, "name": "x"])
      try context.save()
      context.reset()
      let found = try XCTUnwrap(context.existingObject(with: thing.objectID))
      let value = try XCTUnwrap(found.value(forKey: "colour", as: (any Sendable).self))
      XCTAssertEqual(value as? ColourTransformer.Colour, colour)
      XCTAssertEqual("\(type(of: value))", "Colour")
      XCTAssertEqual("\(type(of: try XCTUnwrap(found.value(forKey: "name", as: (any Sendable).self))))", "String")
      XCTAssertNil(try found.value(forKey: "point", as: (any Sendable).self))
    }
  }

  func testIntegersAreAcceptedFromAnyIntegerType() async throws {
    try await onThings { stack in
      let thing = try stack.makeContext().make("Thing")
      try thing.setValue(7, forKey: "i16")
      XCTAssertEqual(thing["i16"] as? Int16, 7)
      try thing.setValue(UInt8(8), forKey: "i32")
      XCTAssertEqual(thing["i32"] as? Int32, 8)
      try thing.setValue(9, forKey: "real")
      XCTAssertEqual(thing["real"] as? Double, 9)
      try thing.setValue(10, forKey: "exact")
      XCTAssertEqual(thing["exact"] as? Decimal, 10)
      try thing.setValue(1, forKey: "flag")
      XCTAssertEqual(thing["flag"] as? Bool, true)
      try thing.setValue(Optional(11), forKey: "i64")
      XCTAssertEqual(thing["i64"] as? Int64, 11)
      try thing.setValue(Int?.none as Any, forKey: "i64")
      XCTAssertNil(thing["i64"])
    }
  }

  func testOutOfRangeNumbersAreRejectedWithoutChanges() async throws {
    try await onThings { stack in
      let thing = try stack.makeContext().make("Thing", ["i16": 1])
      XCTAssertEqual(code { try thing.setValue(32_768, forKey: "i16") }, .outOfRange)
      XCTAssertEqual(code { try thing.setValue(Int64(1) << 31, forKey: "i32") }, .outOfRange)
      XCTAssertEqual(code { try thing.setValue(UInt64.max, forKey: "i64") }, .outOfRange)
      XCTAssertEqual(thing["i16"] as? Int16, 1)
    }
  }

  func testValuesOfOtherTypesAreRejected() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let thing = try context.make("Thing")
      let wrong: [(String, Any)] = [
        ("i16", "1"), ("i32", true), ("real", "x"), ("flag", 2), ("when", 3.0), ("name", 4), ("link", "http://x"), ("mark", "x"),
        ("raw", "x"), ("next", "x"), ("parts", thing), ("exact", "1"),
      ]
      for (key, value) in wrong { XCTAssertEqual(code { try thing.setValue(value, forKey: key) }, .wrongType, key) }
    }
  }

  func testUnknownKeysThrowAndTheSubscriptReturnsNil() async throws {
    try await onThings { stack in
      let thing = try stack.makeContext().make("Thing")
      XCTAssertEqual(code { _ = try thing.value(forKey: "nothing") }, .unknownKey)
      XCTAssertEqual(code { try thing.setValue(1, forKey: "nothing") }, .unknownKey)
      XCTAssertEqual(code { _ = try thing.primitiveValue(forKey: "next") }, .unknownKey)
      XCTAssertEqual(code { _ = try thing.objectIDs(forRelationshipNamed: "name") }, .unknownRelationship)
      XCTAssertEqual(code { _ = try thing.mutableSetValue(forKey: "name") }, .unknownRelationship)
      XCTAssertEqual(code { _ = try thing.mutableOrderedSetValue(forKey: "parts") }, .unknownRelationship)
      XCTAssertEqual(code { try thing.setValue(1, forKey: "found") }, .readOnly)
      XCTAssertNil(thing["nothing"])
      XCTAssertEqual(
        KeyValueErrorText.of { _ = try thing.value(forKey: "nothing") },
        "the entity “Thing” has no property “nothing”: it has colour, exact, flag, found, i16, i32, i64, link, lost, mark, name, next, parts, point, "
          + "previous, raw, real, single, when")
    }
  }

  func testKeyPathsFollowToOneRelationships() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let third = try context.make("Thing", ["name": "3"])
      let second = try context.make("Thing", ["name": "2", "next": third])
      let first = try context.make("Thing", ["name": "1", "next": second])
      XCTAssertEqual(try first.value(forKeyPath: "next.next.name") as? String, "3")
      XCTAssertEqual(try first.value(forKeyPath: "name") as? String, "1")
      XCTAssertNil(try third.value(forKeyPath: "next.name"))
      try first.setValue("three", forKeyPath: "next.next.name")
      XCTAssertEqual(third.text("name"), "three")
      try third.setValue("x", forKeyPath: "next.name")
      XCTAssertEqual(code { _ = try first.value(forKeyPath: "name.length") }, .notAnObject)
      XCTAssertEqual(try (first.value(forKeyPath: "parts.name") as? [Any])?.count, 0)
      XCTAssertEqual(code { try first.setValue("x", forKeyPath: "parts.name") }, .notAnObject)
      XCTAssertEqual(code { _ = try first.value(forKeyPath: "nothing.name") }, .unknownKey)
      XCTAssertEqual(code { try first.setValue(1, forKeyPath: "name.x") }, .notAnObject)
    }
  }

  func testCodableValuesArePersisted() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let thing = try context.make("Thing", ["point": Point(x: 1, y: -2)])
      XCTAssertEqual(try thing.value(forKey: "point", as: Point.self), Point(x: 1, y: -2))
      try context.save()
      let other = stack.makeContext()
      let same = try XCTUnwrap(other.objects("Thing").first)
      XCTAssertEqual(try same.value(forKey: "point", as: Point.self), Point(x: 1, y: -2))
      XCTAssertEqual(code { _ = try same.value(forKey: "point", as: [String].self) }, .transformFailed)
      try same.setValue(nil, forKey: "point")
      XCTAssertNil(try same.value(forKey: "point", as: Point.self))
    }
  }

  func testTransformersAreUsedByName() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let colour = ColourTransformer.Colour(red: 1, green: 2, blue: 3)
      let thing = try context.make("Thing", ["colour": colour])
      XCTAssertEqual(code { try thing.setValue("red", forKey: "colour") }, .transformFailed)
      try context.save()
      let other = stack.makeContext()
      let same = try XCTUnwrap(other.objects("Thing").first)
      XCTAssertEqual(same["colour"] as? ColourTransformer.Colour, colour)
      XCTAssertEqual(code { try same.setValue(Point(x: 0, y: 0), forKey: "lost") }, .transformFailed)
    }
  }

  func testPrimitiveValuesNeitherFireFaultsNorMakeChanges() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let thing = try context.make("Thing", ["name": "a", "i64": 1])
      try context.save()
      stack.forgetRows()
      let other = stack.makeContext()
      let fault = other.object(with: thing.objectID)
      XCTAssertNil(try fault.primitiveValue(forKey: "name"))
      XCTAssertTrue(fault.isFault)
      XCTAssertEqual(fault.text("name"), "a")
      try fault.setPrimitiveValue(Int64(2), forKey: "i64")
      XCTAssertFalse(other.hasChanges)
      XCTAssertEqual(fault["i64"] as? Int64, 2)
      try fault.setValue("b", forKey: "name")
      try other.save()
      XCTAssertEqual(try stack.makeContext().named("b", "Thing")["i64"] as? Int64, 2)
    }
  }

  func testPrimitiveValueIsSavedWithAnotherChange() async throws {
    try await onEachStore { stack in
      let context = stack.makeContext()
      let book = try context.make("Book", ["title": "T"])
      try context.save()
      try book.setPrimitiveValue(Int32(7), forKey: "pages")
      XCTAssertEqual(book["pages"] as? Int32, 7)
      XCTAssertFalse(book.hasChanges)
      XCTAssertFalse(book.hasPersistentChangedValues)
      XCTAssertEqual(book.changedValues().count, 0)
      XCTAssertEqual(book.changedValuesForCurrentEvent().count, 0)
      XCTAssertFalse(context.hasChanges)
      try context.save()
      XCTAssertNil(try stack.makeContext().existingObject(with: book.objectID)["pages"])
      // It is set together with another change.
      try book.setValue("U", forKey: "title")
      XCTAssertTrue(book.hasPersistentChangedValues)
      XCTAssertEqual(Set(book.changedValues().keys), ["title", "pages"])
      XCTAssertEqual(Set(book.changedValuesForCurrentEvent().keys), ["title"])
      try context.save()
      stack.forgetRows()
      XCTAssertEqual(try stack.makeContext().existingObject(with: book.objectID)["pages"] as? Int32, 7)
    }
  }

  func testChangesAreReportedWithOldAndNewValues() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let target = try context.make("Thing", ["name": "t"])
      let thing = try context.make("Thing", ["name": "a", "i64": 1])
      XCTAssertEqual(Set(thing.changedValues().keys), ["name", "i64"])
      try context.save()
      XCTAssertTrue(thing.changedValues().isEmpty)
      try thing.setValue("b", forKey: "name")
      try thing.setValue(nil, forKey: "i64")
      try thing.setValue(target, forKey: "next")
      let changes = thing.changedValues()
      XCTAssertEqual(Set(changes.keys), ["name", "i64", "next"])
      XCTAssertEqual(changes["name"] as? String, "b")
      XCTAssertNil(changes["i64"] ?? 0)
      let committed = try thing.committedValues(forKeys: ["name", "i64", "next"])
      XCTAssertEqual(committed["name"] as? String, "a")
      XCTAssertEqual(committed["i64"] as? Int64, 1)
      XCTAssertNil(committed["next"] ?? 0)
      XCTAssertEqual(thing.changedValuesForCurrentEvent().count, 3)
      context.processPendingChanges()
      XCTAssertTrue(thing.changedValuesForCurrentEvent().isEmpty)
      XCTAssertEqual(thing.changedValues().count, 3)
      XCTAssertTrue(thing.hasPersistentChangedValues)
    }
  }

  func testMembersAreChangedIndividually() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let thing = try context.make("Thing", ["name": "whole"])
      let parts = try (0..<3).map { try context.make("Thing", ["name": "\($0)"]) }
      let members = try thing.mutableSetValue(forKey: "parts")
      XCTAssertTrue(members.isEmpty)
      for part in parts { members.add(part) }
      members.add(parts[0])
      XCTAssertEqual(members.count, 3)
      XCTAssertTrue(members.contains(parts[1]))
      members.remove(parts[1])
      XCTAssertFalse(members.contains(parts[1]))
      try context.save()
      let other = stack.makeContext()
      let same = try other.named("whole", "Thing")
      XCTAssertEqual(same.sortedNames("parts"), ["0", "2"])
      try same.mutableSetValue(forKey: "parts").removeAll()
      try other.save()
      let third = stack.makeContext()
      XCTAssertEqual(try third.named("whole", "Thing").many("parts"), [])
    }
  }
}

enum KeyValueErrorText {
  static func of(_ body: () throws -> Void) -> String? {
    do { try body() } catch { return "\(error)" }
    return nil
  }
}
