import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import XCTest

/// Initial values of new objects (row M5), and required attributes without a value (row M6).
final class DefaultValueTests: XCTestCase {
  private static let instant = Date(timeIntervalSinceReferenceDate: 1_000)
  private let model = ManagedObjectModel {
    Entity("Thing") {
      Attribute("text", .string).initially("start")
      Attribute("count", .integer32).initially(3)
      Attribute("ratio", .double).initially(0.5)
      Attribute("exact", .decimal).initially(Decimal(7))
      Attribute("flag", .boolean).initially(true)
      Attribute("when", .date).initially(instant)
      Attribute("link", .uri).initially(URL(fileURLWithPath: "/tmp"))
      Attribute("raw", .binary).initially(Data([1, 2]))
      Attribute("mood", .string).initially("calm").transient()
      Attribute("plain", .string)
    }
  }

  func testEveryTypeStartsWithItsDefault() async throws {
    try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
      let context = stack.makeContext()
      try context.make("Thing")
      try context.save()
      let thing = try XCTUnwrap(stack.makeContext().objects("Thing").first)
      XCTAssertEqual(thing["text"] as? String, "start")
      XCTAssertEqual(thing["count"] as? Int32, 3)
      XCTAssertEqual(thing["ratio"] as? Double, 0.5)
      XCTAssertEqual(thing["exact"] as? Decimal, 7)
      XCTAssertEqual(thing["flag"] as? Bool, true)
      XCTAssertEqual(thing["when"] as? Date, Self.instant)
      XCTAssertEqual(thing["raw"] as? Data, Data([1, 2]))
      XCTAssertNil(thing["plain"])
    }
  }

  func testDefaultsAreNotChanges() async throws {
    try await onEachStore([.inMemory], model: model, classes: ManagedObjectClasses()) { stack in
      let thing = try stack.makeContext().make("Thing", ["plain": "set"])
      XCTAssertEqual(Set(thing.changedValues().keys), ["plain"])
      XCTAssertTrue(try thing.committedValues(forKeys: nil).isEmpty)
    }
  }

  func testClearedValueStaysNil() async throws {
    try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
      let context = stack.makeContext()
      let thing = try context.make("Thing")
      try thing.setValue(nil, forKey: "text")
      try context.save()
      XCTAssertNil(try stack.makeContext().objects("Thing").first?["text"])
    }
  }

  func testNilAndTheEmptyStringDiffer() async throws {
    try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
      let context = stack.makeContext()
      try context.make("Thing", ["plain": ""])
      try context.make("Thing")
      try context.save()
      let other = stack.makeContext()
      XCTAssertEqual(try other.objects("Thing", where: "plain == nil").count, 1)
      XCTAssertEqual(try other.objects("Thing", where: "plain == ''").first?.text("plain"), "")
    }
  }
}
