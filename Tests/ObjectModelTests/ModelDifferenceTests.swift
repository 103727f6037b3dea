import ObjectModel
import XCTest

/// Differences between two versions of a model, as text, and inference of mappings.
final class ModelDifferenceTests: XCTestCase {
  private func difference(
    @ModelBuilder _ older: () -> [any ModelComponent], @ModelBuilder to newer: () -> [any ModelComponent]
  ) throws -> ModelDifference {
    let (before, after) = (older(), newer())
    return ModelDifference(
      from: try CompiledModel(ManagedObjectModel { before }), to: try CompiledModel(ManagedObjectModel { after }))
  }

  private func expect(
    _ expected: String..., inferred: Bool = true, line: UInt = #line, @ModelBuilder _ older: () -> [any ModelComponent],
    @ModelBuilder to newer: () -> [any ModelComponent]
  ) throws {
    let found = try difference(older, to: newer)
    XCTAssertEqual(found.changes.map(\.description), expected, line: line)
    XCTAssertEqual(found.canBeInferred, inferred, line: line)
  }

  func testEqualModelsHaveNoDifferences() throws {
    try expect {
      Entity("A") { Attribute("x", .string) }
    } to: {
      Entity("A") { Attribute("x", .string) }
    }
  }

  func testEntitiesAreAddedRemovedAndRenamed() throws {
    try expect("New: added", "Person: renamed from Human", "Person.x: renamed from y", "Old: removed with its objects") {
      Entity("Human") { Attribute("y", .string) }
      Entity("Old")
    } to: {
      Entity("Person") { Attribute("x", .string).renamed(from: "y") }.renamed(from: "Human")
      Entity("New")
    }
  }

  func testChangesThatAffectNoRowsAreListed() throws {
    try expect(
      "A.bytes: kept in the history of deletions", "A.state: Swift type changed from none to State", "A.text: marked for system search",
      "A.byTextIndex: index added", "A: class changed from ManagedObject to A", "A: the name that system search shows changed"
    ) {
      Entity("A") {
        Attribute("bytes", .binary)
        Attribute("state", .integer16)
        Attribute("text", .string)
      }
    } to: {
      var indexed = AttributeDescription(name: "text", type: .string, isOptional: true)
      indexed.isIndexed = true
      indexed.isIndexedBySpotlight = true
      var state = AttributeDescription(name: "state", type: .integer16, isOptional: true)
      state.valueClassName = "State"
      return [
        Entity("A", class: "A") {
          Attribute("bytes", .binary).preservedOnDeletion()
          PropertyDescription.attribute(state)
          PropertyDescription.attribute(indexed)
        }
        .spotlightName("text")
      ]
    }
  }

  func testRenamingIdentifiersTakePrecedenceOverNames() throws {
    // The old B became A, and a new B replaced it.
    let found = try difference {
      Entity("A") { Attribute("x", .string) }
      Entity("B") { Attribute("x", .string) }
    } to: {
      Entity("A") { Attribute("x", .string) }.renamed(from: "B").hashModifier("2")
      Entity("B") { Attribute("x", .string) }.renamed(from: "A").hashModifier("2")
    }
    XCTAssertEqual(found.sources, [1, 0])
    XCTAssertFalse(found.hasEqualHashes)
  }

  func testRenamingIdentifiersAreIgnoredIfHashesAreEqual() throws {
    // A store of the older version opens under the newer one without a migration, so nothing may appear to move.
    let found = try difference {
      Entity("A") { Attribute("x", .string) }
      Entity("B") {
        Attribute("x", .string)
        Attribute("n", .integer64)
      }
    } to: {
      Entity("A") { Attribute("x", .string) }.renamed(from: "B")
      Entity("B") {
        Attribute("x", .string).renamed(from: "n")
        Attribute("n", .integer64).renamed(from: "x")
      }.renamed(from: "A")
    }
    XCTAssertTrue(found.hasEqualHashes)
    XCTAssertEqual(found.changes, [])
    XCTAssertEqual(found.sources, [0, 1])
  }

