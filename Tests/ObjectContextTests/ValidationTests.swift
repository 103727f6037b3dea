import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Validation by the model and the application, with all errors together (rows C23, M6, M7, M13 and table 3b).
final class ValidationTests: XCTestCase {
  /// An error of an application.
  private struct ValidatorError: LocalizedError, Equatable {
    var errorDescription: String? { "the range is reversed" }
  }

  /// A class with its own validation.
  final class Checked: ManagedObject {
    override class var keysWithCustomValidation: [String] { ["nick", "text"] }
    override func validateValue(_ value: inout Any?, forKey key: String) throws {
      if key == "nick", value as? String == "root" {
        throw ValidationError(object: self, key: key, reason: "is reserved")
      }
      if key == "text", value as? String == "off" { throw ValidatorError() }
      try super.validateValue(&value, forKey: key)
    }
    override func validateForInsert() throws {
      try super.validateForInsert()
      if self["low"] as? Int64 == 9 { throw ValidatorError() }
      if self["low"] as? Int64 == 8 { throw StoreError(.objectNotFound, "a row that a rule reads is missing") }
      if self["low"] as? Int64 ?? 0 > self["high"] as? Int64 ?? 10 {
        throw ValidationError(object: self, reason: "the range is empty")
      }
    }
  }

  private static let day = Date(timeIntervalSinceReferenceDate: 86_400)
  private let model = ManagedObjectModel {
    Entity("Thing") {
      Attribute("needed", .string).required()
      Attribute("small", .integer16).range(Int16(1)...Int16(10))
      Attribute("real", .double).range(-1.0...1.0)
      Attribute("exact", .decimal).range(Decimal(0)...Decimal(100))
      Attribute("when", .date).range(day...day.addingTimeInterval(10))
      Attribute("text", .string).length(2...4)
      Attribute("code", .string).matching("[a-z]+[0-9]?")
      Attribute("nick", .string)
      Attribute("low", .integer64)
      Attribute("high", .integer64)
      Attribute("mood", .string).transient().length(1...3)
      Relationship("keeper", to: "Keeper", inverse: "things")
    }
    Entity("Keeper") {
      Relationship("things", toMany: "Thing", inverse: "keeper").count(2...3)
      Relationship("boss", to: "Keeper", inverse: "staff")
      Relationship("staff", toMany: "Keeper", inverse: "boss")
    }
    Entity("Crew") {
      Relationship("members", toMany: "Keeper").required()
      Relationship("captain", to: "Keeper").required()
    }
  }

  private func onThings(_ body: (Stack) throws -> Void) async throws {
    try await onEachStore(model: model, classes: ManagedObjectClasses(["Thing": Checked.self]), body)
  }

  /// Returns the codes with which a save fails, by key.
  private func failures(_ context: ManagedObjectContext) -> [String: ValidationError.Code] {
    do { try context.save() } catch let error as ValidationError {
      let errors = error.code == .multipleErrors ? error.errors : [error]
      return Dictionary(errors.map { ($0.key ?? "-", $0.code) }, uniquingKeysWith: { first, _ in first })
    } catch {
      XCTFail("\(error)")
    }
    return [:]
  }

  private func failure(_ values: [String: Any], _ stack: Stack) throws -> [String: ValidationError.Code] {
    let context = stack.makeContext()
    try context.make("Thing", ["needed": "x"].merging(values) { $1 })
    return failures(context)
  }

