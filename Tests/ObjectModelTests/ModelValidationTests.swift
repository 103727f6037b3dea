import Foundation
import XCTest

@testable import ObjectModel

/// Every validation rule, with the entity and property in its message.
final class ModelValidationTests: XCTestCase {
  /// Expects exactly the given errors, and the deviations that Core Data accepts, as `place: part of the reason`.
  private func expect(
    _ expected: [String], accepted: [String] = [], line: UInt = #line, @ModelBuilder _ model: () -> [any ModelComponent]
  ) {
    let parts = model()
    let model = ManagedObjectModel { parts }
    expect(model.validationIssues(), expected, line)
    expect(model.validationWarnings(), accepted, line)
  }

  private func expect(_ issues: [ModelIssue], _ expected: [String], _ line: UInt) {
    XCTAssertEqual(issues.count, expected.count, "\(issues.map(\.description))", line: line)
    for (issue, text) in zip(issues, expected) {
      let halves = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map {
        $0.trimmingCharacters(in: .whitespaces)
      }
      let place = [issue.entityName, issue.propertyName].compactMap { $0 }.joined(separator: ".")
      XCTAssertEqual(place, halves[0], "\(issue)", line: line)
      XCTAssertTrue(issue.reason.contains(halves[1]), "'\(issue.reason)' does not say '\(halves[1])'", line: line)
    }
  }

  private func expect(_ attribute: Attribute, _ expected: String..., line: UInt = #line) {
    expect(expected.map { "E.a: \($0)" }, line: line) { Entity("E") { attribute } }
  }

  private func accept(_ attribute: Attribute, _ expected: String..., line: UInt = #line) {
    expect([], accepted: expected.map { "E.a: \($0)" }, line: line) { Entity("E") { attribute } }
  }

  func testAValidModelHasNoIssues() {
    expect([]) {
      Entity("A", abstract: true) { Attribute("name", .string) }
      Entity("B", parent: "A") { Relationship("a", to: "A") }
    }
    XCTAssertEqual(ManagedObjectModel().validationIssues(), [])
  }

  func testAllErrorsAreReportedTogether() {
    let model = ManagedObjectModel {
      Entity("E", parent: "Gone") {
        Attribute("hash", .string)
        Relationship("r", to: "Nowhere")
        Unique("missing")
      }
      Configuration("C", entities: "Absent")
    }
    XCTAssertThrowsError(try CompiledModel(model)) { error in
      let error = error as? ModelValidationError
      XCTAssertEqual(error?.issues.count, 4)
      XCTAssertTrue(error?.description.contains("E.hash: ") ?? false)
    }
  }

  // MARK: Names

  func testNamesMustBePresentAndUnique() {
    expect([": needs a name"]) { Entity("") }
    expect(["E: two entities"]) {
      Entity("E")
      Entity("E")
    }
    expect(["E.: needs a name"]) { Entity("E") { Attribute("", .string) } }
    expect(["E.a: two properties"]) {
      Entity("E") {
        Attribute("a", .string)
        Relationship("a", to: "E")
      }
    }
    expect(["E\u{1}: control character"]) { Entity("E\u{1}") }
    expect(["E.a\n: control character"]) { Entity("E") { Attribute("a\n", .string) } }
    expect(["E.a.b: dot"]) { Entity("E") { Attribute("a.b", .string) } }
    expect(["E.@count: @"]) { Entity("E") { Attribute("@count", .string) } }
  }

  func testNamesOfBaseClassMembersAreRejected() {
    for name in [
      "objectID", "entity", "managedObjectContext", "hasChanges", "isInserted", "isUpdated", "isDeleted", "isFault", "description", "hash",
      "self", "init", "class",
    ] {
      expect(["E.\(name): member of every managed object"]) { Entity("E") { Attribute(name, .string) } }
    }
  }

  func testUnusualNamesAreAllowed() {
    expect([]) {
      Entity("order by \"x\"") {
        for name in [
          "order", "from", "group", "index", "values", "set", "Order", "rowid", "oid", "sqlite_x", "a b", "größe", "\"", "'", "id",
          "hashValue", "isUsable", "Type", "Self", "validateForInsert",
        ] {
          Attribute(name, .string)
        }
      }
    }
  }

  // MARK: Inheritance

  func testSuperentitiesMustExistWithoutCycles() {
    expect(["E: 'Gone' is not in the model"]) { Entity("E", parent: "Gone") }
    expect(["A: inherits from itself", "B: inherits from itself", "C: inherits from itself"]) {
      Entity("A", parent: "C")
      Entity("B", parent: "A")
      Entity("C", parent: "B")
      Entity("Below", parent: "A")
    }
  }

