import Foundation
import XCTest

@testable import ObjectModel

/// Merging models, and configurations of one.
final class ModelMergingTests: XCTestCase {
  private let people = ManagedObjectModel(version: "people") {
    Entity("Person") { Attribute("name", .string) }
    Configuration("Main", entities: "Person")
  }
  private let places = ManagedObjectModel(version: "places") {
    Entity("Place") { Attribute("name", .string) }
    Configuration("Main", entities: "Place")
    FetchTemplate("all", entity: "Place")
  }

  func testModelsAreMerged() throws {
    let merged = try ManagedObjectModel(merging: [people, places, people])
    XCTAssertEqual(merged.entities.map(\.name), ["Person", "Place"])
    XCTAssertEqual(merged.versionIdentifiers, ["people", "places"])
    XCTAssertEqual(merged.configurations.map(\.entityNames), [["Person", "Place"]])
    XCTAssertEqual(merged.fetchRequestTemplates.map(\.name), ["all"])
    XCTAssertEqual(try ManagedObjectModel(merging: []), ManagedObjectModel())
  }

  func testEntitiesOfTheSameNameMustBeEqual() {
    let other = ManagedObjectModel { Entity("Person") { Attribute("name", .integer16) } }
    XCTAssertThrowsError(try ManagedObjectModel(merging: [people, places, other])) {
      XCTAssertEqual($0 as? ModelMergeError, .differentEntities(["Person"]))
    }
    let template = ManagedObjectModel {
      Entity("Place") { Attribute("name", .string) }
      FetchTemplate("all", entity: "Place", limit: 3)
    }
    XCTAssertThrowsError(try ManagedObjectModel(merging: [places, template])) {
      XCTAssertEqual($0 as? ModelMergeError, .differentTemplates(["all"]))
    }
  }

  func testPreservedFileAttributesDoNotAffectEntityEquality() throws {
    var other = people
    other.entities[0].preserved.attributes["syncable"] = "YES"
    XCTAssertEqual(try ManagedObjectModel(merging: [people, other]).entities.count, 1)
  }

  func testModelOfAStoreIsFoundAmongMany() throws {
    let newer = ManagedObjectModel(version: "newer") { Entity("Person") { Attribute("name", .integer16) } }
    let hashes = people.versionHashesByEntityName.merging(places.versionHashesByEntityName) { first, _ in first }
    let found = try XCTUnwrap(ManagedObjectModel(merging: [newer, people, places], forStoreMetadata: hashes))
    XCTAssertEqual(found.entitiesByName, ["Person": people.entities[0], "Place": places.entities[0]])
    XCTAssertEqual(ManagedObjectModel(merging: [newer, people], forStoreMetadata: people.versionHashesByEntityName), people)
    XCTAssertNil(ManagedObjectModel(merging: [newer, places], forStoreMetadata: hashes))
  }

  func testConfigurationsCanBeExtractedAsModels() throws {
    let model = ManagedObjectModel {
      Entity("Base") { Attribute("name", .string) }
      Entity("Person", parent: "Base") {
        Relationship("home", to: "Place", inverse: "people")
        Relationship("friend", to: "Person")
        Index("byHome", on: "home", "name")
        Index("byName", on: "name")
        Unique("home")
      }
      Entity("Place") { Relationship("people", toMany: "Person", inverse: "home") }
      Configuration("People", entities: "Person")
      FetchTemplate("places", entity: "Place")
    }
    let part = try XCTUnwrap(model.restricted(toConfiguration: "People"))
    XCTAssertEqual(part.entities.map(\.name), ["Base", "Person"])
    XCTAssertEqual(part.entities[1].properties.map(\.name), ["friend"])
    XCTAssertEqual(part.entities[1].indexes.map(\.name), ["byName"])
    XCTAssertEqual(part.entities[1].uniquenessConstraints, [])
    XCTAssertEqual(part.fetchRequestTemplates, [])
    XCTAssertEqual(part.validationIssues(), [])
    XCTAssertEqual(model.restricted(toConfiguration: nil), model)
    XCTAssertNil(model.restricted(toConfiguration: "Gone"))
  }
}