  func testIdentifiersOfEarlierRenamingsAreIgnored() throws {
    // The second version renamed y to x and added another y; the third one leaves them unchanged.
    try expect("A.z: added: String, optional") {
      Entity("A") {
        Attribute("x", .string).renamed(from: "y")
        Attribute("y", .string)
      }
      Entity("C").renamed(from: "D")
      Entity("D")
    } to: {
      Entity("A") {
        Attribute("x", .string).renamed(from: "y")
        Attribute("y", .string)
        Attribute("z", .string)
      }
      Entity("C").renamed(from: "D")
      Entity("D")
    }
  }

  func testModelsOfEqualHashesHaveNoObstacles() throws {
    func attribute(_ name: String, _ type: AttributeType, _ change: (inout AttributeDescription) -> Void) -> PropertyDescription {
      var attribute = AttributeDescription(name: name, type: type, isOptional: true)
      change(&attribute)
      return .attribute(attribute)
    }
    func model(_ index: Int) -> ManagedObjectModel {
      ManagedObjectModel {
        Entity("A") {
          attribute("t", .transformable) {
            $0.valueTransformerName = [nil, "", "NSSecureUnarchiveFromData", "Mine"][index]
            $0.renamingIdentifier = [nil, "u", "v", "t"][index]
          }
          attribute("u", .transformable) { $0.renamingIdentifier = [nil, "t", nil, "x"][index] }
          attribute("x", .integer64) {
            $0.defaultValue = [.null, .int(1), .int(2), .null][index]
            $0.renamingIdentifier = [nil, "t", "y", "u"][index]
          }
          attribute("y", .string) { $0.renamingIdentifier = ["x", "u", nil, "t"][index] }
          attribute("data", .binary) { $0.allowsExternalBinaryDataStorage = index.isMultiple(of: 2) }
          attribute("sum", .integer64) { $0.derivationExpression = ["x", "b.@count", "x", "b.@count"][index] }
          Relationship("b", toMany: "B", inverse: "a").renamed(from: ["c", "b", "a", "t"][index])
          Relationship("c", to: "B")
        }
        .renamed(from: ["B", "A", "C", "B"][index])
        Entity("B") { Relationship("a", to: "A", inverse: "b").renamed(from: ["a", "b", "c", "d"][index]) }
          .renamed(from: ["A", "A", "B", "D"][index])
        if index > 1 { Configuration("Some", entities: "A", "B") }
      }
    }
    let models = try (0..<4).map { try CompiledModel(model($0)) }
    for older in models {
      for newer in models {
        let difference = ModelDifference(from: older, to: newer)
        XCTAssertTrue(difference.hasEqualHashes)
        XCTAssertEqual(difference.obstacles, [])
        XCTAssertFalse(difference.changes.contains { $0.dropsValues })
        XCTAssertEqual(difference.sources, [0, 1])
      }
    }
  }

  func testRelationshipsAreMatchedByTheirInverse() throws {
    try expect("User.members: renamed from memberships") {
      Entity("User") { Relationship("memberships", toMany: "Member", inverse: "user") }
      Entity("Member") { Relationship("user", to: "User", inverse: "memberships") }
    } to: {
      Entity("User") { Relationship("members", toMany: "Member", inverse: "user") }
      Entity("Member") { Relationship("user", to: "User", inverse: "members") }
    }
    // Not if the property with the older name still exists.
    try expect(
      "Member.user: inverse changed from memberships to members, which takes over the links", "User.members: added: to many Member",
      "User.memberships: no longer the inverse of user"
    ) {
      Entity("User") { Relationship("memberships", toMany: "Member", inverse: "user") }
      Entity("Member") { Relationship("user", to: "User", inverse: "memberships") }
    } to: {
      Entity("User") {
        Relationship("members", toMany: "Member", inverse: "user")
        Relationship("memberships", toMany: "Member")
      }
      Entity("Member") { Relationship("user", to: "User", inverse: "members") }
    }
  }