  func testInheritedNamesCannotBeDeclaredAgain() {
    expect(["C.x: inherited from 'A'"]) {
      Entity("A") { Attribute("x", .string) }
      Entity("B", parent: "A")
      Entity("C", parent: "B") { Attribute("x", .string) }
    }
    expect([]) {
      Entity("A")
      Entity("B", parent: "A") { Attribute("x", .string) }
      Entity("C", parent: "A") { Attribute("x", .integer16) }
    }
  }

  // MARK: Attributes

  func testOnlyTransientAttributesMayHaveNoType() {
    expect(Attribute("a", .undefined), "only a transient")
    expect(Attribute("a", .undefined).transient())
    expect(Attribute("a", .composite), "composite")
  }

  func testDefaultsMustHaveTheAttributeType() {
    expect(Attribute("a", .integer16).initially("x"), "not of the type 'Integer 16'")
    expect(Attribute("a", .integer16).initially(40_000), "does not fit into the type 'Integer 16'")
    expect(Attribute("a", .integer32).initially(Int64(1) << 31), "does not fit into the type 'Integer 32'")
    expect(Attribute("a", .integer64).initially(Int64.max))
    expect(Attribute("a", .string).initially(1), "not of the type 'String'")
    expect(Attribute("a", .boolean).initially(2), "not of the type 'Boolean'")
    expect(Attribute("a", .boolean).initially(true))
    expect(Attribute("a", .date).initially(1), "not of the type 'Date'")
    expect(Attribute("a", .uuid).initially(Data(count: 15)), "not of the type 'UUID'")
    expect(Attribute("a", .double).initially(Double.nan), "not a number")
    expect(Attribute("a", .decimal).initially(Decimal.nan), "not a number")
    expect(Attribute("a", .decimal).initially(0))
    expect(Attribute("a", .uri).initially("http://[bad"), "not a URI")
    expect(Attribute("a", .undefined).transient().initially(1), "takes no default")
  }

  func testDefaultsMustBeWithinTheBounds() {
    accept(Attribute("a", .integer16).initially(5).range(6...9), "outside the attribute's bounds")
    accept(Attribute("a", .decimal).initially(Decimal(10)).range(...Decimal(9)), "outside the attribute's bounds")
    accept(Attribute("a", .string).initially("abc").length(...2), "length is outside")
    accept(Attribute("a", .string).initially("abc").matching("[0-9]+"), "does not match")
    expect(Attribute("a", .string).initially("12").matching("[0-9]+").length(1...2))
  }

  func testBoundsMustFitTheTypeAndEachOther() {
    var attribute = AttributeDescription(name: "a", type: .integer16)
    attribute.validation.minimum = .int(9)
    attribute.validation.maximum = .int(1)
    XCTAssertEqual(AttributeRules.problems(of: attribute), [])
    XCTAssertEqual(AttributeRules.warnings(of: attribute), ["the minimum is greater than the maximum, so no value is valid"])
    expect(Attribute("a", .integer16).range(0...100_000), "the maximum does not fit")
    expect(Attribute("a", .string).range(1...2), "takes no minimum", "takes no maximum")
    expect(Attribute("a", .boolean).range(0...), "takes no minimum")
    expect(Attribute("a", .integer16).length(1...2), "takes no least length", "takes no greatest length")
    accept(Attribute("a", .string).length((-1)...), "negative")
    var lengths = AttributeDescription(name: "a", type: .string)
    lengths.validation.minimumLength = 3
    lengths.validation.maximumLength = 2
    XCTAssertEqual(AttributeRules.problems(of: lengths), [])
    XCTAssertEqual(AttributeRules.warnings(of: lengths), ["the least length is greater than the greatest, so no value is valid"])
  }

  func testRegularExpressionsMustCompile() {
    accept(Attribute("a", .string).matching("("), "does not compile")
    accept(Attribute("a", .string).matching("a)|(b"), "does not compile")
    expect(Attribute("a", .integer16).matching("1"), "takes no regular expression")
    expect(Attribute("a", .string).matching("\\p{L}+"))
  }

  func testADerivationNeedsAnExpression() {
    expect(Attribute("a", .string).derived(""), "derivation expression is empty")
  }

  // MARK: Relationships

  func testDestinationsMustExist() {
    expect(["E.r: 'Gone' is not in the model"]) { Entity("E") { Relationship("r", to: "Gone") } }
    expect(["E.r: no destination"]) { Entity("E") { Relationship("r", to: "") } }
  }

