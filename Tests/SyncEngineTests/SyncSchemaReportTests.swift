import Foundation
import ObjectModel
import SyncCore
import XCTest

@testable import SyncEngine

/// What is said of a model's synchronization: how each property is merged, what stands in the way, and what may surprise.
final class SyncSchemaReportTests: XCTestCase {
  private func schema(@ModelBuilder _ model: () -> [any ModelComponent]) throws -> SyncSchema {
    let parts = model()
    return SyncSchema(try CompiledModel(ManagedObjectModel { parts }))
  }

  private func merges(_ report: SyncSchemaReport, of entity: String) throws -> [String: SyncMerge] {
    let found = try XCTUnwrap(report.entities.first { $0.name == entity })
    return Dictionary(uniqueKeysWithValues: found.properties.map { ($0.name, $0.merge) })
  }

  private func warnings(@EntityBuilder _ entity: () -> [any EntityComponent]) throws -> [String: SyncWarning.Reason] {
    let parts = entity()
    let report = SyncSchemaReport(try schema { Entity("E") { parts } })
    return Dictionary(uniqueKeysWithValues: report.warnings.map { ($0.property, $0.reason) })
  }

  func testRulesOfAttributesAreThoseOfTheModel() throws {
    let schema = try schema {
      Entity("Post") {
        Attribute("title", .string)
        Attribute("votes", .integer64).syncMergeRule(.counter)
        Attribute("place", composite: "Place")
        Relationship("next", to: "Post")
      }
      Entity("Draft", parent: "Post")
      Composite("Place") { Attribute("flags", .integer16).syncMergeRule(.union) }
    }
    for number in schema.entities.indices {
      let properties = schema.entities[number].properties
      XCTAssertEqual(properties.map(\.mergeRule), [.latest, .counter, .union, .latest])
    }
    XCTAssertEqual(
      try merges(SyncSchemaReport(schema), of: "Post"),
      [
        "title": .value(.latest), "votes": .value(.counter), "place.flags": .value(.union), "next": .toOne(isRequired: false),
      ])
    XCTAssertEqual(try merges(SyncSchemaReport(schema), of: "Draft"), [:], "inherited properties are listed once")
  }

  func testEachKindOfPropertyIsListedAsItIsMerged() throws {
    let report = SyncSchemaReport(SyncSchema(MirrorModel.withLinks))
    XCTAssertEqual(
      try merges(report, of: "Folder"),
      [
        "size": .value(.latest), "made": .value(.latest), "noteCount": .derived, "parent": .parent,
        "children": .inverse("Folder.parent", isOrdered: false), "notes": .inverse("Note.folder", isOrdered: false),
        "cover": .inverse("Cover.folder", isOrdered: false),
        "friends": .members(isOrdered: false), "pinned": .members(isOrdered: false),
      ])
    XCTAssertEqual(try merges(report, of: "Item")["tags"], .members(isOrdered: false))
    XCTAssertEqual(try merges(report, of: "Tag")["items"], .members(isOrdered: false))
    XCTAssertEqual(try merges(report, of: "Cover")["folder"], .oneToOne(isRequired: false))
    XCTAssertEqual(try merges(report, of: "Note")["folder"], .toOne(isRequired: true))
    XCTAssertEqual(report.obstacles, [])
    let local = SyncSchemaReport(
      try schema {
        Entity("E") {
          Attribute("a", .string).transient()
          Relationship("r", toMany: "E").transient()
          FetchedProperty("f", entity: "E", where: "TRUEPREDICATE")
        }
      })
    XCTAssertEqual(try merges(local, of: "E"), ["a": .transient, "r": .transient, "f": .fetched])
  }

  func testARelationshipWithATransientInverseIsSynchronized() throws {
    let schema = try schema {
      Entity("A") { Relationship("b", to: "B", inverse: "a").transient() }
      Entity("B") { Relationship("a", to: "A", inverse: "b") }
    }
    XCTAssertEqual(try merges(SyncSchemaReport(schema), of: "A"), ["b": .transient])
    XCTAssertEqual(try merges(SyncSchemaReport(schema), of: "B"), ["a": .toOne(isRequired: false)])
    XCTAssertEqual(schema.entities.map(\.properties.count), [0, 1])
  }

