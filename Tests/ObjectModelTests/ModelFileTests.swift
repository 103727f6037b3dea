import Foundation
import XCTest

@testable import ObjectModel

/// Reading and writing model files.
final class ModelFileTests: XCTestCase {
  func testRepositorySchemasRoundTripByteForByte() throws {
    for name in ["DebianArchive", "Messenger", "PhotoLibrary"] {
      let url = Fixtures.schema(name)
      let model = try ManagedObjectModel(contentsOf: url)
      let data = try Data(contentsOf: url.appendingPathComponent("\(name).xcdatamodel/contents"))
      XCTAssertEqual(String(decoding: try model.xmlData(), as: UTF8.self), String(decoding: data, as: UTF8.self), name)
      XCTAssertEqual(model.validationIssues(), [], name)
      XCTAssertNoThrow(try CompiledModel(model))
    }
  }

  func testSchemasCoverEveryStoredAttributeType() throws {
    let types = try ["Messenger", "PhotoLibrary"].flatMap {
      try ManagedObjectModel(contentsOf: Fixtures.schema($0)).entities.flatMap { $0.attributes.map(\.type) }
    }
    XCTAssertEqual(Set(AttributeType.allCases).subtracting(types), [.composite])
  }

  func testTheGardenFixtureIsReadCompletely() throws {
    let model = try Fixtures.model(Fixtures.garden)
    XCTAssertEqual(model.versionIdentifiers, ["garden-2"])
    XCTAssertEqual(model.entities.map(\.name), ["Item", "Bed", "Plant"])
    let item = try XCTUnwrap(model.entity(named: "Item"))
    XCTAssertTrue(item.isAbstract)
    XCTAssertEqual(item.managedObjectClassName, ".Item")
    XCTAssertEqual(item.codeGeneration, .manual)
    XCTAssertEqual(item.uniquenessConstraints, [["ident"]])
    XCTAssertEqual(item.indexes.map(\.name), ["byTitleKey"])
    XCTAssertEqual(item.indexes.first?.elements.first?.propertyName, "titleKey")
    XCTAssertEqual(item.attributes[1].validation.minimumLength, 1)
    XCTAssertEqual(item.attributes[1].validation.maximumLength, 80)
    XCTAssertEqual(item.attributes[1].validation.pattern, "[^\\n]+")
    XCTAssertEqual(item.attributes.map(\.isOptional), [false, false, true])
    XCTAssertEqual(item.attributes[2].derivationExpression, "canonical:(title)")
    let bed = try XCTUnwrap(model.entity(named: "Bed"))
    XCTAssertEqual(bed.superentityName, "Item")
    XCTAssertEqual(bed.codeGeneration, .classDefinition)
    XCTAssertEqual(bed.userInfo, ["colour": "green"])
    XCTAssertEqual(bed.attributes[0].defaultValue, .real(0))
    XCTAssertEqual(bed.attributes[0].validation.minimum, .real(0))
    XCTAssertTrue(bed.attributes[2].allowsExternalBinaryDataStorage && bed.attributes[2].allowsCloudEncryption)
    let plants = try XCTUnwrap(bed.relationships.first)
    XCTAssertTrue(plants.isToMany && plants.isOrdered && plants.isOptional)
    XCTAssertEqual(plants.deleteRule, .cascade)
    XCTAssertEqual(bed.fetchedProperties.first?.predicateFormat, "bed == $FETCH_SOURCE AND water < 0.2")
    let plant = try XCTUnwrap(model.entity(named: "Plant"))
    XCTAssertEqual(plant.renamingIdentifier, "Shrub")
    XCTAssertEqual(plant.attributes[1].valueClassName, "[String]")
    XCTAssertEqual(plant.relationships.first?.maxCount, 1)
    XCTAssertEqual(model.fetchRequestTemplates.first?.predicateFormat, "water < $LEVEL")
    XCTAssertEqual(model.configurations.first?.entityNames, ["Plant"])
    XCTAssertEqual(model.configurations.first?.usedWithCloudKit, true)
    XCTAssertEqual(model.validationIssues(), [])
  }

