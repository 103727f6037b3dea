import Foundation
import XCTest

@testable import ObjectModel

/// Models declared in Swift.
final class ModelBuilderTests: XCTestCase {
  func testDeclaredModelEqualsTheDescribedOne() throws {
    let model = ManagedObjectModel(version: "library-1") {
      Entity("Author", class: "Author") {
        Attribute("name", .string).required().length(1...200)
        Relationship("books", toMany: "Book", inverse: "author").ordered().onDelete(.cascade)
      }
      Entity("Book", class: "Book") {
        Attribute("title", String.self).required()
        Attribute("pages", .integer32).required().initially(0).range(0...10_000)
        Attribute("price", .decimal).initially(0).range(0...)
        Attribute("isbn", .string).matching("[0-9]{13}")
        Attribute("keywords", transforming: [String].self)
        Relationship("author", to: "Author", inverse: "books").required()
        Index("byTitle", on: "title")
        Index("byPages", .descending("pages"), .ascending("title")).where("pages > 0")
        Index("folded", .ascending("title", collation: .caseAndDiacriticInsensitive), .descending("isbn", collation: .caseInsensitive))
        Unique("isbn")
      }
      .renamed(from: "Volume").userInfo("colour", "red").codeGeneration(.classDefinition)
      Configuration("Main", entities: "Author", "Book")
      FetchTemplate("long", entity: "Book", where: "pages > $PAGES", limit: 5)
    }
    XCTAssertEqual(model.validationIssues(), [])
    let book = try XCTUnwrap(model.entity(named: "Book"))
    XCTAssertEqual(book.attributes.map(\.isOptional), [false, false, true, true, true])
    XCTAssertEqual(book.attributes[1].defaultValue, .int(0))
    XCTAssertEqual(book.attributes[1].validation.maximum, .int(10_000))
    XCTAssertEqual(book.attributes[2].defaultValue, Slot(Decimal(0)))
    XCTAssertEqual(book.attributes[4].valueClassName, "Array<String>")
    XCTAssertEqual(book.indexes[1].elements.map(\.isAscending), [false, true])
    XCTAssertEqual(book.indexes[1].partialIndexPredicate, "pages > 0")
    XCTAssertEqual(book.indexes[1].elements.map(\.collation), [.binary, .binary])
    XCTAssertEqual(book.indexes[2].elements.map(\.collation), [.caseAndDiacriticInsensitive, .caseInsensitive])
    XCTAssertEqual(book.uniquenessConstraints, [["isbn"]])
    XCTAssertEqual(book.renamingIdentifier, "Volume")
    XCTAssertEqual(book.relationships[0].isOptional, false)
    XCTAssertEqual(book.relationships[0].maxCount, 1)
    XCTAssertEqual(model.entity(named: "Author")?.relationships[0].deleteRule, .cascade)
    XCTAssertEqual(model.versionIdentifiers, ["library-1"])
    XCTAssertEqual(try ManagedObjectModel(xmlData: try model.xmlData()), model)
  }

  func testPropertiesAreOptionalUntilRequired() {
    let model = ManagedObjectModel {
      Entity("E") {
        Attribute("a", .string)
        Relationship("r", to: "E")
      }
    }
    XCTAssertTrue(model.entities[0].attributes[0].isOptional)
    XCTAssertTrue(model.entities[0].relationships[0].isOptional)
  }

  func testBuildersAcceptConditionsLoopsAndDescriptions() {
    let wide = true
    let model = ManagedObjectModel {
      for name in ["A", "B"] {
        Entity(name) {
          for number in 0..<2 { Attribute("x\(number)", .double) }
          if wide { Attribute("wide", .string) } else { Attribute("narrow", .string) }
          if !wide { Attribute("never", .string) }
        }
      }
      EntityDescription(name: "C", properties: [.attribute(AttributeDescription(name: "y", type: .date))])
    }
    XCTAssertEqual(model.entities.map { $0.properties.map(\.name) }, [["x0", "x1", "wide"], ["x0", "x1", "wide"], ["y"]])
  }

  func testNumbersAreConvertedToTheAttributeType() {
    func slot(_ type: AttributeType, _ value: some AttributeValue) -> Slot {
      ManagedObjectModel { Entity("E") { Attribute("a", type).initially(value) } }.entities[0].attributes[0].defaultValue
    }
    XCTAssertEqual(slot(.double, 1), .real(1))
    XCTAssertEqual(slot(.float, 0.1), .real(Double(Float(0.1))))
    XCTAssertEqual(slot(.decimal, 0.1), Decimal(string: "0.1").map { Slot($0) })
    XCTAssertEqual(slot(.integer16, 1), .int(1))
    XCTAssertEqual(slot(.uri, "a:b"), .text("a:b"))
  }
}