  func testAttributesAreAddedAndRemoved() throws {
    try expect(
      "A.new: added: Integer 32, required, with a default value", "A.other: added: String, optional",
      "A.x: attribute removed with its values"
    ) {
      Entity("A") { Attribute("x", .string) }
    } to: {
      Entity("A") {
        Attribute("new", .integer32).required().initially(1)
        Attribute("other", .string)
      }
    }
  }

  func testARequiredAttributeNeedsADefault() throws {
    try expect(
      "A.x: added: String, required. It cannot be inferred: stored objects have no value for it. Make the attribute optional, or give it a default value.",
      "A.y: made required. It cannot be inferred: stored objects may have no value. Give the attribute a default value for them.",
      inferred: false
    ) {
      Entity("A") { Attribute("y", .string) }
    } to: {
      Entity("A") {
        Attribute("x", .string).required()
        Attribute("y", .string).required()
      }
    }
    try expect("A.y: made required; objects without a value take the default value", "A.y: default value changed") {
      Entity("A") { Attribute("y", .string) }
    } to: {
      Entity("A") { Attribute("y", .string).required().initially("") }
    }
  }

  func testNumericTypesAreConverted() throws {
    try expect("A.x: type changed from Integer 16 to Integer 64", "A.y: type changed from Float to Double") {
      Entity("A") {
        Attribute("x", .integer16)
        Attribute("y", .float)
      }
    } to: {
      Entity("A") {
        Attribute("x", .integer64)
        Attribute("y", .double)
      }
    }
    try expect(
      "A.w: type changed from Integer 64 to Boolean (if every value is 0 or 1)",
      "A.x: type changed from Integer 64 to Double (if Double holds every value exactly)",
      "A.y: type changed from Double to Integer 32 (if every value is a whole number of Integer 32)",
      "A.z: type changed from Integer 16 to Decimal"
    ) {
      Entity("A") {
        Attribute("w", .integer64)
        Attribute("x", .integer64)
        Attribute("y", .double)
        Attribute("z", .integer16)
      }
    } to: {
      Entity("A") {
        Attribute("w", .boolean)
        Attribute("x", .double)
        Attribute("y", .integer32)
        Attribute("z", .decimal)
      }
    }
    for (older, newer) in [(AttributeType.integer64, AttributeType.string), (.date, .double), (.string, .uri), (.binary, .transformable)] {
      let found = try difference {
        Entity("A") { Attribute("x", older) }
      } to: {
        Entity("A") { Attribute("x", newer) }
      }
      XCTAssertEqual(found.obstacles.count, 1)
    }
  }

  func testPropertiesMoveWithinAHierarchy() throws {
    try expect(
      "Base.name: moved up from Left", "Left.size: moved from Base", inferred: true
    ) {
      Entity("Base") { Attribute("size", .integer32) }
      Entity("Left", parent: "Base") { Attribute("name", .string) }
      Entity("Right", parent: "Base")
    } to: {
      Entity("Base") { Attribute("name", .string) }
      Entity("Left", parent: "Base") { Attribute("size", .integer32) }
      Entity("Right", parent: "Base")
    }
  }

  func testEntitiesMoveInAndOutOfHierarchies() throws {
    try expect("Base: added, abstract", "A: given the superentity Base") {
      Entity("A")
    } to: {
      Entity("Base", abstract: true)
      Entity("A", parent: "Base")
    }
    try expect("A: no longer a subentity of Base", "Base: removed") {
      Entity("Base", abstract: true)
      Entity("A", parent: "Base")
    } to: {
      Entity("A")
    }
    let joined = try difference {
      Entity("A")
      Entity("B")
    } to: {
      Entity("Base", abstract: true)
      Entity("A", parent: "Base")
      Entity("B", parent: "Base")
    }
    XCTAssertEqual(joined.obstacles.count, 2, "\(joined.changes)")
  }