  func testTheGardenFixtureIsWrittenWithoutLoss() throws {
    let model = try Fixtures.model(Fixtures.garden)
    let written = try model.xmlData()
    XCTAssertEqual(try Fixtures.tree(written), try Fixtures.tree(Data(Fixtures.garden.utf8)))
    XCTAssertEqual(try ManagedObjectModel(xmlData: written), model)
  }

  func testOptionsOfTemplatesAreReadAndWritten() throws {
    let xml = """
      <model><entity name="E"/>
      <fetchRequest name="all" entity="E" fetchLimit="5" fetchBatchSize="20" resultType="2" includeSubentities="NO" includePropertyValues="NO" \
      includePendingChanges="NO" returnObjectsAsFaults="NO" returnDistinctResults="YES"/>
      <fetchRequest name="none" entity="E"/>
      <fetchRequest name="spelled" entity="E" resultType="0" includeSubentities="YES" returnDistinctResults="NO"/></model>
      """
    let model = try Fixtures.model(xml)
    let all = try XCTUnwrap(model.fetchRequestTemplate(named: "all"))
    XCTAssertEqual(all.resultType, .dictionaries)
    XCTAssertEqual([all.fetchLimit, all.fetchBatchSize], [5, 20])
    let options = [
      all.includesSubentities, all.includesPropertyValues, all.includesPendingChanges, all.returnsObjectsAsFaults,
      !all.returnsDistinctResults,
    ]
    XCTAssertEqual(options, [false, false, false, false, false])
    XCTAssertEqual(model.fetchRequestTemplate(named: "none"), FetchRequestTemplate(name: "none", entityName: "E"))
    XCTAssertNil(model.fetchRequestTemplate(named: "nothing"))
    let written = try model.xmlData()
    XCTAssertEqual(try ManagedObjectModel(xmlData: written), model)
    let (before, after) = (try Fixtures.tree(Data(xml.utf8)), try Fixtures.tree(written))
    XCTAssertEqual(sorted(before).children, sorted(after).children)
  }

  func testUnknownAttributesAndElementsAreKeptEverywhere() throws {
    let xml = """
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="2.0" userDefinedModelVersionIdentifier="a, b" future="1" sourceLanguage="Swift" minimumToolsVersion="Automatic">
        <entity name="E" colour="red" isAbstract="NO">
          <attribute name="a" attributeType="Integer 16" optional="NO" defaultValueString="1.0" usesScalarValueType="YES" mood="good"><hint>so &lt; be it</hint><userInfo><entry key="k" value="v" level="3"/></userInfo></attribute>
          <attribute name="legacy" attributeType="String" indexed="YES" storedInTruthFile="YES" defaultDateTimeInterval="7"/>
          <attribute name="box" attributeType="Composite" compositeName="Address" optional="YES" transient="YES"/>
          <relationship name="r" maxCount="1" deletionRule="Nullify" destinationEntity="E" inverseEntity="Other" style="dashed"><x y="z"/></relationship>
          <fetchedProperty name="f" kind="lazy"><fetchRequest name="own" entity="E" resultType="2"><sort key="a"/></fetchRequest></fetchedProperty>
          <fetchIndex name="i" partialIndexPredicate="a &gt; 1" clustered="YES"><note/><fetchIndexElement expression="uppercase:(legacy)" expressionType="String" type="Binary" order="descending" weight="2"/></fetchIndex>
          <uniquenessConstraints strict="YES"><uniquenessConstraint name="first"><constraint value="a" order="1"/></uniquenessConstraint></uniquenessConstraints>
          <compoundIndexes><compoundIndex><index value="a"/></compoundIndex></compoundIndexes>
          <userInfo/>
        </entity>
        <fetchRequest name="t" entity="E" predicateString="a == 1" fetchLimit="5" resultType="1"><sortDescriptor key="a"/></fetchRequest>
        <configuration name="C" theme="dark"><memberEntity name="E" order="1"/><extra/></configuration>
        <composite name="Address"><attribute name="city" attributeType="String"/></composite>
        <elements><element name="E" positionX="-54" positionY="9" width="128" height="88" collapsed="YES"/></elements>
      </model>
      """
    let model = try Fixtures.model(xml)
    XCTAssertEqual(model.versionIdentifiers, ["a", "b"])
    XCTAssertEqual(model.entities[0].attributes[0].defaultValue, .int(1))
    let written = try model.xmlData()
    let (before, after) = (try Fixtures.tree(Data(xml.utf8)), try Fixtures.tree(written))
    XCTAssertEqual(sorted(before), sorted(after))
    XCTAssertEqual(try ManagedObjectModel(xmlData: written), model)
  }

