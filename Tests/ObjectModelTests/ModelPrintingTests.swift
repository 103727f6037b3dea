import Foundation
import XCTest

@testable import ObjectModel

/// Models as text and diagrams.
final class ModelPrintingTests: XCTestCase {
  private let model = ManagedObjectModel(version: "1") {
    Entity("Item", abstract: true) { Attribute("title", .string).required().length(1...80).initially("x") }
    Entity("Bed", parent: "Item") {
      Relationship("plants", toMany: "Plant", inverse: "bed").ordered().onDelete(.cascade)
      Index("byTitle", on: "title")
      Index("folded", .descending("title", collation: .caseInsensitive))
      Unique("title")
    }
    Entity("Plant", parent: "Item") {
      Attribute("water", .double).range(0.0...1)
      Relationship("bed", to: "Bed", inverse: "plants")
    }
    Entity("odd \"{name}\"") { Attribute("a|b<c>", .integer64) }
  }

  func testTextListsEverythingOnePerLine() {
    XCTAssertEqual(
      ModelDescriptionPrinter.text(model),
      """
      model 1: 4 entities

      abstract entity Item
        title: String, default "x", length 1 to 80

      entity Bed: Item
        plants ->> ordered Plant, inverse bed, on delete cascade
        index byTitle (title)
        index folded (title caseInsensitive descending)
        unique (title)

      entity Plant: Item
        water: Double, optional, 0 to 1
        bed -> Bed, inverse plants

      entity "odd \\"{name}\\""
        "a|b<c>": Integer 64, optional

      """)
  }

  func testMermaidDrawsEveryPairOnce() {
    XCTAssertEqual(
      ModelDiagram.mermaid(model),
      """
      classDiagram
        class Item {
          <<abstract>>
          String title
        }
        class Bed {
        }
        Item <|-- Bed
        class Plant {
          Double? water
        }
        Item <|-- Plant
        class entity_3["odd __name__"] {
          Integer64? a_b_c_
        }
        Bed "0..1" -- "* ordered" Plant : plants / bed

      """)
  }

  func testDotEscapesNames() {
    let dot = ModelDiagram.dot(model)
    XCTAssertTrue(dot.contains("\"Bed\" -> \"Plant\" [label=\"plants / bed\""), dot)
    XCTAssertTrue(dot.contains("\"odd \\\"{name}\\\"\" [label=\"{odd\\ \\\"\\{name\\}\\\"|a\\|b\\<c\\>:\\ Integer64?\\l}\"]"), dot)
    XCTAssertTrue(dot.contains("\"Bed\" -> \"Item\" [arrowhead=empty]"), dot)
  }
}
