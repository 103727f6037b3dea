import Foundation
import XCTest

@testable import ObjectModel

/// Meaningless attributes of model files that Core Data accepts.
final class ToleratedModelFileTests: XCTestCase {
  private func xml(_ lines: String) -> String { "<model>\n<entity name=\"E\">\n\(lines)\n</entity>\n</model>" }

  /// Expects that a file is read with a warning at a line, is written back unchanged, and is rejected by strict reading.
  private func model(_ xml: String, warns reason: String?, line: Int = 3, at source: UInt = #line) throws -> ManagedObjectModel {
    let data = Data(xml.utf8)
    let model = try ManagedObjectModel(xmlData: data)
    let findings = try ModelFileLint.findings(in: data).filter { [.unusableValue, .unusablePart].contains($0.kind) }
    if let reason {
      XCTAssertTrue(findings.contains { $0.line == line && $0.reason.contains(reason) }, "\(xml): \(findings)", line: source)
      XCTAssertThrowsError(try ManagedObjectModel(xmlData: data, path: "m", strict: true), xml, line: source) {
        let error = $0 as? ModelFileError
        XCTAssertEqual(error?.code, .badValue, line: source)
        XCTAssertEqual(error?.line, findings.first?.line, line: source)
        XCTAssertEqual(error?.path, "m", line: source)
      }
    } else {
      XCTAssertEqual(findings, [], xml, line: source)
      XCTAssertEqual(try ManagedObjectModel(xmlData: data, strict: true), model, line: source)
    }
    XCTAssertEqual(model.validationIssues(), [], xml, line: source)
    let written = try model.xmlData()
    let (before, after) = (try Fixtures.tree(data), try Fixtures.tree(written))
    XCTAssertEqual(lost(of: before, in: after), [], line: source)
    XCTAssertEqual(try ManagedObjectModel(xmlData: written), model, line: source)
    XCTAssertEqual(
      try CompiledModel(model).checksum, try CompiledModel(try ManagedObjectModel(xmlData: written)).checksum, line: source)
    return model
  }

  /// The attributes in a tree's elements that are missing or different in another tree.
  private func lost(of element: PreservedXML.Element, in other: PreservedXML.Element?) -> [String] {
    guard let other else { return [element.name] }
    var seen: [String: Int] = [:]
    return element.attributes.filter { other.attributes[$0.key] != $0.value }.map(\.key)
      + element.children.flatMap { child in
        let same = other.children.filter { $0.name == child.name }
        let position = seen[child.name, default: 0]
        seen[child.name] = position + 1
        return lost(of: child, in: same.indices.contains(position) ? same[position] : nil)
      }
  }

  private func attribute(_ rest: String, warns reason: String?, at source: UInt = #line) throws -> AttributeDescription {
    try model(xml("<attribute name=\"a\" \(rest)/>"), warns: reason, at: source).entities[0].attributes[0]
  }

  func testDefaultValuesThatAreNotNumbersAreZero() throws {
    for type in ["Integer 16", "Integer 32", "Integer 64"] {
      for (text, value) in [("NO", 0), ("YES", 0), ("", 0), ("12 items", 12), ("-3.7", -3), ("1e300", 0), ("nan", 0)] {
        let read = try attribute("attributeType=\"\(type)\" defaultValueString=\"\(text)\"", warns: "not a value of the type '\(type)'")
        XCTAssertEqual(read.defaultValue, .int(Int64(value)), "\(type) \(text)")
      }
    }
    for type in ["Double", "Float"] {
      for (text, value) in [("NO", 0), ("YES", 0), ("", 0), ("1.5 m", 1.5), ("nan", 0)] {
        let read = try attribute("attributeType=\"\(type)\" defaultValueString=\"\(text)\"", warns: "not a value of the type '\(type)'")
        XCTAssertEqual(read.defaultValue, .real(value), "\(type) \(text)")
      }
    }
    let decimal = try attribute("attributeType=\"Decimal\" defaultValueString=\"NO\"", warns: "'Decimal'; 0 is used")
    XCTAssertEqual(decimal.defaultValue, Slot(Decimal(0)))
    let large = try attribute("attributeType=\"Integer 16\" defaultValueString=\"70000\"", warns: "not a value")
    XCTAssertEqual(large.defaultValue, .int(0))
  }

  func testBooleansAreNumbersOrWords() throws {
    for (text, value) in [("0.0", 0), ("1.0", 1), ("TRUE", 1), ("No", 0), ("2", 1), ("n", 0)] {
      XCTAssertEqual(try attribute("attributeType=\"Boolean\" defaultValueString=\"\(text)\"", warns: nil).defaultValue, .int(Int64(value)))
    }
    XCTAssertEqual(
      try attribute("attributeType=\"Boolean\" defaultValueString=\"maybe\"", warns: "'Boolean'; NO is used").defaultValue, .int(0))
    XCTAssertFalse(try attribute("attributeType=\"String\" optional=\"MAYBE\"", warns: "'optional' must be YES or NO").isOptional)
  }