  func testEachRuleHasItsCodeAndItsBoundsAreInclusive() async throws {
    try await onThings { stack in
      let day = Self.day
      XCTAssertEqual(try failure(["small": 0], stack), ["small": .numberTooSmall])
      XCTAssertEqual(try failure(["small": 11], stack), ["small": .numberTooLarge])
      XCTAssertEqual(try failure(["real": -1.5], stack), ["real": .numberTooSmall])
      XCTAssertEqual(try failure(["real": 1.5], stack), ["real": .numberTooLarge])
      XCTAssertEqual(try failure(["exact": Decimal(-1)], stack), ["exact": .numberTooSmall])
      XCTAssertEqual(try failure(["exact": Decimal(101)], stack), ["exact": .numberTooLarge])
      XCTAssertEqual(try failure(["when": day.addingTimeInterval(-1)], stack), ["when": .dateTooSoon])
      XCTAssertEqual(try failure(["when": day.addingTimeInterval(11)], stack), ["when": .dateTooLate])
      XCTAssertEqual(try failure(["when": Date(timeIntervalSinceReferenceDate: .nan)], stack), ["when": .invalidDate])
      XCTAssertEqual(try failure(["text": "a"], stack), ["text": .stringTooShort])
      XCTAssertEqual(try failure(["text": "abcde"], stack), ["text": .stringTooLong])
      XCTAssertEqual(try failure(["code": "7a"], stack), ["code": .patternMismatch])
      XCTAssertEqual(try failure(["code": "ab12"], stack), ["code": .patternMismatch])
      XCTAssertEqual(try failure(["mood": "long"], stack), ["mood": .stringTooLong])
      XCTAssertEqual(try failure(["nick": "root"], stack), ["nick": .custom])
      XCTAssertEqual(try failure(["low": 5, "high": 4], stack), ["-": .custom])
      for values: [String: Any] in [
        ["small": 1], ["small": 10], ["real": -1.0], ["real": 1.0], ["when": day], ["when": day.addingTimeInterval(10)], ["text": "ab"],
        ["text": "🇸🇪é🇩🇪a"], ["code": "ab1"], ["exact": Decimal(100)], [:],
      ] {
        XCTAssertEqual(try failure(values, stack), [:], "\(values)")
      }
    }
  }

  func testCodesHaveTheCoreDataNumbers() {
    XCTAssertEqual(ValidationError.Code.custom.rawValue, 1550)
    XCTAssertEqual(ValidationError.Code.multipleErrors.rawValue, 1560)
    XCTAssertEqual(ValidationError.Code.missingValue.rawValue, 1570)
    XCTAssertEqual(ValidationError.Code.tooFewObjects.rawValue, 1580)
    XCTAssertEqual(ValidationError.Code.tooManyObjects.rawValue, 1590)
    XCTAssertEqual(ValidationError.Code.deletionDenied.rawValue, 1600)
    XCTAssertEqual(ValidationError.Code.numberTooLarge.rawValue, 1610)
    XCTAssertEqual(ValidationError.Code.numberTooSmall.rawValue, 1620)
    XCTAssertEqual(ValidationError.Code.dateTooLate.rawValue, 1630)
    XCTAssertEqual(ValidationError.Code.dateTooSoon.rawValue, 1640)
    XCTAssertEqual(ValidationError.Code.invalidDate.rawValue, 1650)
    XCTAssertEqual(ValidationError.Code.stringTooLong.rawValue, 1660)
    XCTAssertEqual(ValidationError.Code.stringTooShort.rawValue, 1670)
    XCTAssertEqual(ValidationError.Code.patternMismatch.rawValue, 1680)
    XCTAssertEqual(ValidationError.Code.invalidURI.rawValue, 1690)
  }