  func testUniquenessConstraintsSayThatObjectsBecomeOne() throws {
    let report = SyncSchemaReport(
      try schema {
        Entity("Tag") {
          Attribute("name", .string)
          Attribute("scope", .string)
          Unique("name", "scope")
        }
        Entity("Label", parent: "Tag") { Attribute("size", .integer64) }
      })
    XCTAssertEqual(report.obstacles, [])
    XCTAssertEqual(report.lines.filter { $0 == "  Objects with the same name and scope become one." }.count, 1, "\(report.lines)")
  }

  func testObstaclesAreShownWithTheirProperties() throws {
    let report = SyncSchemaReport(
      try schema {
        Entity("Post") {
          Attribute("title", .string).syncMergeRule(.max)
          Attribute("scan", .binary).externalStorage()
          Relationship("tags", toMany: "Tag", inverse: "posts").onDelete(.deny)
          Unique("title")
        }
        Entity("Tag") { Relationship("posts", toMany: "Post", inverse: "tags").ordered() }
      })
    XCTAssertEqual(
      report.obstacles.map(\.description),
      [
        "Post.title: a uniqueness constraint over a computed value or an attribute with a merge rule"
      ])
    XCTAssertEqual(
      try merges(report, of: "Post"),
      ["title": .value(.max), "scan": .largeValue(.latest), "tags": .members(isOrdered: false)])
    XCTAssertEqual(try merges(report, of: "Tag"), ["posts": .members(isOrdered: true)])
    XCTAssertTrue(
      report.lines.contains("error: Post.title: a uniqueness constraint over a computed value or an attribute with a merge rule"),
      "\(report.lines)")
    XCTAssertTrue(report.lines.contains { $0.contains("scan") && $0.hasSuffix("large value: the later change") }, "\(report.lines)")
    XCTAssertFalse(report.lines.contains("The model can be synchronized."))
  }

  /// Core Data's mirroring refuses these: required properties without default values, and relationships without an inverse.
  func testRequiredPropertiesAndRelationshipsWithoutAnInverseAreAccepted() throws {
    let schema = try schema {
      Entity("Note") {
        Attribute("text", .string).required()
        Relationship("folder", to: "Folder").required()
        Relationship("links", toMany: "Note")
      }
      Entity("Folder")
    }
    XCTAssertEqual(schema.obstacles, [])
    XCTAssertNoThrow(try schema.check())
  }

  func testACountWithoutARuleIsAWarning() throws {
    XCTAssertEqual(
      try warnings {
        for name in ["votes", "viewCount", "URLCount", "stock_on_hand", "total", "balance2"] { Attribute(name, .integer32) }
        Attribute("score", .double)
        Attribute("balance", .decimal)
      },
      [
        "votes": .lostIncrements, "viewCount": .lostIncrements, "URLCount": .lostIncrements, "stock_on_hand": .lostIncrements,
        "total": .lostIncrements, "balance2": .lostIncrements, "score": .lostIncrements, "balance": .lostIncrements,
      ])
    XCTAssertEqual(
      try warnings {
        Attribute("votes", .integer32).syncMergeRule(.counter)
        Attribute("bestScore", .integer32).syncMergeRule(.max)
        Attribute("noteCount", .integer32).derived("notes.@count")
        Attribute("likes", .integer32).transient()
        for name in ["maximumCount", "byteCount", "totalPages", "country", "discount", "accountNumber", "summary"] {
          Attribute(name, .integer32)
        }
        Attribute("stock", .integer16).userInfo("swiftType", "StockState")
        Attribute("total", .string)
        Relationship("notes", toMany: "E")
      }, [:])
    let decimal = SyncSchemaReport(try schema { Entity("Account") { Attribute("balance", .decimal) } })
    XCTAssertEqual(
      decimal.warnings.map(\.description),
      [
        "Account.balance: concurrent increments are lost, because the later change wins; store each change as an object, and derive the sum, "
          + "because a Decimal cannot be a counter"
      ])
  }

