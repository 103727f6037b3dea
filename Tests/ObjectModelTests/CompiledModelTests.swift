import Foundation
import XCTest
import _TestSupport

@testable import ObjectModel

/// The numbering of entities, slots and relationships.
final class CompiledModelTests: XCTestCase {
  func testEntitiesAreNumberedInPreOrderOfTheirNames() throws {
    let model = try CompiledModel(
      ManagedObjectModel {
        Entity("Zebra")
        Entity("Message", abstract: true)
        Entity("Text", parent: "Message")
        Entity("Photo", parent: "Message")
        Entity("Panorama", parent: "Photo")
        Entity("Account")
      })
    XCTAssertEqual(model.entities.map(\.name), ["Account", "Message", "Photo", "Panorama", "Text", "Zebra"])
    XCTAssertEqual(model.entities.map(\.subtree), [0..<1, 1..<5, 2..<4, 3..<4, 4..<5, 5..<6])
    XCTAssertEqual(model.entities.map(\.root), [0, 1, 1, 1, 1, 5])
    XCTAssertEqual(model.entities.map(\.parent), [nil, nil, 1, 2, 1, nil])
    XCTAssertTrue(model.entities[3].isKind(of: model.entities[1]))
    XCTAssertFalse(model.entities[1].isKind(of: model.entities[3]))
  }

  func testInheritedPropertiesHaveTheSameSlotInAllSubentities() throws {
    let model = try CompiledModel(
      ManagedObjectModel {
        Entity("A") {
          Attribute("x", .string)
          Relationship("one", to: "A")
          Relationship("many", toMany: "A")
          Attribute("memory", .integer16).transient()
        }
        Entity("B", parent: "A") {
          Attribute("y", .integer64).initially(7)
          Relationship("more", toMany: "A").ordered()
          FetchedProperty("found", entity: "A")
        }
      })
    let (a, b) = (model.entities[0], model.entities[1])
    XCTAssertEqual(a.slots.map(\.name), ["x", "one", "memory"])
    XCTAssertEqual(b.slots.map(\.name), ["x", "one", "memory", "y"])
    XCTAssertEqual(b.slots.map(\.kind), [.text, .reference, .none, .int])
    XCTAssertEqual(b.toManyRelationships.map(\.name), ["many", "more"])
    XCTAssertEqual(b.toManyRelationships.map(\.index), [0, 1])
    XCTAssertIdentical(a.toManyRelationships[0], b.toManyRelationships[0])
    XCTAssertEqual(b.slotsWithDefaults, [3])
    XCTAssertTrue(b.hasTransientSlots)
    XCTAssertEqual(b.fetchedProperties.map(\.name), ["found"])
    guard case .toOne(let one)? = b.property(named: "one") else { return XCTFail("no to-one") }
    XCTAssertEqual(one.index, 1)
    XCTAssertNil(b.property(named: "gone"))
  }

  func testInversesAreFoundByNumber() throws {
    let model = try CompiledModel(try ManagedObjectModel(contentsOf: Fixtures.schema("Messenger")))
    for relationship in model.relationships {
      let inverse = try XCTUnwrap(model.inverse(of: relationship), relationship.name)
      XCTAssertEqual(inverse.name, relationship.relationshipDescription.inverseName)
      XCTAssertIdentical(model.inverse(of: inverse), relationship)
      XCTAssertEqual(inverse.sourceEntity, relationship.destinationEntity)
    }
  }

  func testUniquenessConstraintsAreInheritedAsSlots() throws {
    let model = try CompiledModel(try ManagedObjectModel(contentsOf: Fixtures.schema("Messenger")))
    let text = try XCTUnwrap(model.entity(named: "TextMessage"))
    XCTAssertEqual(text.uniquenessConstraints.map { $0.map { text.slots[$0].name } }, [["identifier"]])
    let participant = try XCTUnwrap(model.entity(named: "Participant"))
    XCTAssertEqual(participant.uniquenessConstraints.map { $0.map { participant.slots[$0].name } }, [["account", "chat"]])
  }

  func testConfigurationsAreListsOfEntityNumbers() throws {
    let model = try CompiledModel(
      ManagedObjectModel {
        Entity("B")
        Entity("A")
        Configuration("C", entities: "B")
      })
    XCTAssertEqual(model.entityNumbers(inConfiguration: nil), [0, 1])
    XCTAssertEqual(model.entityNumbers(inConfiguration: "C"), [1])
    XCTAssertNil(model.entityNumbers(inConfiguration: "D"))
  }

  func testNumberingHoldsForRandomHierarchies() throws {
    var random = SeededGenerator(seed: 42)
    for _ in 0..<30 {
      var model = ManagedObjectModel()
      for number in 0..<Int.random(in: 1...60, using: &random) {
        let parent = number > 0 && Bool.random(using: &random) ? "E\(Int.random(in: 0..<number, using: &random))" : nil
        var entity = EntityDescription(name: "E\(number)", superentity: parent)
        for property in 0..<Int.random(in: 0...3, using: &random) {
          let name = "p\(number)_\(property)"
          entity.properties.append(
            Bool.random(using: &random)
              ? .attribute(AttributeDescription(name: name, type: .string))
              : .relationship(RelationshipDescription(name: name, destination: "E0", isToMany: Bool.random(using: &random))))
        }
        model.entities.append(entity)
      }
      model.entities.shuffle(using: &random)
      let compiled: CompiledModel
      do { compiled = try CompiledModel(model) } catch {
        // A random chain can exceed the depth limit; no other issue is allowed.
        XCTAssertTrue(error.issues.allSatisfy { $0.reason.contains("levels") })
        continue
      }
      for (number, entity) in compiled.entities.enumerated() {
        XCTAssertEqual(entity.number, number)
        XCTAssertEqual(entity.subtree.lowerBound, number)
        let below = compiled.entities.filter { candidate in
          sequence(first: candidate.number, next: { compiled.entities[$0].parent }).contains(number)
        }
        XCTAssertEqual(below.map(\.number), Array(entity.subtree))
        for (index, slot) in entity.slots.enumerated() { XCTAssertEqual(slot.index, index) }
        if let parent = entity.parent {
          XCTAssertEqual(
            compiled.entities[parent].slots.map(\.name), entity.slots.prefix(compiled.entities[parent].slots.count).map(\.name))
        }
      }
    }
  }
}