  func testInvalidDefaultsOfTypesWithoutAZeroAreIgnored() throws {
    for (type, text) in [
      ("UUID", "none"), ("UUID", ""), ("Binary", "NO"), ("Transformable", "<x>".replacing("<", with: "&lt;")), ("URI", "http://[bad"),
    ] {
      let read = try attribute(
        "attributeType=\"\(type)\" defaultValueString=\"\(text)\"", warns: "not a value of the type '\(type)'; no value is used")
      XCTAssertEqual(read.defaultValue, .null, type)
    }
    XCTAssertEqual(try attribute("attributeType=\"Date\" defaultDateTimeInterval=\"soon\"", warns: "no value is used").defaultValue, .null)
  }

  func testUnrepresentableBoundsAreIgnored() throws {
    for text in ["99999999999", "NO", ""] {
      let read = try attribute("attributeType=\"Integer 32\" minValueString=\"1\" maxValueString=\"\(text)\"", warns: "no bound is used")
      XCTAssertEqual(read.validation.minimum, .int(1))
      XCTAssertNil(read.validation.maximum)
    }
    XCTAssertNil(try attribute("attributeType=\"String\" maxValueString=\"x\"", warns: "number of characters").validation.maximumLength)
    XCTAssertNil(try attribute("attributeType=\"Date\" minDateTimeInterval=\"x\"", warns: "no bound is used").validation.minimum)
  }

  func testReplacementsOfInvalidValuesAreWritten() throws {
    var model = try Fixtures.model(
      xml("<attribute name=\"a\" attributeType=\"Integer 32\" maxValueString=\"99999999999\" defaultValueString=\"NO\"/>"))
    guard case .attribute(var attribute) = model.entities[0].properties[0] else { return XCTFail("no attribute") }
    attribute.defaultValue = .int(5)
    attribute.validation.maximum = .int(9)
    model.entities[0].properties[0] = .attribute(attribute)
    let again = try ManagedObjectModel(xmlData: try model.xmlData()).entities[0].attributes[0]
    XCTAssertEqual(again.defaultValue, .int(5))
    XCTAssertEqual(again.validation.maximum, .int(9))
  }

  func testSettingsOfOtherAttributeTypesAreIgnored() throws {
    XCTAssertNil(
      try attribute("attributeType=\"Integer 32\" regularExpressionString=\"[a-z]+\"", warns: "is for the type 'String'").validation.pattern
    )
    XCTAssertNil(try attribute("attributeType=\"String\" composite=\"Address\"", warns: "is for the type 'Composite'").compositeName)
    XCTAssertNil(
      try attribute("attributeType=\"String\" derivationExpression=\"\"", warns: "the attribute is not derived").derivationExpression)
  }

  func testAttributesAreDerivedOnlyIfMarkedAsDerived() throws {
    let rest = "attributeType=\"String\" derivationExpression=\"uppercase:(b)\""
    let other = "<attribute name=\"b\" attributeType=\"String\"/>"
    func derived(_ words: String, warns reason: String?, at source: UInt = #line) throws -> AttributeDescription {
      try model(xml("<attribute name=\"a\" \(words)/>\(other)"), warns: reason, at: source).entities[0].attributes[0]
    }
    XCTAssertEqual(try derived("derived=\"YES\" \(rest)", warns: nil).derivationExpression, "uppercase:(b)")
    XCTAssertEqual(try derived("derived=\"1\" \(rest)", warns: nil).derivationExpression, "uppercase:(b)")
    for words in [rest, "derived=\"NO\" \(rest)", "\(rest) derivationFilter=\"x == 1\""] {
      let read = try derived(words, warns: "needs 'derived=\"YES\"'; the attribute is not derived")
      XCTAssertNil(read.derivationExpression, words)
      XCTAssertNil(read.derivationFilter, words)
    }
    XCTAssertNil(
      try derived("attributeType=\"String\" derived=\"YES\"", warns: "needs a 'derivationExpression'").derivationExpression)
    // Changes by an application are written.
    for words in [rest, "derived=\"NO\" \(rest)"] {
      var model = try Fixtures.model(xml("<attribute name=\"a\" \(words)/>\(other)"))
      guard case .attribute(var attribute) = model.entities[0].properties[0] else { return XCTFail("no attribute") }
      attribute.derivationExpression = "lowercase:(b)"
      model.entities[0].properties[0] = .attribute(attribute)
      XCTAssertEqual(try ManagedObjectModel(xmlData: try model.xmlData()).entities[0].attributes[0].derivationExpression, "lowercase:(b)")
    }
  }