  func testACollectionInOneValueIsAWarning() throws {
    XCTAssertEqual(
      try warnings {
        Attribute("words", transforming: [String].self)
        Attribute("byName", transforming: [String: Int].self)
        Attribute("unique", transforming: Set<String>.self)
        Attribute("labels", .transformable)
        Attribute("tagList", .binary)
      },
      [
        "words": .lostElements, "byName": .lostElements, "unique": .lostElements, "labels": .lostElements, "tagList": .lostElements,
      ])
    XCTAssertEqual(
      try warnings {
        Attribute("color", transforming: URL.self)
        Attribute("address", .transformable)
        Attribute("first", transforming: [String].self).syncMergeRule(.firstWriter)
        Attribute("pages", .binary)
      }, [:])
  }

  func testACounterWithBoundsIsAWarning() throws {
    XCTAssertEqual(
      try warnings {
        Attribute("seats", .integer32).range(0...).syncMergeRule(.counter)
        Attribute("open", .integer32).syncMergeRule(.counter)
      }, ["seats": .exceededBounds])
  }

  func testADestinationThatTakesObjectsWithItIsAWarning() throws {
    let report = SyncSchemaReport(
      try schema {
        Entity("Folder") {
          Relationship("notes", toMany: "Note", inverse: "folder").onDelete(.cascade)
          Relationship("pages", toMany: "Page", inverse: "folder")
          Relationship("covers", toMany: "Cover", inverse: "folder").onDelete(.deny)
        }
        Entity("Note") { Relationship("folder", to: "Folder", inverse: "notes").required() }
        Entity("Page") { Relationship("folder", to: "Folder", inverse: "pages").required() }
        // A folder with covers is not deleted.
        Entity("Cover") { Relationship("folder", to: "Folder", inverse: "covers").required() }
        Entity("Mark") { Relationship("folder", to: "Folder").required() }
      })
    XCTAssertEqual(
      report.warnings.map { "\($0.entity).\($0.property) \($0.reason)" }.sorted(),
      ["Mark.folder deletedWithDestination", "Page.folder deletedWithDestination"])
    XCTAssertTrue(
      report.warnings.map(\.explanation).contains { $0.hasSuffix("declare the delete rule Cascade for Folder.pages") },
      "\(report.warnings)")
  }

  func testBoundsOfCountsAndPossibleCyclesAreWarnings() throws {
    let report = SyncSchemaReport(
      try schema {
        Entity("Item", abstract: true) { Relationship("parent", to: "Folder", inverse: "items") }
        Entity("Folder", parent: "Item") { Relationship("items", toMany: "Item", inverse: "parent").onDelete(.cascade) }
        Entity("Team", parent: "Item") {
          Relationship("players", toMany: "Player", inverse: "team").count(1...5)
          Relationship("substitutes", toMany: "Player", inverse: "bench").count(...3)
          Relationship("captain", to: "Player", inverse: "captaincy")
        }
        Entity("Player") {
          Relationship("team", to: "Team", inverse: "players")
          Relationship("bench", to: "Team", inverse: "substitutes")
          Relationship("captaincy", to: "Team", inverse: "captain")
          Relationship("idol", to: "Player", inverse: "fans")
          Relationship("fans", toMany: "Player", inverse: "idol")
        }
      })
    XCTAssertEqual(try merges(report, of: "Item")["parent"], .parent)
    XCTAssertEqual(
      report.warnings.map { "\($0.entity).\($0.property) \($0.reason)" }.sorted(), ["Player.idol cycle", "Team.players exceededCount"])
    XCTAssertTrue(
      report.warnings.contains { $0.explanation.hasSuffix("declare the delete rule Cascade for Player.fans") }, "\(report.warnings)")
  }
}