  func testFilesReadWithoutAVersionAreWrittenWithoutOne() throws {
    let head =
      #"<model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" minimumToolsVersion="Automatic" "#
      + #"sourceLanguage="Swift""#
    for version in ["", #" userDefinedModelVersionIdentifier="""#, #" userDefinedModelVersionIdentifier="2""#] {
      var model = try Fixtures.model("\(head)\(version)/>")
      XCTAssertTrue(String(decoding: try model.xmlData(), as: UTF8.self).contains(head + version), version)
      model.versionIdentifiers = ["3"]
      let written = try ManagedObjectModel(xmlData: try model.xmlData())
      XCTAssertEqual(written.versionIdentifiers, ["3"], version)
    }
  }

  func testPreservedNamesMayBeAnyXMLName() throws {
    // The ends of the ranges of XML 1.0, fifth edition, productions 4 and 4a.
    let starts =
      "AZ_az\u{C0}\u{D6}\u{D8}\u{F6}\u{F8}\u{2D8}\u{2FF}\u{370}\u{37D}\u{37F}\u{1FFF}\u{200C}\u{200D}\u{2070}\u{218F}"
      + "\u{2C00}\u{2FEF}\u{3001}\u{D7FF}\u{F900}\u{FDCF}\u{FDF0}\u{FFFD}\u{10000}\u{EFFFF}"
    let others = "-.09\u{B7}\u{300}\u{36F}\u{203F}\u{2040}"
    for scalar in (starts + others).unicodeScalars {
      let name = (others.unicodeScalars.contains(scalar) ? "x" : "") + String(scalar)
      let model = try Fixtures.model("<model \(name)='1'><entity name='E' b\(name)='2'/><\(name)/></model>")
      XCTAssertEqual(try ManagedObjectModel(xmlData: try model.xmlData()), model, "U+\(String(scalar.value, radix: 16))")
    }
    for scalar in "\u{D7}\u{F7}\u{37E}\u{2000}\u{2190}\u{3000}".unicodeScalars {
      XCTAssertThrowsError(try Fixtures.model("<model b\(scalar)='1'/>"), "U+\(String(scalar.value, radix: 16))")
      var model = ManagedObjectModel(version: "") {}
      model.preserved.attributes["b\(scalar)"] = "1"
      XCTAssertThrowsError(try model.xmlData(), "U+\(String(scalar.value, radix: 16))")
    }
  }

  func testCollationsOfIndexesAreKept() throws {
    func xml(_ attribute: String) -> String {
      """
      <model><entity name="E"><attribute name="a" optional="YES" attributeType="String"/>
      <fetchIndex name="i"><fetchIndexElement property="a" type="Binary" order="ascending"\(attribute)/></fetchIndex></entity></model>
      """
    }
    for collation in FetchIndexElement.Collation.allCases {
      let model = try Fixtures.model(xml(" collation=\"\(collation.rawValue)\""))
      XCTAssertEqual(model.entities[0].indexes[0].elements[0].collation, collation)
      XCTAssertEqual(model.entities[0].indexes[0].elements[0].preserved.elements, [])
      XCTAssertEqual(try ManagedObjectModel(xmlData: try model.xmlData()), model)
    }
    let plain = try Fixtures.model(xml(""))
    XCTAssertEqual(plain.entities[0].indexes[0].elements[0].collation, .binary)
    XCTAssertFalse(
      String(decoding: try plain.xmlData(), as: UTF8.self).contains("collation"), "what Core Data knows is written as it writes it")
  }