  func testInversesThatAreNotMutualAreAccepted() {
    expect([], accepted: ["A.b: is not a relationship of 'B'; the relationship has no inverse"]) {
      Entity("A") { Relationship("b", to: "B", inverse: "gone") }
      Entity("B")
    }
    expect([], accepted: ["A.b: is not a relationship of 'B'"]) {
      Entity("A") { Relationship("b", to: "B", inverse: "x") }
      Entity("B") { Attribute("x", .string) }
    }
    expect([], accepted: ["A.b: has none as its own inverse"]) {
      Entity("A") { Relationship("b", to: "B", inverse: "a") }
      Entity("B") { Relationship("a", to: "A") }
    }
    expect([], accepted: ["A.bs: 'bs' is used as its inverse"]) {
      Entity("A") { Relationship("bs", toMany: "B", inverse: "a") }
      Entity("B") { Relationship("a", to: "A") }
    }
    expect([], accepted: ["A.bs: has none as its own inverse", "A.cs: has none as its own inverse"]) {
      Entity("A") {
        Relationship("bs", toMany: "B", inverse: "a")
        Relationship("cs", toMany: "B", inverse: "a")
      }
      Entity("B") { Relationship("a", to: "A") }
    }
    expect([], accepted: ["A.b: leads to 'C', not back to 'A'", "B.a: is not a relationship of 'C'"]) {
      Entity("A") { Relationship("b", to: "B", inverse: "a") }
      Entity("B") { Relationship("a", to: "C", inverse: "b") }
      Entity("C")
    }
    expect([], accepted: ["A.c: has 'b' as its own inverse"]) {
      Entity("A") {
        Relationship("b", to: "B", inverse: "a")
        Relationship("c", to: "B", inverse: "a")
      }
      Entity("B") { Relationship("a", toMany: "A", inverse: "b") }
    }
    expect([], accepted: ["P.a: has none as its own inverse", "A.s: has 'p' as its own inverse"]) {
      Entity("P") { Relationship("a", to: "A", inverse: "p") }
      Entity("S", parent: "P")
      Entity("A") {
        Relationship("s", to: "S", inverse: "a")
        Relationship("p", to: "P")
      }
    }
    expect([]) {
      Entity("E") {
        Relationship("parent", to: "E", inverse: "children")
        Relationship("children", toMany: "E", inverse: "parent")
        Relationship("friends", toMany: "E", inverse: "friends")
      }
    }
  }

  func testATransientRelationshipAndAStoredInverseAreAccepted() {
    expect([], accepted: ["A.b: not both transient", "B.a: not both transient"]) {
      Entity("A") { Relationship("b", to: "B", inverse: "a").transient() }
      Entity("B") { Relationship("a", to: "A", inverse: "b") }
    }
  }

  func testRelationshipCountsMustBeConsistent() {
    expect(["E.r: maxCount of 1, not 5"]) { Entity("E") { Relationship("r", to: "E").count(...5) } }
    expect(["E.r: minCount of 0 or 1"]) { Entity("E") { Relationship("r", to: "E").count(2...) } }
    expect(["E.r: at most one object"]) { Entity("E") { Relationship("r", toMany: "E").count(...1) } }
    expect([], accepted: ["E.r: minCount is greater"]) { Entity("E") { Relationship("r", toMany: "E").count(5...).count(...3) } }
    expect(["E.r: negative"]) { Entity("E") { Relationship("r", toMany: "E").count((-1)...) } }
    expect([]) { Entity("E") { Relationship("r", toMany: "E").count(2...3) } }
  }

  // MARK: Indexes, constraints and the rest

  func testIndexesOverNoColumnsAreOmitted() {
    expect(
      [],
      accepted: [
        "E.none: no elements", "E.gone: is not one of the entity", "E.many: to-many", "E.temporary: transient",
        "E.fetched: fetched property",
        "E.gone: two indexes",
      ]
    ) {
      Entity("E") {
        Attribute("a", .string)
        Attribute("t", .string).transient()
        Relationship("m", toMany: "E")
        Relationship("one", to: "E")
        FetchedProperty("f", entity: "E")
        Index("good", .ascending("a"), .descending("one"))
        Index("none")
        Index("gone", on: "x")
        Index("many", on: "m")
        Index("temporary", on: "t")
        Index("fetched", on: "f")
        Index("gone", on: "a")
      }
    }
    var rtree = FetchIndexElement(property: "a")
    rtree.kind = .rtree
    var both = FetchIndexElement(property: "a")
    both.expression = "a"
    var neither = both
    (neither.expression, neither.propertyName) = (nil, nil)
    expect([], accepted: ["E.mixed: mixes", "E.both: both a property and", "E.neither: neither a property", "E: an index needs a name"]) {
      Entity("E") {
        Attribute("a", .string)
        Index("mixed", rtree, .ascending("a"))
        Index("both", both)
        Index("neither", neither)
        Index("", on: "a")
        Index("expression", FetchIndexElement(expression: "uppercase:(a)"))
      }
    }
  }

