import Foundation
import ObjectModel
import XCTest

/// Meaningless attributes and omissions in a model file, with their lines.
final class ModelFileLintTests: XCTestCase {
  private func findings(_ lines: String...) throws -> [String] {
    let text =
      (["<?xml version=\"1.0\" encoding=\"UTF-8\"?>", "<model type=\"com.apple.IDECoreDataModeler.DataModel\">"] + lines + ["</model>"])
      .joined(separator: "\n")
    return try ModelFileLint.findings(in: Data(text.utf8)).map(\.description)
  }

  func testMisspelledWordsAreReportedWithLinesAndSuggestions() throws {
    XCTAssertEqual(
      try findings(
        "<entity name=\"Book\" isAbstrakt=\"YES\">", "<attribute name=\"title\" optionl=\"YES\" attributeType=\"String\"/>",
        "<atribute name=\"year\"/>", "<attribute name=\"pages\" attributeType=\"Integer 32\" colour=\"red\"><note/></attribute>",
        "</entity>"),
      [
        "3:1: the entity 'Book' has 'isAbstrakt', which is not a known name; did you mean 'isAbstract'?",
        "4:1: the attribute 'title' has 'optionl', which is not a known name; did you mean 'optional'?",
        "5:1: the entity 'Book' has an element 'atribute', which is not a known name; did you mean 'attribute'?",
        "6:1: the attribute 'pages' has 'colour', which is not a known name",
        "6:65: the attribute 'pages' has an element 'note', which is not a known name",
      ])
  }

  func testNamesOfSwiftPropertiesAreReportedWithTheNamesInFiles() throws {
    XCTAssertEqual(
      try findings(
        "<entity name=\"Book\" superentity=\"Item\">",
        "<attribute name=\"title\" attributeType=\"String\" preservesValueInHistoryOnDeletion=\"YES\"/>", "</entity>"),
      [
        "3:1: the entity 'Book' has 'superentity', which is not a known name; did you mean 'parentEntity'?",
        "4:1: the attribute 'title' has 'preservesValueInHistoryOnDeletion', which is not a known name; did you mean 'preserveAfterDeletion'?",
      ])
  }

  func testUntypedAttributesAndRelationshipsWithoutInverseAreReported() throws {
    XCTAssertEqual(
      try findings(
        "<entity name=\"Book\">", "<attribute name=\"title\"/>", "<attribute name=\"shown\" transient=\"YES\"/>",
        "<relationship name=\"author\" destinationEntity=\"Author\"/>",
        "<relationship name=\"seller\" destinationEntity=\"Author\" inverseName=\"sold\" inverseEntity=\"Author\"/>", "</entity>"),
      [
        "4:1: the attribute 'title' has no attributeType; add one, such as String",
        "6:1: the relationship 'author' has no inverse, so the other side is not updated; declare one",
      ])
  }

  func testFilesWrittenByEditorsHaveNoFindings() throws {
    XCTAssertEqual(
      try findings(
        "<entity name=\"Book\" representedClassName=\"Book\" syncable=\"YES\" codeGenerationType=\"class\">",
        "<attribute name=\"title\" optional=\"YES\" attributeType=\"String\" spotlightIndexingEnabled=\"YES\" allowsCloudEncryption=\"YES\">",
        "<userInfo><entry key=\"a\" value=\"b\"/></userInfo>", "</attribute>",
        "<fetchIndex name=\"byTitle\"><fetchIndexElement property=\"title\" type=\"Binary\" order=\"ascending\"/></fetchIndex>",
        "<uniquenessConstraints><uniquenessConstraint><constraint value=\"title\"/></uniquenessConstraint></uniquenessConstraints>",
        "</entity>",
        "<elements><element name=\"Book\" positionX=\"-63\" positionY=\"-18\" width=\"128\" height=\"44\"/></elements>"),
      [])
    // Models of every kind, as editors wrote them.
    let folder = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent().appendingPathComponent("Documents")
    let models = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
      .filter { ["xcdatamodel", "xcdatamodeld"].contains($0.pathExtension) }
    XCTAssertFalse(models.isEmpty)
    for model in models {
      let unknown = try ModelFileLint.findings(inModelAt: model).filter { [.unknownAttribute, .unknownElement].contains($0.kind) }
      // One has an element of a later version on purpose.
      let isOfLater = model.lastPathComponent == "WikiReader.xcdatamodeld"
      XCTAssertEqual(unknown.map(\.kind), isOfLater ? [.unknownElement] : [], "\(unknown)")
    }
  }

  func testFilesThatAreNotXMLAreErrors() {
    XCTAssertThrowsError(try ModelFileLint.findings(in: Data("<model".utf8))) { XCTAssertTrue($0 is ModelFileError) }
  }
}