  func testUnsatisfiableBoundsAreKept() throws {
    for (rest, reason) in [
      ("attributeType=\"Integer 16\" minValueString=\"9\" maxValueString=\"1\"", "minimum is greater"),
      ("attributeType=\"String\" minValueString=\"9\" maxValueString=\"1\"", "least length is greater"),
      ("attributeType=\"String\" minValueString=\"-1\"", "least length is negative"),
      ("attributeType=\"String\" regularExpressionString=\"(\"", "does not compile"),
      ("attributeType=\"Integer 16\" minValueString=\"1\" defaultValueString=\"0\"", "default value is outside"),
      ("attributeType=\"String\" maxValueString=\"1\" defaultValueString=\"ab\"", "default value's length is outside"),
      ("attributeType=\"String\" regularExpressionString=\"x\" defaultValueString=\"ab\"", "does not match"),
    ] {
      let read = try attribute(rest, warns: reason)
      XCTAssertFalse(read.validation.isEmpty, rest)
    }
  }

  func testInvalidWordsOfEntitiesRelationshipsIndexesAndRequestsAreTolerated() throws {
    for word in ["none", "manual", "None"] {
      XCTAssertEqual(
        try model("<model><entity name=\"E\" codeGenerationType=\"\(word)\"/></model>", warns: nil).entities[0].codeGeneration, .manual)
    }
    XCTAssertEqual(
      try model("<model>\n<entity name=\"E\" codeGenerationType=\"struct\"/></model>", warns: "no code is generated", line: 2).entities[0]
        .codeGeneration, .manual)
    let toOne = "<relationship name=\"r\" destinationEntity=\"E\""
    for (rest, reason) in [
      ("maxCount=\"5\"", "'maxCount' of a to-one relationship is 1"), ("minCount=\"2\" maxCount=\"1\"", "'minCount' of a to-one"),
      ("minCount=\"x\" maxCount=\"1\"", "'minCount' must be a whole number; 0 is used"),
    ] {
      let relationship = try model(xml("\(toOne) \(rest)/>"), warns: reason).entities[0].relationships[0]
      XCTAssertEqual(relationship.maxCount, 1)
      XCTAssertLessThanOrEqual(relationship.minCount, 1)
    }
    _ = try model(
      xml("<relationship name=\"r\" toMany=\"YES\" minCount=\"3\" maxCount=\"2\" destinationEntity=\"E\"/>"), warns: "minCount is greater")
    let index = "<attribute name=\"a\" attributeType=\"String\"/><fetchIndex name=\"i\"><fetchIndexElement property=\"a\""
    for (rest, reason) in [
      ("type=\"Fast\"", "Binary is used"), ("order=\"up\"", "ascending is used"), ("collation=\"loud\"", "binary is used"),
    ] {
      XCTAssertEqual(
        try model(xml("\(index) \(rest)/></fetchIndex>"), warns: reason).entities[0].indexes[0].elements[0].propertyName, "a")
    }
    let request = "<model>\n<entity name=\"E\"/>\n<fetchRequest name=\"all\" entity=\"E\" resultType=\"3\"/></model>"
    XCTAssertEqual(try model(request, warns: "0 is used").fetchRequestTemplates[0].resultType, .objects)
  }

  func testAnAttributeTypeAndADeleteRuleMustBeKnown() {
    for line in [
      "<attribute name=\"a\" attributeType=\"Colour\"/>", "<relationship name=\"r\" destinationEntity=\"E\" deletionRule=\"Forget\"/>",
    ] {
      XCTAssertThrowsError(try Fixtures.model(xml(line))) {
        XCTAssertEqual(($0 as? ModelFileError)?.code, .badValue)
        XCTAssertEqual(($0 as? ModelFileError)?.line, 3)
      }
    }
  }

  // MARK: Parts