  func testOnlyTextsAreFoldedInIndexes() {
    var tree = FetchIndexElement.ascending("s", collation: .caseInsensitive)
    tree.kind = .rtree
    expect(["E.number: collation", "E.object: collation", "E.tree: collation"]) {
      Entity("E") {
        Attribute("s", .string)
        Attribute("u", .uri)
        Attribute("n", .integer64)
        Relationship("one", to: "E")
        Index("good", .ascending("s", collation: .caseInsensitive), .descending("u", collation: .diacriticInsensitive))
        Index("number", .ascending("n", collation: .caseInsensitive))
        Index("object", .ascending("one", collation: .caseInsensitive))
        Index("tree", tree)
      }
    }
  }

  func testFullTextIndexesAreOverTexts() {
    var expression = FetchIndexElement(expression: "uppercase:(s)")
    expression.kind = .fullText
    var descending = FetchIndexElement.fullText("s")
    descending.isAscending = false
    expect([
      "E.mixed: mixes Binary and FullText", "E.number: no String or URI", "E.object: no String or URI", "E.partial: remove its predicate",
      "E.twice: twice", "E.computed: over attributes", "E.ordered: no order", "E.gone: is not one of the entity", "E.temporary: transient",
    ]) {
      Entity("E") {
        Attribute("s", .string)
        Attribute("u", .uri)
        Attribute("n", .integer64)
        Attribute("t", .string).transient()
        Relationship("one", to: "E")
        Index("good", fullText: "s", "u")
        Index("mixed", .fullText("s"), .ascending("u"))
        Index("number", fullText: "n")
        Index("object", fullText: "one")
        Index("partial", fullText: "s").where("n > 5")
        Index("twice", fullText: "s", "s")
        Index("computed", expression)
        Index("ordered", descending)
        Index("gone", fullText: "x")
        Index("temporary", fullText: "t")
      }
      Entity("Sub", parent: "E") { Index("inherited", fullText: "s") }
    }
  }

  func testConstraintsAreOverAttributesAndToOneRelationships() {
    expect(
      ["E.x: is not one of the entity", "E.m: to-many", "E.t: transient"],
      accepted: ["E: has no properties", "E: names a property twice"]
    ) {
      Entity("E") {
        Attribute("a", .string)
        Attribute("t", .string).transient()
        Relationship("one", to: "E")
        Relationship("m", toMany: "E")
        Unique("a", "one")
        Unique("a", "x")
        Unique("m")
        Unique("t")
        Unique()
        Unique("a", "a")
      }
      Entity("Sub", parent: "E") { Unique("a") }
    }
  }

  func testConfigurationsTemplatesAndFetchedPropertiesNameEntities() {
    expect(
      ["C: two configurations", ": a configuration needs"],
      accepted: ["C: 'Gone' is not in the model", "C: names the entity 'E' twice"]
    ) {
      Entity("E")
      Configuration("C", entities: "E", "Gone", "E")
      Configuration("C", entities: "E")
      Configuration("", entities: "E")
    }
    expect(
      ["T: two fetch request templates", "U: may not be negative", ": template needs a name"], accepted: ["T: 'Gone' is not in the model"]
    ) {
      Entity("E")
      FetchTemplate("T", entity: "Gone")
      FetchTemplate("T", entity: "E")
      FetchTemplate("U", entity: "E", limit: -1)
      FetchTemplate("", entity: "E")
    }
    expect([], accepted: ["E.f: 'Gone' is not in the model"]) { Entity("E") { FetchedProperty("f", entity: "Gone") } }
  }

  func testModelsWithTooManyEntitiesAreRejected() {
    let model = ManagedObjectModel(entities: (0...65_535).map { EntityDescription(name: "E\($0)") })
    XCTAssertEqual(model.validationIssues().count, 1)
    XCTAssertEqual(ManagedObjectModel(entities: Array(model.entities.dropLast())).validationIssues(), [])
  }
}