  func testFullTextIndexesAreReadAndWritten() throws {
    let model = try Fixtures.model(
      """
      <model><entity name="E"><attribute name="a" optional="YES" attributeType="String"/>
      <fetchIndex name="i"><fetchIndexElement property="a" type="FullText" order="ascending"/></fetchIndex></entity></model>
      """)
    XCTAssertEqual(model.entities[0].indexes[0].elements, [.fullText("a")])
    XCTAssertTrue(model.entities[0].indexes[0].isFullText)
    XCTAssertEqual(try ManagedObjectModel(xmlData: try model.xmlData()), model)
    XCTAssertEqual(
      model.entities[0].indexes, ManagedObjectModel { Entity("E") { Index("i", fullText: "a") } }.entities[0].indexes)
  }

  func testPreservedSpellingIsReplacedByChanges() throws {
    let xml = """
      <model><entity name="E"><attribute name="a" optional="NO" attributeType="Double" defaultValueString="1.50"/>
      <uniquenessConstraints><uniquenessConstraint name="first"><constraint value="a"/></uniquenessConstraint></uniquenessConstraints></entity></model>
      """
    var model = try Fixtures.model(xml)
    guard case .attribute(var attribute) = model.entities[0].properties[0] else { return XCTFail("no attribute") }
    attribute.isOptional = true
    attribute.defaultValue = .real(2)
    model.entities[0].properties[0] = .attribute(attribute)
    model.entities[0].uniquenessConstraints = []
    let again = try ManagedObjectModel(xmlData: try model.xmlData())
    XCTAssertEqual(again.entities[0].attributes[0].isOptional, true)
    XCTAssertEqual(again.entities[0].attributes[0].defaultValue, .real(2))
    XCTAssertEqual(again.entities[0].uniquenessConstraints, [])
  }

  func testEveryCharacterThatXMLCanHoldSurvives() throws {
    var model = ManagedObjectModel(entities: [EntityDescription(name: "E<>&\"' \n\t\r é 漢 👩‍👩‍👧")])
    model.entities[0].userInfo = ["k<": "a\u{301}\n]]>"]
    XCTAssertEqual(try ManagedObjectModel(xmlData: try model.xmlData()).entities, model.entities)
    model.entities[0].name = "bad\u{1}"
    XCTAssertThrowsError(try model.xmlData()) { XCTAssertEqual(($0 as? ModelFileError)?.code, .badValue) }
  }

  func testEveryValueOfEveryTypeSurvives() throws {
    let defaults: [(AttributeType, [Slot])] = [
      (.integer16, [.int(-32_768), .int(32_767)]), (.integer32, [.int(-2_147_483_648)]), (.integer64, [.int(.min), .int(.max)]),
      (.boolean, [.int(0), .int(1)]), (.double, [.real(0.1), .real(-1e300), .real(.infinity), .real(.leastNonzeroMagnitude)]),
      (.float, [.real(Double(Float(0.1))), .real(1.5)]), (.date, [.real(-3_600.25), .real(0)]), (.string, [.text(""), .text(" a\n")]),
      (.uri, [.text("https://example.org/?a=b&c")]), (.binary, [.bytes(Data([0, 255])), .bytes(Data())]),
      (.uuid, [Slot(UUID())]), (.transformable, [.bytes(Data("{}".utf8))]),
      (.decimal, [Slot(Decimal(string: "-123456789012345678901234567890.12345678")!), Slot(Decimal(0))]),
    ]
    var entity = EntityDescription(name: "E")
    for (type, slots) in defaults {
      for (number, slot) in slots.enumerated() {
        entity.properties.append(.attribute(AttributeDescription(name: "\(type)\(number)", type: type, defaultValue: slot)))
      }
    }
    let model = ManagedObjectModel(entities: [entity])
    XCTAssertEqual(try ManagedObjectModel(xmlData: try model.xmlData()), model)
  }

  // MARK: Bundles

