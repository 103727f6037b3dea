import AccessorSymbols
import Foundation
import ObjectModel
import XCTest

/// The classes of a model equal those that Xcode's editor generates.
final class ClassSourceTests: XCTestCase {
  func testEveryKindOfPropertyHasItsType() {
    let types: [(AttributeType, Bool, String)] = [
      (.integer16, true, "Int16"), (.integer32, false, "NSNumber?"), (.integer64, true, "Int64"), (.boolean, true, "Bool"),
      (.double, false, "NSNumber?"), (.float, true, "Float"), (.date, true, "TimeInterval"), (.date, false, "Date?"),
      (.decimal, false, "NSDecimalNumber?"), (.string, false, "String?"), (.binary, false, "Data?"), (.uuid, false, "UUID?"),
      (.uri, false, "URL?"), (.transformable, false, "NSObject?"),
    ]
    var entity = EntityDescription(name: "Thing", managedObjectClassName: "Shop.Thing")
    entity.codeGeneration = .classDefinition
    for (number, (type, isScalar, _)) in types.enumerated() {
      var attribute = AttributeDescription(name: "a\(number)", type: type)
      attribute.usesScalarValueType = isScalar
      entity.properties.append(.attribute(attribute))
    }
    let text = EntityClassSource(ManagedObjectModel(entities: [entity])).text
    XCTAssertTrue(text.contains("public class Thing: NSManagedObject {}\nextension Thing: Identifiable {}\n"), text)
    XCTAssertTrue(text.contains("NSFetchRequest<Thing>(entityName: \"Thing\")"), text)
    for (number, (_, _, swift)) in types.enumerated() {
      XCTAssertTrue(text.contains("@NSManaged public var a\(number): \(swift)\n"), swift)
    }
  }

  func testPropertiesAreCompiledWithAccessors() {
    var entity = EntityDescription(name: "Shelf", managedObjectClassName: "Shelf")
    entity.codeGeneration = .category
    entity.properties = [
      .attribute(AttributeDescription(name: "in", type: .string)),
      .relationship(RelationshipDescription(name: "books", destination: "Shelf", inverse: "shelf", isToMany: true)),
    ]
    let text = EntityClassSource(ManagedObjectModel(entities: [entity])).implementation
    let key = "`_key_Shelf_in`"
    XCTAssertTrue(text.contains("private let \(key) = ManagedKey(\"in\")\n"), text)
    XCTAssertTrue(
      text.contains("  public var `in`: String? { get { managedValue(\(key)) } set { setManagedValue(newValue, \(key)) } }\n"), text)
    XCTAssertFalse(text.contains("@NSManaged public var"), text)
    XCTAssertTrue(text.contains("@NSManaged public func addToBooks(_ value: Shelf)\n"), text)
  }

  func testRelationshipsHaveTheirMethods() {
    var (shelf, book) = (EntityDescription(name: "Shelf", managedObjectClassName: ".Shelf"), EntityDescription(name: "Book"))
    shelf.codeGeneration = .category
    book.codeGeneration = .manual
    shelf.properties = [
      .relationship(RelationshipDescription(name: "books", destination: "Book", inverse: "shelf", isToMany: true)),
      .relationship(RelationshipDescription(name: "order", destination: "Shelf", isToMany: true, isOrdered: true)),
      .relationship(RelationshipDescription(name: "next", destination: "Shelf")),
    ]
    let text = EntityClassSource(ManagedObjectModel(entities: [shelf, book])).text
    XCTAssertFalse(text.contains("class Shelf"), text)
    XCTAssertFalse(text.contains("Book {"), text)
    XCTAssertTrue(text.contains("@NSManaged public var books: NSSet?\n"), text)
    XCTAssertTrue(text.contains("@NSManaged public func addToBooks(_ value: NSManagedObject)\n"), text)
    XCTAssertTrue(text.contains("@NSManaged public var order: NSOrderedSet?\n"), text)
    XCTAssertTrue(text.contains("@NSManaged public func replaceOrder(at indexes: NSIndexSet, with values: [Shelf])\n"), text)
    XCTAssertTrue(text.contains("@NSManaged public var next: Shelf?\n"), text)
  }

  func testKeywordNamesAndSubclasses() {
    var (one, two) = (
      EntityDescription(name: "One", managedObjectClassName: "One"), EntityDescription(name: "Two", managedObjectClassName: "Two")
    )
    (one.codeGeneration, two.codeGeneration, two.superentityName) = (.classDefinition, .classDefinition, "One")
    one.properties = [.attribute(AttributeDescription(name: "in", type: .string))]
    let text = EntityClassSource(ManagedObjectModel(entities: [one, two])).text
    XCTAssertTrue(text.contains("@NSManaged public var `in`: String?"), text)
    XCTAssertTrue(text.contains("public class Two: One {}\n\nextension Two {"), text)
    XCTAssertEqual(EntityClassSource(ManagedObjectModel()).text, "")
  }

  func testErrorsAndWarningsOfAModelHaveTheFormatOfCompilers() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("cipherdata-classes-\(UUID().uuidString).xcdatamodel")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    let contents = folder.appendingPathComponent("contents").path
    func report(_ line: String) throws -> (mistakes: [String], warnings: [String]) {
      try Data("<model>\n<entity name=\"A\">\n\(line)</entity></model>".utf8).write(to: URL(fileURLWithPath: contents))
      return (EntityClassSource.mistakes(ofModelAt: folder), EntityClassSource.warnings(ofModelAt: folder))
    }
    let unknown = try report("<attribute name=\"x\" attributeType=\"Integer32\"/>")
    XCTAssertEqual(
      unknown.mistakes, ["\(contents):3:1: error: in attribute 'x', 'attributeType' names no attribute type; did you mean 'Integer 32'?"])
    let missing = try report("<relationship name=\"r\" destinationEntity=\"Gone\" inverseName=\"a\"/>")
    XCTAssertEqual(missing.mistakes.count, 1)
    XCTAssertTrue(missing.mistakes[0].hasPrefix("\(contents):3:1: error: A.r: the destination 'Gone' is not in the model"), "\(missing)")
    let damaged = try report("<attribute name=\"x/>")
    XCTAssertTrue(damaged.mistakes[0].hasPrefix("\(contents):3: error: the file is not well-formed XML"), "\(damaged)")
    let odd = try report("<attribute name=\"x\" optionl=\"YES\" attributeType=\"Integer 16\" defaultValueString=\"NO\"/>")
    XCTAssertEqual(odd.mistakes, [])
    XCTAssertEqual(
      odd.warnings,
      [
        "\(contents):3:1: warning: the attribute 'x' has 'optionl', which is not a known name; did you mean 'optional'?",
        "\(contents):3:1: warning: in attribute 'x', 'defaultValueString' is not a value of the type 'Integer 16'; 0 is used",
      ])
  }
}
