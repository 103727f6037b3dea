import Foundation
import XCTest

@testable import ObjectModel

/// The rules by which synchronization merges attributes, as parts of a model.
final class SyncMergeRuleTests: XCTestCase {
  private let model = ManagedObjectModel {
    Entity("Post") {
      Attribute("title", .string)
      Attribute("votes", .integer64).required().initially(0).syncMergeRule(.counter)
      Attribute("best", .double).syncMergeRule(.max)
      Attribute("place", composite: "Place")
    }
    Composite("Place") { Attribute("flags", .integer16).userInfo("colour", "red").syncMergeRule(.union) }
  }

  func testAttributesAreMergedByTheLatestChangeUnlessDeclared() {
    XCTAssertEqual(model.entities[0].attributes.map(\.syncMergeRule), [.latest, .counter, .max, .latest])
    XCTAssertEqual(model.composites[0].elements[0].userInfo, ["colour": "red", "syncMergeRule": "union"])
    var attribute = model.entities[0].attributes[1]
    attribute.syncMergeRule = .latest
    XCTAssertEqual(attribute.userInfo, [:], "the default needs no entry")
  }

  func testModelFilesKeepTheRule() throws {
    let read = try ManagedObjectModel(xmlData: model.xmlData())
    XCTAssertEqual(read, model)
    XCTAssertEqual(read.entities[0].attributes.map(\.syncMergeRule), [.latest, .counter, .max, .latest])
    XCTAssertEqual(read.composites[0].elements[0].syncMergeRule, .union)
    XCTAssertEqual(try ModelFileLint.findings(in: model.xmlData()), [])
  }

  func testPartsOfCompositesHaveRulesInTheCompiledModel() throws {
    let post = try XCTUnwrap(try CompiledModel(model).entities.first)
    XCTAssertEqual(post.slots.map { $0.attribute?.syncMergeRule }, [.latest, .counter, .max, .union])
    XCTAssertEqual(post.slots.last?.name, "place.flags")
  }

  func testTheRuleDoesNotChangeTheVersionHash() throws {
    var other = model
    other.composites[0].elements[0].syncMergeRule = .max
    XCTAssertEqual(other.versionHashesByEntityName, model.versionHashesByEntityName)
    XCTAssertEqual(try CompiledModel(other).checksum, try CompiledModel(model).checksum)
  }

  func testAChangedRuleIsListedAsADifference() throws {
    func compiled(_ rule: SyncMergeRule) throws -> CompiledModel {
      try CompiledModel(ManagedObjectModel { Entity("Post") { Attribute("votes", .integer64).syncMergeRule(rule) } })
    }
    let difference = ModelDifference(from: try compiled(.latest), to: try compiled(.counter))
    XCTAssertEqual(
      difference.changes.map(\.description), ["Post.votes: synchronization merges by the rule counter instead of latest"])
    XCTAssertTrue(difference.hasEqualHashes)
    XCTAssertTrue(ModelDescriptionPrinter.text(model).contains("  votes: Integer 64, default 0, merged by counter\n"))
  }

  func testEachRuleIsForItsTypes() {
    let numbers: Set<AttributeType> = [.integer16, .integer32, .integer64, .double, .float, .decimal]
    let integers: Set<AttributeType> = [.integer16, .integer32, .integer64]
    let simple = Set(AttributeType.allCases).subtracting([.undefined, .composite])
    let supported: [(SyncMergeRule, Set<AttributeType>)] = [
      (.latest, simple), (.firstWriter, simple), (.max, numbers.union([.date, .string])), (.min, numbers.union([.date, .string])),
      (.union, integers), (.counter, integers.union([.double, .float])),
    ]
    XCTAssertEqual(supported.map(\.0), SyncMergeRule.allCases)
    for (rule, types) in supported {
      for type in simple {
        let issues = ManagedObjectModel { Entity("E") { Attribute("a", type).syncMergeRule(rule) } }.validationIssues()
        XCTAssertEqual(issues.isEmpty, types.contains(type), "\(rule) of \(type): \(issues)")
      }
    }
    let decimal = ManagedObjectModel { Entity("E") { Attribute("a", .decimal).syncMergeRule(.counter) } }.validationIssues()
    XCTAssertEqual(
      decimal.map(\.description),
      [
        "E.a: the type 'Decimal' does not support the merge rule 'counter', which is for 'Integer 16', 'Integer 32', 'Integer 64', 'Double', "
          + "'Float'; remove it"
      ])
  }

  func testRulesWithoutAnEffectAreErrors() {
    func issues(_ attribute: Attribute) -> [String] {
      ManagedObjectModel {
        Entity("E") { attribute }
        Composite("Place") { Attribute("flags", .integer16) }
      }.validationIssues().map(\.description)
    }
    XCTAssertEqual(
      issues(Attribute("a", .date).derived("now()").syncMergeRule(.max)),
      ["E.a: the merge rule 'max' has no effect on a derived attribute, which each device computes; remove it"])
    XCTAssertEqual(
      issues(Attribute("a", .integer16).transient().syncMergeRule(.union)),
      ["E.a: the merge rule 'union' has no effect on a transient attribute, which is not sent; remove it"])
    XCTAssertEqual(
      issues(Attribute("a", composite: "Place").syncMergeRule(.firstWriter)),
      ["E.a: a composite takes no merge rule; declare 'firstWriter' for its parts"])
    XCTAssertEqual(issues(Attribute("a", .integer16).transient().userInfo("syncMergeRule", "latest")), [])
  }