  func testRequiredValueCanBeMissingUntilTheSave() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let thing = try context.make("Thing")
      XCTAssertNil(thing["needed"])
      XCTAssertEqual(failures(context), ["needed": .missingValue])
      try thing.setValue("", forKey: "needed")
      try context.save()
      try thing.setValue(nil, forKey: "needed")
      XCTAssertEqual(failures(context), ["needed": .missingValue])
    }
  }

  func testNotANumberIsRejected() async throws {
    let model = ManagedObjectModel { Entity("Thing") { Attribute("real", .double) } }
    try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
      let context = stack.makeContext()
      let thing = try context.make("Thing", ["real": Double.nan])
      XCTAssertEqual(failures(context), ["real": .custom])
      try thing.setValue(Double.infinity, forKey: "real")
      try context.save()
      XCTAssertEqual(try stack.makeContext().objects("Thing").first?["real"] as? Double, .infinity)
    }
  }

  func testNaNIsRejectedInAMigrationHandler() async throws {
    let older = ManagedObjectModel(version: "1") { Entity("Thing") { Attribute("amount", .decimal) } }
    let newer = ManagedObjectModel(version: "2") {
      Entity("Thing") {
        Attribute("amount", .decimal)
        Attribute("half", .decimal)
      }
    }
    let store = try MigratingStore()
    try await store.fill(older) { context in _ = try context.make("Thing", ["amount": Decimal(1)]) }
    let (from, to) = (ManagedObjectModelReference(older), ManagedObjectModelReference(newer))
    store.description.stagedMigrationManager = StagedMigrationManager([
      CustomMigrationStage(migratingFrom: from, to: to) { migration in
        try migration.forEach("Thing") { _, new in try new.setValue(Decimal.nan, forKey: "half") }
      }
    ])
    do {
      _ = try await store.open(newer)
      XCTFail("not refused")
    } catch { XCTAssertTrue("\(error)".contains("Thing.half: is not a number (NaN)"), "\(error)") }
    store.description.stagedMigrationManager = nil
    let context = try await store.open(older)
    XCTAssertEqual(try context.objects("Thing").map { $0["amount"] as? Decimal }, [1])
  }

  func testErrorsOfSeveralObjectsAreCollectedWithObjectKeyAndEntity() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let good = try context.make("Thing", ["needed": "x"])
      try context.save()
      try good.setValue(99, forKey: "small")
      let bad = try context.make("Thing", ["text": "abcde", "code": "!"])
      XCTAssertThrowsError(try context.save()) { error in
        let error = error as? ValidationError
        XCTAssertEqual(error?.code, .multipleErrors)
        XCTAssertEqual(error?.errors.count, 4)
        let places = Set(error?.errors.map { "\($0.entityName ?? "").\($0.key ?? "")" } ?? [])
        XCTAssertEqual(places, ["Thing.small", "Thing.text", "Thing.code", "Thing.needed"])
        XCTAssertEqual(error?.errors.first { $0.key == "small" }?.objectID, good.objectID)
        XCTAssertEqual(error?.errors.first { $0.key == "text" }?.objectID, bad.objectID)
        XCTAssertFalse("\(error?.description ?? "")".contains("abcde"), "an error must not hold a value")
      }
      XCTAssertEqual(try stack.makeContext().objects("Thing").count, 1)
    }
  }

  func testOtherErrorsThrownByRulesAreListed() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let thing = try context.make("Thing", ["needed": "x", "low": 9])
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual($0 as? ValidatorError, ValidatorError(), "\($0)") }
      let other = try context.make("Thing", ["text": "off"])
      let third = try context.make("Thing", ["needed": "x", "nick": "root"])
      XCTAssertThrowsError(try context.save()) { error in
        let error = error as? ValidationError
        XCTAssertEqual(error?.code, .multipleErrors)
        XCTAssertNil(error?.underlying)
        XCTAssertEqual(
          error?.errors.map { "\($0.code) \($0.key ?? "-") \($0.underlying != nil)" }.sorted(),
          ["custom - true", "custom - true", "custom nick false", "missingValue needed false"])
        XCTAssertEqual(Set(error?.errors.compactMap(\.objectID) ?? []), [thing.objectID, other.objectID, third.objectID])
        XCTAssertTrue(error?.description.contains("Thing: the range is reversed (2 objects") ?? false, "\(error?.description ?? "")")
      }
      // Errors other than validation are thrown immediately.
      try thing.setValue(8, forKey: "low")
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? StoreError)?.code, .objectNotFound) }
    }
  }

  func testTheNumberOfMembersIsCheckedOnBothEnds() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let keeper = try context.make("Keeper")
      try context.save()
      var things = [try context.make("Thing", ["needed": "1", "keeper": keeper])]
      XCTAssertEqual(failures(context), ["things": .tooFewObjects])
      for number in 2...4 { things.append(try context.make("Thing", ["needed": "\(number)", "keeper": keeper])) }
      XCTAssertEqual(failures(context), ["things": .tooManyObjects])
      context.delete(things[0])
      try context.save()
      context.delete(things[1])
      context.delete(things[2])
      XCTAssertEqual(failures(context), ["things": .tooFewObjects])
    }
  }

  func testRequiredRelationshipsNeedAnExistingObject() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let crew = try context.make("Crew")
      XCTAssertEqual(failures(context), ["members": .tooFewObjects, "captain": .missingValue])
      let keeper = try context.make("Keeper")
      try crew.setValue(keeper, forKey: "captain")
      try crew.setValue([keeper], forKey: "members")
      try context.save()
      try crew.setValue([], forKey: "members")
      XCTAssertEqual(failures(context), ["members": .tooFewObjects])
    }
  }

  func testOnlyAMinimumCountRequiresMembers() async throws {
    func model(_ isOptional: Bool, _ least: Int) -> ManagedObjectModel {
      let members = RelationshipDescription(name: "members", destination: "Player", isToMany: true, isOptional: isOptional)
      var team = EntityDescription(name: "Team")
      var counted = members
      counted.minCount = least
      team.properties = [.relationship(counted)]
      return ManagedObjectModel(entities: [team, EntityDescription(name: "Player")])
    }
    let cases: [(isOptional: Bool, least: Int, none: ValidationError.Code?, one: ValidationError.Code?)] = [
      (true, 0, nil, nil), (false, 0, nil, nil), (true, 1, nil, nil), (false, 1, .tooFewObjects, nil),
      (true, 2, nil, .tooFewObjects), (false, 2, .tooFewObjects, .tooFewObjects),
    ]
    for (isOptional, least, none, one) in cases {
      try await onEachStore(model: model(isOptional, least), classes: ManagedObjectClasses()) { stack in
        let name = "optional \(isOptional), at least \(least)"
        let context = stack.makeContext()
        let team = try context.make("Team")
        XCTAssertEqual(failures(context)["members"], none, name)
        try team.setValue(Set([try context.make("Player")]), forKey: "members")
        XCTAssertEqual(failures(context)["members"], one, name)
        try team.setValue(Set([try context.make("Player"), try context.make("Player")]), forKey: "members")
        try context.save()
        try team.setValue(Set<ManagedObject>(), forKey: "members")
        XCTAssertEqual(failures(context)["members"], none, name)
      }
    }
  }

  func testOnlyChangedValuesOfSavedObjectsAreValidated() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let thing = try context.make("Thing", ["needed": "x", "nick": "fine"])
      try context.save()
      try thing.setValue("ok", forKey: "text")
      try context.save()
      try thing.setValue("root", forKey: "nick")
      XCTAssertEqual(failures(context), ["nick": .custom])
    }
  }

  func testASingleValueIsCheckedByTheSameRules() async throws {
    try await onThings { stack in
      let thing = try stack.makeContext().make("Thing", ["needed": "x"])
      func code(_ value: Any?, _ key: String) -> ValidationError.Code? {
        do { try thing.checkValue(value, forKey: key) } catch { return (error as? ValidationError)?.code }
        return nil
      }
      XCTAssertEqual(code(11, "small"), .numberTooLarge)
      XCTAssertNil(code(10, "small"))
      XCTAssertNil(code(nil, "small"))
      XCTAssertEqual(code(nil, "needed"), .missingValue)
      XCTAssertEqual(code("abcde", "text"), .stringTooLong)
      XCTAssertEqual(code("root", "nick"), .custom)
      XCTAssertNil(code(nil, "keeper"))
      XCTAssertThrowsError(try thing.checkValue(1, forKey: "nothing")) {
        XCTAssertEqual(($0 as? KeyValueError)?.code, .unknownKey)
      }
      XCTAssertEqual(thing.text("needed"), "x")
      let keeper = try stack.makeContext().make("Keeper")
      for (members, expected) in [([thing], ValidationError.Code.tooFewObjects), (Array(repeating: thing, count: 4), .tooManyObjects)] {
        XCTAssertThrowsError(try keeper.checkValue(members, forKey: "things")) {
          XCTAssertEqual(($0 as? ValidationError)?.code, expected)
          XCTAssertEqual(($0 as? ValidationError)?.key, "things")
        }
      }
      XCTAssertNoThrow(try keeper.checkValue([thing, thing], forKey: "things"))
      XCTAssertNoThrow(try keeper.checkValue(nil, forKey: "things"))
    }
  }

  func testValuesOfDeletedObjectsAreNotValidated() async throws {
    try await onThings { stack in
      let context = stack.makeContext()
      let thing = try context.make("Thing", ["needed": "x"])
      try context.save()
      try thing.setValue(nil, forKey: "needed")
      context.delete(thing)
      try context.save()
      XCTAssertEqual(try stack.makeContext().objects("Thing"), [])
    }
  }

  func testUniquenessIsCheckedByTheStoreOnSave() async throws {
    let model = ManagedObjectModel {
      Entity("User") {
        Attribute("name", .string)
        Unique("name")
      }
    }
    try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
      let context = stack.makeContext()
      try context.make("User", ["name": "ann"])
      try context.save()
      let second = try context.make("User", ["name": "ann"])
      XCTAssertThrowsError(try context.save()) { error in
        let error = error as? StoreError
        XCTAssertEqual(error?.code, .constraintConflict)
        XCTAssertEqual(error?.constraintConflicts.first?.constraint, ["name"])
        XCTAssertEqual(error?.constraintConflicts.first?.objectIDs, [second.objectID])
        XCTAssertNotNil(error?.constraintConflicts.first?.databaseObjectID)
      }
      try second.setValue("ben", forKey: "name")
      try context.save()
      XCTAssertEqual(try stack.makeContext().objects("User").count, 2)
    }
  }
}
