import Foundation
import ModelCodeGeneration
import ObjectModel
import XCTest

/// Errors about a model's semantics have the location of their subject.
final class ModelLocationTests: XCTestCase {
  private static let model = """
    <?xml version="1.0" encoding="UTF-8"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="Order" representedClassName="Order" codeGenerationType="class">
            <attribute name="init" attributeType="String"/>
            <attribute name="title" attributeType="String"/><attribute name="size" attributeType="Integer 32"
                minValueString="9" maxValueString="1"/>
    \t\t<relationship name="lines" toMany="YES" destinationEntity="Missing"/>
            <fetchIndex name="byName"><fetchIndexElement property="name" type="Binary" order="ascending"/></fetchIndex>
        </entity>
        <configuration name="Local"><memberEntity name="Nothing"/></configuration>
        <composite name="Address"><attribute name="city" attributeType="String"/></composite>
    </model>
    """

  private func locations(_ text: String = model) throws -> ModelFileLocations { try ModelFileLocations(Data(text.utf8), path: "contents") }

  func testAPropertyHasItsLineAndColumn() throws {
    let locations = try locations()
    for (entity, property, place) in [
      ("Order", "init", "contents:4:9"), ("Order", "title", "contents:5:9"), ("Order", "lines", "contents:7:3"),
      ("Order", "byName", "contents:8:9"), ("Order", nil, "contents:3:5"), ("Order", "inherited", "contents:3:5"),
      ("Address", "city", "contents:11:31"), ("Order", "title.part", "contents:5:9"), (nil, "Local", "contents:10:5"),
      ("Nothing", "name", "contents:2:1"), (nil, nil, "contents:2:1"),
    ] as [(String?, String?, String)] {
      XCTAssertEqual(locations.location(entity: entity, property: property).description, place, "\(entity ?? "").\(property ?? "")")
    }
    // A start tag of two lines.
    XCTAssertEqual(locations.location(entity: "Order", property: "size").description, "contents:5:57")
  }

  func testEveryModelErrorHasALocation() throws {
    let issues = try ManagedObjectModel(xmlData: Data(Self.model.utf8)).validationIssues()
    XCTAssertFalse(issues.isEmpty)
    let lines = try issues.map { try locations().location(entity: $0.entityName, property: $0.propertyName).line }
    XCTAssertTrue(lines.contains(4), "\(issues)")
    XCTAssertTrue(lines.contains(7), "\(issues)")
  }

  func testCommentsTextsAndCharactersOfSeveralBytesAreCounted() throws {
    let text = """
      <?xml version="1.0"?><!-- <entity name="Not"> -->
      <model><userInfo><entry key="é&lt;" value=">"/></userInfo><!--
      <a> --><entity name="Ünïcode"><![CDATA[<attribute name="no"/>
      ]]><attribute name="größe" attributeType="String"/><attribute name="last" attributeType="String"/></entity></model>
      """
    let locations = try locations(text)
    XCTAssertEqual(locations.location(entity: nil, property: nil).description, "contents:2:1")
    XCTAssertEqual(locations.location(entity: "Ünïcode", property: nil).description, "contents:3:8")
    XCTAssertEqual(locations.location(entity: "Ünïcode", property: "größe").description, "contents:4:4")
    XCTAssertEqual(locations.location(entity: "Ünïcode", property: "last").description, "contents:4:52")
  }

  func testLinesOfEveryKindAreCounted() throws {
    let text = Self.model.replacingOccurrences(of: "\n", with: "\r\n")
    XCTAssertEqual(try locations(text).location(entity: "Order", property: "init").description, "contents:4:9")
  }
}