  func testUnbuildableIndexesAreOmitted() throws {
    let lines = """
      <attribute name="a" attributeType="String"/>
      <attribute name="t" attributeType="String" transient="YES"/>
      <relationship name="m" toMany="YES" destinationEntity="E"/>
      <fetchIndex name="good"><fetchIndexElement property="a" type="Binary"/></fetchIndex>
      <fetchIndex name="many"><fetchIndexElement property="m" type="Binary"/></fetchIndex>
      <fetchIndex name="gone"><fetchIndexElement property="x" type="Binary"/></fetchIndex>
      <fetchIndex name="transient"><fetchIndexElement property="t" type="Binary"/></fetchIndex>
      <fetchIndex name="empty"/>
      <fetchIndex name="mixed"><fetchIndexElement property="a" type="RTree"/><fetchIndexElement property="a" type="Binary"/></fetchIndex>
      <fetchIndex name="good"><fetchIndexElement property="t" type="Binary"/></fetchIndex>
      <compoundIndexes><compoundIndex><index value="a"/><index value="m"/></compoundIndex></compoundIndexes>
      """
    let model = try model(xml(lines), warns: "'m' is a to-many relationship", line: 7)
    XCTAssertEqual(model.validationWarnings().count, 8, "\(model.validationWarnings())")
    XCTAssertTrue(model.validationWarnings().allSatisfy { $0.reason.hasSuffix("the index is left out") })
    XCTAssertEqual(try CompiledModel(model).entities[0].entityDescription.effectiveIndexes.map(\.name), ["good"])
    XCTAssertEqual(model.entities[0].indexes.count, 7, "what was read is written again")
    XCTAssertThrowsError(try CompiledModel(model, strict: true)) { XCTAssertEqual(($0 as? ModelValidationError)?.issues.count, 8) }
  }

  func testNamesOfMissingEntitiesAreOmitted() throws {
    let xml = """
      <model>
      <entity name="E"><fetchedProperty name="f"><fetchRequest name="fetchedPropertyFetchRequest" entity="Gone"/></fetchedProperty>
      <attribute name="a" attributeType="String"/>
      <uniquenessConstraints><uniquenessConstraint/><uniquenessConstraint><constraint value="a"/><constraint value="a"/></uniquenessConstraint></uniquenessConstraints></entity>
      <configuration name="C"><memberEntity name="E"/><memberEntity name="Gone"/><memberEntity name="E"/></configuration>
      <fetchRequest name="all" entity="Gone"/>
      </model>
      """
    let read = try model(xml, warns: "'Gone' is not in the model; it is left out", line: 5)
    XCTAssertEqual(read.validationWarnings().count, 6, "\(read.validationWarnings())")
    let compiled = try CompiledModel(read)
    XCTAssertEqual(compiled.entityNumbers(inConfiguration: "C"), [0])
    XCTAssertEqual(compiled.entities[0].uniquenessConstraints, [[0]])
  }

  func testNonmutualInversesAreKeptOneSided() throws {
    let xml = """
      <model>
      <entity name="A">
      <relationship name="b" maxCount="1" destinationEntity="B" inverseName="as" inverseEntity="B"/>
      <relationship name="bs" toMany="YES" destinationEntity="B" inverseName="a" inverseEntity="B"/>
      <relationship name="other" maxCount="1" destinationEntity="B" inverseName="gone" inverseEntity="B"/>
      <relationship name="strange" maxCount="1" destinationEntity="B" inverseName="c" inverseEntity="B"/>
      </entity>
      <entity name="B">
      <relationship name="as" toMany="YES" destinationEntity="A"/>
      <relationship name="a" maxCount="1" destinationEntity="A"/>
      <relationship name="c" maxCount="1" destinationEntity="C"/>
      </entity>
      <entity name="C"/>
      </model>
      """
    let read = try model(xml, warns: "the inverse 'as' has none as its own inverse", line: 3)
    XCTAssertEqual(read.validationWarnings().map(\.propertyName), ["b", "bs", "other", "strange"])
    let compiled = try CompiledModel(read)
    func relationship(_ entity: String, _ name: String) throws -> CompiledRelationship {
      try XCTUnwrap(compiled.entity(named: entity)?.relationships.first { $0.name == name })
    }
    XCTAssertNil(try relationship("A", "b").inverseID)
    XCTAssertEqual(try relationship("A", "b").followedInverseID, try relationship("B", "as").id)
    XCTAssertNil(try relationship("B", "as").followedInverseID)
    // Core Data stores a to-many relationship in the column of the to-one relationship that it names.
    XCTAssertEqual(try relationship("A", "bs").inverseID, try relationship("B", "a").id)
    XCTAssertEqual(try relationship("B", "a").inverseID, try relationship("A", "bs").id)
    for name in ["other", "strange"] {
      XCTAssertNil(try relationship("A", name).inverseID)
      XCTAssertNil(try relationship("A", name).followedInverseID)
    }
  }

  // MARK: Other formats

  func testCompiledModelsAreReportedAsSuch() throws {
    let folder = try Fixtures.folder(self)
    for place in [folder.appendingPathComponent("M.mom"), folder.appendingPathComponent("M.momd"), folder.appendingPathComponent("M.omo")] {
      XCTAssertThrowsError(try ManagedObjectModel(contentsOf: place)) {
        XCTAssertEqual(($0 as? ModelFileError)?.code, .compiled)
        XCTAssertTrue("\($0)".contains("compiled from"), "\($0)")
      }
    }
  }
}