  func testABundleKeepsItsVersionsAndItsCurrentOne() throws {
    let url = try Fixtures.folder(self).appendingPathComponent("Library.xcdatamodeld")
    let versions = ["Library", "Library 2", "Library 10"].map { name in
      VersionedModel.Version(name: name, model: ManagedObjectModel(version: name) { Entity("Book") { Attribute("title", .string) } })
    }
    let bundle = VersionedModel(name: "Library", versions: versions, currentVersionName: "Library 2")
    try bundle.write(to: url)
    XCTAssertEqual(try VersionedModel(contentsOf: url), bundle)
    XCTAssertEqual(try ManagedObjectModel(contentsOf: url), versions[1].model)
    XCTAssertEqual(try ManagedObjectModel(contentsOf: url.appendingPathComponent("Library 10.xcdatamodel")), versions[2].model)
    XCTAssertEqual(try ManagedObjectModel(contentsOf: url.appendingPathComponent("Library.xcdatamodel/contents")), versions[0].model)
  }

  func testOnlyMultipleVersionsNeedAPropertyList() throws {
    let url = try Fixtures.folder(self).appendingPathComponent("M.xcdatamodeld")
    let model = ManagedObjectModel { Entity("E") }
    try model.write(to: url)
    let list = url.appendingPathComponent(".xccurrentversion")
    try FileManager.default.removeItem(at: list)
    XCTAssertEqual(try ManagedObjectModel(contentsOf: url), model)
    try model.write(to: url.appendingPathComponent("M 2.xcdatamodel"))
    XCTAssertThrowsError(try ManagedObjectModel(contentsOf: url)) { XCTAssertEqual(($0 as? ModelFileError)?.code, .noCurrentVersion) }
  }

  func testPropertyListsCannotReferenceFilesOutsideTheBundle() throws {
    let folder = try Fixtures.folder(self)
    let model = ManagedObjectModel { Entity("E") }
    try model.write(to: folder.appendingPathComponent("Secret.xcdatamodel"))
    let url = folder.appendingPathComponent("M.xcdatamodeld")
    try model.write(to: url)
    for name in ["../Secret.xcdatamodel", "Gone.xcdatamodel", ""] {
      let list = "<plist><dict><key>_XCCurrentVersionName</key><string>\(name)</string></dict></plist>"
      try Data(list.utf8).write(to: url.appendingPathComponent(".xccurrentversion"))
      XCTAssertThrowsError(try ManagedObjectModel(contentsOf: url)) { XCTAssertEqual(($0 as? ModelFileError)?.code, .noCurrentVersion) }
    }
  }

  func testErrorsNameTheFileTheLineAndTheReason() throws {
    let folder = try Fixtures.folder(self)
    let file = folder.appendingPathComponent("contents")
    let cases: [(String, ModelFileError.Code, Int)] = [
      ("<model>\n<entity name=\"E\">\n<attribute name=\"a\" attributeType=\"Colour\"/></entity></model>", .badValue, 3),
      ("<model><entity name=\"E\"><relationship name=\"r\" deletionRule=\"x\"/></entity></model>", .badValue, 1),
      ("<schema/>", .notAModel, 1),
    ]
    for (xml, code, line) in cases {
      try Data(xml.utf8).write(to: file)
      XCTAssertThrowsError(try ManagedObjectModel(contentsOf: file)) { error in
        let error = error as? ModelFileError
        XCTAssertEqual(error?.code, code, xml)
        XCTAssertEqual(error?.line, line, xml)
        XCTAssertEqual(error?.path, file.path, xml)
      }
    }
    XCTAssertThrowsError(try ManagedObjectModel(contentsOf: folder.appendingPathComponent("no.xcdatamodeld"))) {
      XCTAssertEqual(($0 as? ModelFileError)?.code, .unreadable)
    }
    XCTAssertThrowsError(try ManagedObjectModel(contentsOf: folder)) { XCTAssertEqual(($0 as? ModelFileError)?.code, .notAModel) }
  }

  /// Keeps the order of children with equal names, and ignores others in between.
  private func sorted(_ element: PreservedXML.Element) -> PreservedXML.Element {
    var element = element
    element.children = element.children.map(sorted).enumerated().sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }.map(
      \.element)
    return element
  }
}
