import Foundation
import XCTest

/// Documentation/ModelFile.md lists everything that the reader of model files interprets.
final class ModelFileDocumentTests: XCTestCase {
  private static let folder = "Sources/ObjectModel/ModelFile"

  private func assertPageNames(_ names: [String], _ source: String) throws {
    let page = try Repository.text("Documentation/ModelFile.md")
    XCTAssertFalse(names.isEmpty, source)
    for name in names {
      XCTAssertTrue(page.contains("`\(name)`"), "ModelFile.md does not describe \(name), which \(source) reads")
    }
  }

  private func captures(_ pattern: String, in path: String) throws -> [String] {
    let text = try Repository.text(path)
    let expression = try NSRegularExpression(pattern: pattern)
    return expression.matches(in: text, range: NSRange(text.startIndex..., in: text)).compactMap { match in
      Range(match.range(at: 1), in: text).map { String(text[$0]) }
    }
  }

  func testEveryXMLAttributeIsListed() throws {
    let path = "\(Self.folder)/ModelXMLFields.swift"
    let names =
      try captures(#"(?:\.text|\.flag|\.denial|\.number|\.kept|bound|value)\(\s*"(\w+)""#, in: path)
      + captures(#"Self\(name: "(\w+)""#, in: path)
    XCTAssertGreaterThan(names.count, 60)
    try assertPageNames(names, path)
  }

  func testEveryXMLElementIsListed() throws {
    let path = "\(Self.folder)/DataModelReader.swift"
    try assertPageNames(try captures(#"case "(\w+)":"#, in: path).filter { $0 != "memberEntity" }, path)
  }

  func testEveryAttributeTypeIsListed() throws {
    let path = "Sources/ObjectModel/Values/AttributeType.swift"
    try assertPageNames(try captures(#"case \w+ = "([\w ]+)""#, in: path), path)
  }

  func testEveryKeyOfGeneratedClassesIsListed() throws {
    let names = try Repository.swiftFiles(in: "Sources/ModelCodeGeneration").flatMap { try captures(#"Key = "(swift\w+)""#, in: $0) }
    try assertPageNames(names, "Sources/ModelCodeGeneration")
  }

  func testEveryToleratedWordIsListed() throws {
    let page = try Repository.text("Documentation/ModelFile.md")
    let start = try XCTUnwrap(page.range(of: "## Tolerated values"))
    let end = try XCTUnwrap(page.range(of: "## Validation"))
    let section = page[start.upperBound..<end.lowerBound]
    // The attributes in the reader's error messages.
    let path = "\(Self.folder)/ModelXMLFields.swift"
    let names = try captures(#"unusable\("'(\w+)'"#, in: path)
    XCTAssertGreaterThanOrEqual(names.count, 8)
    for name in names + [
      "derived", "partialIndexPredicate", "memberEntity", "inverseName", "regularExpressionString", "defaultValueString",
    ] {
      XCTAssertTrue(section.contains("`\(name)"), "ModelFile.md does not say what is used instead of an unusable \(name)")
    }
    XCTAssertTrue(page.contains("`elements`") && page.contains("`none`"))
  }
}
