import XCTest
import _TestSupport

@testable import ObjectModel

/// The identities of entities and properties, which are equal on all devices.
final class StableIdentifierTests: XCTestCase {
  /// Returns the identities by `Entity` and `Entity.property`, of inherited properties too.
  private func identities(_ model: ManagedObjectModel) throws -> [String: String] {
    let model = try CompiledModel(model)
    let identifiers = StableIdentifiers(of: model)
    var result: [String: String] = [:]
    for entity in model.entities {
      result[entity.name] = identifiers.entities[entity.number].text
      for slot in entity.slots { result["\(entity.name).\(slot.name)"] = identifiers.slot(slot.index, ofEntity: entity.number)?.text }
      for relationship in entity.toManyRelationships {
        result["\(entity.name).\(relationship.name)"] = identifiers.relationship(relationship)?.text
      }
    }
    return result
  }

  func testIdentityIsTheName() throws {
    let found = try identities(
      ManagedObjectModel {
        Composite("Place") {
          Attribute("city", .string)
          Attribute("zip", .string)
        }
        Entity("Author") {
          Attribute("name", .string)
          Attribute("home", composite: "Place")
          Relationship("books", toMany: "Book", inverse: "author")
        }
        Entity("Book") { Relationship("author", to: "Author", inverse: "books") }
        Entity("Novel", parent: "Book") { Attribute("hero", .string) }
        Entity("Play", parent: "Book") { Attribute("hero", .string) }
      })
    XCTAssertEqual(
      found,
      [
        "Author": "Author", "Author.name": "Author/name", "Author.home.city": "Author/home.city", "Author.home.zip": "Author/home.zip",
        "Author.books": "Author/books", "Book": "Book", "Book.author": "Book/author", "Novel": "Novel", "Novel.author": "Book/author",
        "Novel.hero": "Novel/hero", "Play": "Play", "Play.author": "Book/author", "Play.hero": "Play/hero",
      ])
  }

  func testRenamingKeepsTheIdentityIfItsIdentifierStaysTheFirstName() throws {
    let versions = [
      ManagedObjectModel {
        Composite("Place") { Attribute("city", .string) }
        Entity("Author") {
          Attribute("name", .string)
          Attribute("home", composite: "Place")
          Relationship("books", toMany: "Author", inverse: "books")
        }
      },
      ManagedObjectModel {
        Composite("Place") { Attribute("town", .string).renamed(from: "city") }
        Entity("Writer") {
          Attribute("title", .string).renamed(from: "name")
          Attribute("address", composite: "Place").renamed(from: "home")
          Relationship("works", toMany: "Writer", inverse: "works").renamed(from: "books")
        }.renamed(from: "Author")
      },
      ManagedObjectModel {
        Composite("Place") { Attribute("village", .string).renamed(from: "city") }
        Entity("Poet") {
          Attribute("label", .string).renamed(from: "name")
          Attribute("residence", composite: "Place").renamed(from: "home")
          Relationship("poems", toMany: "Poet", inverse: "poems").renamed(from: "books")
        }.renamed(from: "Author")
      },
    ]
    for version in versions {
      XCTAssertEqual(
        Set(try identities(version).values), ["Author", "Author/name", "Author/home.city", "Author/books"], "\(version.entities[0].name)")
    }
  }

  func testANewPropertyWithTheFormerNameOfARenamedOneIsDistinguished() throws {
    let model = ManagedObjectModel {
      Entity("Person") {
        Attribute("name", .string)
        Attribute("fullName", .string).renamed(from: "name")
        Attribute("anotherName", .string).renamed(from: "name")
      }
      Entity("Human") { Attribute("x", .string) }.renamed(from: "Person")
    }
    let found = try identities(model)
    XCTAssertEqual(found["Person.anotherName"], "Person~Person/name")
    XCTAssertEqual(found["Person.fullName"], "Person~Person/name~fullName")
    XCTAssertEqual(found["Person.name"], "Person~Person/name~name")
    XCTAssertEqual(found["Human"], "Person")
    XCTAssertEqual(found["Human.x"], "Person/x")
    XCTAssertEqual(Set(found.values).count, found.count)
  }

  func testHostileNamesAreDistinguished() throws {
    let names = ["a", "a/b", "a~b", "a%2Fb", "a.b", "b"]
    var model = ManagedObjectModel(
      entities: names.map { name in
        var entity = EntityDescription(name: name)
        entity.properties = names.filter { $0 != "a.b" }.map { .attribute(AttributeDescription(name: $0, type: .string, isOptional: true)) }
        return entity
      })
    model.entities[0].properties.append(.attribute(AttributeDescription(name: "c", type: .string, isOptional: true)))
    let compiled = try CompiledModel(model)
    let identifiers = StableIdentifiers(of: compiled)
    var all = Set(identifiers.entities)
    var digests = Set(identifiers.entities.map(\.digest))
    for entity in compiled.entities {
      for slot in entity.slots {
        let identifier = try XCTUnwrap(identifiers.slot(slot.index, ofEntity: entity.number))
        XCTAssertTrue(all.insert(identifier).inserted, identifier.text)
        XCTAssertTrue(digests.insert(identifier.digest).inserted, identifier.text)
      }
    }
    XCTAssertEqual(all.count, 6 + 31)
  }

  /// Other devices name properties by the digest, so it must never change.
  func testDigestsAreFixed() {
    let author = StableIdentifier(entity: "Author")
    func digits(_ identifier: StableIdentifier) -> String { identifier.digest.map { String(format: "%02x", $0) }.joined() }
    XCTAssertEqual(digits(author), "5c5285be3181ab24a9cd5ae90251e489")
    XCTAssertEqual(digits(StableIdentifier(entity: author, property: "name")), "1a5308ea3c56fb4fc0fe464f8647630a")
    XCTAssertNotEqual(StableIdentifier(entity: "caf\u{e9}"), StableIdentifier(entity: "cafe\u{301}"))
  }
}
