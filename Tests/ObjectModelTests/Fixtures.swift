import Foundation
import XCTest

@testable import ObjectModel

/// Models and files for several tests.
enum Fixtures {
  /// A schema of the repository.
  static func schema(_ name: String) -> URL {
    root.appendingPathComponent("Schemas/\(name).xcdatamodeld")
  }

  /// The package's folder, in any checkout.
  static let root: URL = {
    let file = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
    return file.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  }()

  /// A model with most features of model files.
  static let garden = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="22522" systemVersion="23D60" minimumToolsVersion="Automatic" sourceLanguage="Swift" userDefinedModelVersionIdentifier="garden-2">
      <entity name="Item" representedClassName=".Item" isAbstract="YES" syncable="YES">
        <attribute name="ident" attributeType="UUID" usesScalarValueType="NO"/>
        <attribute name="title" attributeType="String" minValueString="1" maxValueString="80" regularExpressionString="[^\\n]+"/>
        <attribute name="titleKey" optional="YES" attributeType="String" derived="YES" derivationExpression="canonical:(title)"/>
        <fetchIndex name="byTitleKey"><fetchIndexElement property="titleKey" type="Binary" order="ascending"/></fetchIndex>
        <uniquenessConstraints><uniquenessConstraint><constraint value="ident"/></uniquenessConstraint></uniquenessConstraints>
      </entity>
      <entity name="Bed" representedClassName=".Bed" parentEntity="Item" syncable="YES" codeGenerationType="class">
        <attribute name="area" attributeType="Double" defaultValueString="0.0" minValueString="0" usesScalarValueType="YES"/>
        <attribute name="plantCount" optional="YES" attributeType="Integer 64" derived="YES" derivationExpression="plants.@count" usesScalarValueType="YES"/>
        <attribute name="photo" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES" allowsCloudEncryption="YES"/>
        <relationship name="plants" optional="YES" toMany="YES" ordered="YES" deletionRule="Cascade" destinationEntity="Plant" inverseName="bed" inverseEntity="Plant"/>
        <fetchedProperty name="thirsty" optional="YES"><fetchRequest name="fetchedPropertyFetchRequest" entity="Plant" predicateString="bed == $FETCH_SOURCE AND water &lt; 0.2"/></fetchedProperty>
        <userInfo><entry key="colour" value="green"/></userInfo>
      </entity>
      <entity name="Plant" representedClassName=".Plant" parentEntity="Item" elementID="Shrub" syncable="YES" codeGenerationType="class">
        <attribute name="water" attributeType="Double" defaultValueString="1.0" usesScalarValueType="YES"/>
        <attribute name="tags" optional="YES" attributeType="Transformable" valueTransformerName="NSSecureUnarchiveFromDataTransformer" customClassName="[String]"/>
        <relationship name="bed" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Bed" inverseName="plants" inverseEntity="Bed"/>
      </entity>
      <fetchRequest name="dry" entity="Plant" predicateString="water &lt; $LEVEL"/>
      <configuration name="Cloud" usedWithCloudKit="YES"><memberEntity name="Plant"/></configuration>
      <elements><element name="Plant" positionX="0" positionY="0" width="128" height="90"/></elements>
    </model>
    """

  static func model(_ xml: String) throws -> ManagedObjectModel { try ManagedObjectModel(xmlData: Data(xml.utf8)) }

  /// The XML element tree, to compare files.
  static func tree(_ data: Data) throws -> PreservedXML.Element { try XMLTreeParser.parse(data, path: nil).element }

  /// A folder that is removed when the test ends.
  static func folder(_ test: XCTestCase) throws -> URL {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("ObjectModelTests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    test.addTeardownBlock { try? FileManager.default.removeItem(at: url) }
    return url
  }
}