  func testRelationshipsChange() throws {
    try expect("A.b: made to-many", "A.b: delete rule changed from Nullify to Cascade") {
      Entity("A") { Relationship("b", to: "B") }
      Entity("B")
    } to: {
      Entity("A") { Relationship("b", toMany: "B").onDelete(.cascade) }
      Entity("B")
    }
    try expect("A.b: made to-one (if no object has more than one)") {
      Entity("A") { Relationship("b", toMany: "B") }
      Entity("B")
    } to: {
      Entity("A") { Relationship("b", to: "B") }
      Entity("B")
    }
    try expect(
      "A.b: made ordered, in the order of the objects' keys", "A.b: given the inverse a (if no object of B has more than one a)",
      "B.a: added: to one A"
    ) {
      Entity("A") { Relationship("b", toMany: "B") }
      Entity("B")
    } to: {
      Entity("A") { Relationship("b", toMany: "B", inverse: "a").ordered() }
      Entity("B") { Relationship("a", to: "A", inverse: "b") }
    }
  }

  func testDestinationsMayBecomeMoreGeneral() throws {
    func model(_ destination: String) -> [any ModelComponent] {
      [
        Entity("A") { Relationship("b", to: destination) }, Entity("Base"), Entity("B", parent: "Base"), Entity("C", parent: "Base"),
      ]
    }
    try expect("A.b: destination changed from B to Base") {
      model("B")
    } to: {
      model("Base")
    }
    let narrowed = try difference {
      model("Base")
    } to: {
      model("B")
    }
    XCTAssertEqual(narrowed.obstacles.count, 1)
  }

  func testPartsOfCompositesAreCompared() throws {
    try expect("A.home.zip: added: String, optional", "A.home.town: renamed from home.city") {
      Composite("Address") { Attribute("city", .string) }
      Entity("A") { Attribute("home", composite: "Address") }
    } to: {
      Composite("Address") {
        Attribute("zip", .string)
        Attribute("town", .string).renamed(from: "city")
      }
      Entity("A") { Attribute("home", composite: "Address") }
    }
  }

  func testIndexesConstraintsConfigurationsAndTemplates() throws {
    try expect(
      "A.byX: index removed", "A: uniqueness constraint over x added (if no two stored objects have the same values)",
      "configuration C removed", "fetch request template All added"
    ) {
      Entity("A") {
        Attribute("x", .string)
        Index("byX", on: "x")
      }
      Configuration("C", entities: "A")
    } to: {
      Entity("A") {
        Attribute("x", .string)
        Unique("x")
      }
      FetchTemplate("All", entity: "A")
    }
  }

  func testValidModelsCanHaveFindings() throws {
    let model = ManagedObjectModel {
      Composite("Unused") { Attribute("x", .string) }
      Entity("A") {
        Attribute("x", .string)
        Relationship("alone", to: "A")
        Relationship("many", toMany: "B", inverse: "one")
        Index("short", on: "x")
        Index("long", on: "x", "alone")
      }
      Entity("B") { Relationship("one", to: "A", inverse: "many").required() }
    }
    XCTAssertEqual(model.validationIssues(), [])
    let findings = ModelLint.findings(in: model).map(\.description)
    XCTAssertEqual(findings.count, 4, "\(findings)")
    XCTAssertTrue(findings[0].hasPrefix("A.alone: the relationship has no inverse"), findings[0])
    XCTAssertTrue(findings[1].hasPrefix("A.many: deleting an object leaves 'B.one'"), findings[1])
    XCTAssertTrue(findings[2].hasPrefix("A.short: the index 'long' starts with the same properties"), findings[2])
    XCTAssertTrue(findings[3].hasPrefix("Unused: no attribute uses the composite"), findings[3])
  }
}