  func testAFunctionOfTheApplicationHasAName() throws {
    let model = ManagedObjectModel { Entity("Note") { Attribute("tags", .binary).syncMergeRule(.custom("all: tags")) } }
    XCTAssertEqual(model.entities[0].attributes[0].userInfo, ["syncMergeRule": "custom:all: tags"])
    XCTAssertEqual(try ManagedObjectModel(xmlData: model.xmlData()).entities[0].attributes[0].syncMergeRule, .custom("all: tags"))
    XCTAssertEqual(try ModelFileLint.findings(in: model.xmlData()), [])
    for text in ["custom", "custom:"] { XCTAssertNil(SyncMergeRule(rawValue: text)) }
    for rule in SyncMergeRule.allCases + [.custom("x")] { XCTAssertEqual(SyncMergeRule(rawValue: rule.rawValue), rule) }
    func issues(_ attribute: Attribute) -> [String] {
      ManagedObjectModel {
        Entity("E") { attribute }
        Composite("Place") { Attribute("flags", .integer16) }
      }.validationIssues().map(\.description)
    }
    XCTAssertEqual(issues(Attribute("a", .binary).syncMergeRule(.custom("x"))), [])
    XCTAssertEqual(
      issues(Attribute("a", .binary).externalStorage().syncMergeRule(.custom("x"))),
      ["E.a: the merge rule 'custom:x' is for values in the database; remove it, or do not allow external storage"])
    XCTAssertEqual(
      issues(Attribute("a", composite: "Place").syncMergeRule(.custom("x"))),
      ["E.a: a composite takes no merge rule; declare 'custom:x' for its parts"])
  }

  func testFunctionsMergeValuesOfTheTypeThatTheyAreRegisteredWith() throws {
    let model = try CompiledModel(
      ManagedObjectModel {
        Entity("Note") {
          Attribute("number", .integer16)
          Attribute("tags", transforming: [String].self)
        }
      })
    let (number, tags) = (model.entities[0].slots[0], model.entities[0].slots[1])
    let name = "SyncMergeRuleTests"
    defer { SyncMergeFunctions.unregister(forName: name) }
    XCTAssertFalse(SyncMergeFunctions.isRegistered(name))
    XCTAssertNil(try SyncMergeFunctions.merged(name, base: .null, .null, .null, for: number))
    SyncMergeFunctions.register(Int16.self, forName: name) { base, one, other in base.map { ($0 + (one ?? 0)) * (other ?? 1) } }
    XCTAssertEqual(try SyncMergeFunctions.merged(name, base: .int(2), .int(3), .null, for: number), .int(5))
    XCTAssertEqual(try SyncMergeFunctions.merged(name, base: .null, .int(3), .null, for: number), .null)
    XCTAssertThrowsError(try SyncMergeFunctions.merged(name, base: .text("2"), .int(3), .null, for: number))
    SyncMergeFunctions.register([String].self, forName: name) { _, one, other in ((one ?? []) + (other ?? [])).sorted() }
    func bytes(_ values: [String]) throws -> Slot { .bytes(try JSONAttributeCoding.data(from: values)) }
    XCTAssertEqual(try SyncMergeFunctions.merged(name, base: .null, bytes(["b"]), bytes(["a"]), for: tags), try bytes(["a", "b"]))
    XCTAssertThrowsError(try SyncMergeFunctions.merged(name, base: .null, .bytes(Data([1])), .null, for: tags))
    XCTAssertTrue(SyncMergeFunctions.unregister(forName: name))
    XCTAssertFalse(SyncMergeFunctions.unregister(forName: name))
  }

  func testAnUnknownRuleIsAnError() throws {
    func issues(_ text: String) -> [String] {
      ManagedObjectModel { Entity("E") { Attribute("a", .integer16).userInfo("syncMergeRule", text) } }.validationIssues()
        .map(\.description)
    }
    XCTAssertEqual(
      issues("Counter"), ["E.a: 'syncMergeRule' in the user info is 'Counter', which is not a merge rule; did you mean 'counter'?"])
    XCTAssertEqual(
      issues("sum"),
      [
        "E.a: 'syncMergeRule' in the user info is 'sum', which is not a merge rule; the rules are latest, firstWriter, max, min, union, "
          + "counter, custom:NAME"
      ])
    let part = ManagedObjectModel {
      Entity("E") { Attribute("a", composite: "Place") }
      Composite("Place") { Attribute("flags", .integer16).userInfo("syncMergeRule", "") }
    }
    XCTAssertThrowsError(try CompiledModel(part)) { error in
      XCTAssertEqual((error as? ModelValidationError)?.issues.map(\.propertyName), ["flags"])
    }
  }
}
