import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import XCTest

/// Validation that replaces the value (row C23).
final class ReplacingValidationTests: XCTestCase {
  enum Mood: String { case calm, wild }

  /// A class whose validation normalizes values, in the way that generated classes call typed hooks.
  final class Tidy: ManagedObject {
    static nonisolated(unsafe) var isRestless = false
    var calls: [String] = []
    override class var keysWithCustomValidation: [String] { ["title", "count", "mood", "owner", "tags", "settings"] }

    override func validateValue(_ value: inout Any?, forKey key: String) throws {
      calls.append(key)
      switch key {
      case "title": try validate(&value, forKey: key, by: validateTitle)
      case "count": try validateOptional(&value, forKey: key, by: validateCount)
      case "mood": try validateOptional(&value, forKey: key, by: validateMood)
      case "settings": try validateOptional(&value, forKey: key, by: validateSettings)
      case "owner": try validateOptional(&value, forKey: key, by: validateOwner)
      default: break
      }
      try super.validateValue(&value, forKey: key)
    }

    func validateTitle(_ value: inout String) throws {
      value = value.trimmingCharacters(in: .whitespaces)
      if Self.isRestless { value += "." }
      if value == "root" { throw ValidationError(object: self, key: "title", reason: "is reserved") }
    }
    func validateCount(_ value: inout Int?) throws {
      // It depends on another key, validated before or after it.
      if value == nil { value = self["title"] as? String == "many" ? 100 : 1 }
    }
    func validateMood(_ value: inout Mood?) throws { if value == .wild { value = .calm } }
    func validateSettings(_ value: inout [String: Int]?) throws { value?["checked"] = 1 }
    func validateOwner(_ value: inout ManagedObject?) throws { if value === self { value = nil } }
  }

  private let model = ManagedObjectModel {
    Entity("Tidy", class: "Tidy") {
      Attribute("title", .string).required().length(1...10)
      Attribute("count", .integer32)
      Attribute("mood", .string)
      Attribute("settings", transforming: [String: Int].self)
      Relationship("owner", to: "Tidy", inverse: "tags")
      Relationship("tags", toMany: "Tidy", inverse: "owner")
    }
  }
  private let classes = ManagedObjectClasses(["Tidy": Tidy.self])

  private func make(_ context: ManagedObjectContext, _ values: [String: Any]) throws -> Tidy {
    try XCTUnwrap(context.make("Tidy", values) as? Tidy)
  }

  func testSaveStoresReplacementValues() async throws {
    try await onEachStore(model: model, classes: classes) { stack in
      let context = stack.makeContext()
      let object = try make(context, ["title": " many ", "mood": "wild", "settings": ["a": 2]])
      try object.setValue(object, forKey: "owner")
      try context.save()
      XCTAssertEqual(object.text("title"), "many")
      XCTAssertEqual(object["count"] as? Int32, 100, "The rule of another key sees what was replaced.")
      XCTAssertEqual(object.text("mood"), "calm")
      XCTAssertNil(object.one("owner"))
      XCTAssertEqual(object.many("tags"), [], "The inverse follows.")
      XCTAssertFalse(context.hasChanges)
      let stored = try stack.makeContext().existingObject(with: object.objectID)
      XCTAssertEqual(stored.text("title"), "many")
      XCTAssertEqual(stored["count"] as? Int32, 100)
      XCTAssertEqual(try stored.value(forKey: "settings", as: [String: Int].self), ["a": 2, "checked": 1])
    }
  }

  func testRulesRunAgainUntilNothingIsReplaced() async throws {
    try await onEachStore(model: model, classes: classes) { stack in
      let context = stack.makeContext()
      let object = try make(context, ["title": " a", "count": 1])
      object.calls = []
      try context.save()
      // Once to replace, once to confirm, and once more because the save has changed an object.
      XCTAssertEqual(object.calls.filter { $0 == "title" }.count, 3)
      object.calls = []
      try object.setValue(2, forKey: "count")
      try context.save()
      XCTAssertEqual(object.calls.filter { $0 == "title" }.count, 1)
    }
  }

  func testAReplacedValueIsCheckedByTheModelsRules() async throws {
    try await onEachStore(model: model, classes: classes) { stack in
      let context = stack.makeContext()
      let object = try make(context, ["title": "   ", "count": 1])
      XCTAssertThrowsError(try context.save()) {
        XCTAssertEqual(($0 as? ValidationError)?.code, .stringTooShort)
      }
      try object.setValue(" root ", forKey: "title")
      XCTAssertThrowsError(try context.save()) {
        XCTAssertEqual(($0 as? ValidationError)?.code, .custom)
        XCTAssertEqual(($0 as? ValidationError)?.key, "title")
      }
      try object.setValue(nil, forKey: "title")
      XCTAssertThrowsError(try context.save(), "A hook for a required value is not asked without one.") {
        XCTAssertEqual(($0 as? ValidationError)?.code, .missingValue)
      }
      try object.setValue("12345678901  ", forKey: "title")
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? ValidationError)?.code, .stringTooLong) }
      try object.setValue("1234567890  ", forKey: "title")
      try context.save()
      XCTAssertEqual(object.text("title"), "1234567890")
    }
  }

  func testEndlessValidationReplacementThrows() async throws {
    try await onEachStore(model: model, classes: classes) { stack in
      let context = stack.makeContext()
      let object = try make(context, ["title": "a"])
      Tidy.isRestless = true
      defer { Tidy.isRestless = false }
      XCTAssertThrowsError(try context.save()) { error in
        let error = error as? ValidationError
        let all = error?.code == .multipleErrors ? error?.errors ?? [] : [error].compactMap { $0 }
        XCTAssertTrue(all.contains { $0.code == .custom || $0.code == .stringTooLong }, "\(all)")
      }
      XCTAssertTrue(object.isInserted)
    }
  }

  func testSingleValueCanBeReplaced() async throws {
    try await onEachStore([.inMemory], model: model, classes: classes) { stack in
      let object = try make(stack.makeContext(), ["title": "a"])
      var value: Any? = "  b "
      try object.validateValue(&value, forKey: "title")
      XCTAssertEqual(value as? String, "b")
      XCTAssertEqual(object.text("title"), "a", "The object is left alone.")
      try object.checkValue(" c ", forKey: "title")
      XCTAssertThrowsError(try object.checkValue("root", forKey: "title"))
      value = Int64(5)
      try object.validateValue(&value, forKey: "count")
      XCTAssertEqual(value as? Int, 5)
      value = "loud"
      XCTAssertThrowsError(try object.validateValue(&value, forKey: "mood"), "It is no mood.") {
        XCTAssertEqual(($0 as? KeyValueError)?.code, .wrongType)
      }
    }
  }
}
