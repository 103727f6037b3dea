import Foundation
import XCTest

@testable import ObjectModel

/// Composite attributes in models: validation, slots, hashes and files.
final class CompositeModelTests: XCTestCase {
  private func model(_ city: Attribute = Attribute("city", .string).required(), home: Attribute = Attribute("home", composite: "Address"))
    -> ManagedObjectModel
  {
    ManagedObjectModel {
      Composite("Geo") {
        Attribute("latitude", .double).required()
        Attribute("longitude", .double).required()
      }
      Composite("Address") {
        city
        Attribute("place", composite: "Geo")
        Attribute("zip", .string).initially("00000")
      }
      Entity("Person") {
        Attribute("name", .string)
        home
        Attribute("age", .integer32)
        Index("byCity", on: "home.city")
        Unique("name", "home.zip")
      }
      Entity("Pupil", parent: "Person") { Attribute("school", composite: "Address") }
    }
  }

  func testEveryPartHasASlotWithADottedName() throws {
    let compiled = try CompiledModel(model())
    let person = try XCTUnwrap(compiled.entity(named: "Person"))
    XCTAssertEqual(
      person.slots.map(\.name), ["name", "home.city", "home.place.latitude", "home.place.longitude", "home.zip", "age"])
    guard case .composite(let home)? = person.property(named: "home") else { return XCTFail("home is no composite") }
    XCTAssertEqual(home.slots, 1..<5)
    XCTAssertEqual(home.partNames, ["city", "place", "zip"])
    guard case .composite(let place)? = person.property(named: "home.place") else { return XCTFail("home.place is no composite") }
    XCTAssertEqual(place.slots, 2..<4)
    guard case .attribute(let zip)? = person.property(named: "home.zip") else { return XCTFail("home.zip is no attribute") }
    XCTAssertEqual(zip.defaultValue, .text("00000"))
    XCTAssertEqual(person.uniquenessConstraints, [[0, 4]])
    let pupil = try XCTUnwrap(compiled.entity(named: "Pupil"))
    XCTAssertEqual(pupil.slots.count, 10)
    XCTAssertEqual(pupil.composites.map(\.name).sorted(), ["home", "home.place", "school", "school.place"])
  }

  func testPartsOfAnOptionalCompositeMayBeMissing() throws {
    let optional = try CompiledModel(model()).entities[0].slots
    XCTAssertTrue(optional.allSatisfy(\.isOptional))
    let required = try CompiledModel(model(home: Attribute("home", composite: "Address").required())).entities[0]
    XCTAssertEqual(required.slots.filter { !$0.isOptional }.map(\.name), ["home.city"])
  }

  func testATransientCompositeHasTransientParts() throws {
    var model = model(home: Attribute("home", composite: "Address").transient())
    model.entities[0].indexes = []
    model.entities[0].uniquenessConstraints = []
    let slots = try CompiledModel(model).entities[0].slots
    XCTAssertEqual(slots.filter(\.isTransient).count, 4)
  }

  func testCompositeErrorsAreReported() {
    func issues(_ change: (inout ManagedObjectModel) -> Void) -> [String] {
      var model = model()
      change(&model)
      return model.validationIssues().map(\.description)
    }
    func expect(_ part: String, line: UInt = #line, _ change: (inout ManagedObjectModel) -> Void) {
      let found = issues(change)
      XCTAssertTrue(found.contains { $0.contains(part) }, "\(found)", line: line)
    }
    XCTAssertEqual(issues { _ in }, [])
    expect("the composite 'Address' is not in the model") { $0.composites.remove(at: 1) }
    expect("needs the name of a composite") { $0.entities[0].properties = [.attribute(AttributeDescription(name: "x", type: .composite))] }
    expect("contains itself") {
      $0.composites[0].elements[0].type = .composite; $0.composites[0].elements[0].compositeName = "Address"
    }
    expect("two composites have this name") { $0.composites.append($0.composites[0]) }
    expect("two parts of the composite") { $0.composites[0].elements[1].name = "latitude" }
    expect("has no parts") { $0.composites[0].elements = [] }
    expect("cannot be transient") { $0.composites[0].elements[0].isTransient = true }
    expect("cannot be derived") { $0.composites[0].elements[0].derivationExpression = "now()" }
    expect("may not contain a dot") { $0.composites[0].elements[0].name = "a.b" }
    expect("has no column;") { $0.entities[0].uniquenessConstraints = [["home"]] }
    expect("home.street: a uniqueness constraint's property is not one of the entity") {
      $0.entities[0].uniquenessConstraints = [["home.street"]]
    }
    expect("only an attribute of the type 'Composite'") { model in
      var attribute = AttributeDescription(name: "x", type: .string)
      attribute.compositeName = "Geo"
      model.entities[0].properties.append(.attribute(attribute))
    }
  }

  func testRepeatedPartsAreCountedWithoutEnumeration() {
    // 40 parts on each of 16 levels: 40 to the power of 16 columns.
    var model = ManagedObjectModel(entities: [EntityDescription(name: "E")])
    for level in 0..<15 {
      var composite = CompositeDescription(name: "C\(level)")
      for number in 0..<40 {
        var part = AttributeDescription(name: "p\(number)", type: level == 14 ? .integer64 : .composite)
        if level < 14 { part.compositeName = "C\(level + 1)" }
        composite.elements.append(part)
      }
      model.composites.append(composite)
    }
    var attribute = AttributeDescription(name: "a", type: .composite)
    attribute.compositeName = "C0"
    model.entities[0].properties = [.attribute(attribute)]
    XCTAssertTrue(model.validationIssues().contains { $0.reason.contains("is the most") })
    XCTAssertEqual(model.versionHashesByEntityName.count, 1)
  }

  func testTheVersionHashCoversTheParts() {
    let hash = model().versionHashesByEntityName["Person"]
    XCTAssertEqual(model().versionHashesByEntityName["Person"], hash)
    XCTAssertNotEqual(model(Attribute("city", .string)).versionHashesByEntityName["Person"], hash)
    XCTAssertNotEqual(model(Attribute("town", .string).required()).versionHashesByEntityName["Person"], hash)
    var renamed = model()
    renamed.composites[1].name = "Location"
    renamed.entities[0].properties = renamed.entities[0].properties.map { property in
      guard case .attribute(var attribute) = property, attribute.compositeName == "Address" else { return property }
      attribute.compositeName = "Location"
      return .attribute(attribute)
    }
    XCTAssertEqual(renamed.versionHashesByEntityName["Person"], hash, "the name of a composite changes no row")
  }

  func testModelFilesKeepComposites() throws {
    var model = model()
    model.composites[0].userInfo = ["datum": "WGS 84"]
    let read = try ManagedObjectModel(xmlData: model.xmlData())
    XCTAssertEqual(read.composites.map(\.name), ["Geo", "Address"])
    XCTAssertEqual(read.composites[0].userInfo, ["datum": "WGS 84"])
    XCTAssertEqual(read.versionHashesByEntityName, model.versionHashesByEntityName)
    XCTAssertEqual(try read.xmlData(), try model.xmlData())
    XCTAssertNoThrow(try CompiledModel(read))
  }

  func testMergingKeepsComposites() throws {
    var other = model(Attribute("city", .integer16))
    other.entities.removeLast()
    other.entities[0].name = "Firm"
    let hashes = model().versionHashesByEntityName.merging(other.versionHashesByEntityName) { first, _ in first }
    let merged = try XCTUnwrap(ManagedObjectModel(merging: [model(), other], forStoreMetadata: hashes))
    XCTAssertEqual(merged.versionHashesByEntityName, hashes, "two different composites with one name are distinguished")
    XCTAssertThrowsError(try ManagedObjectModel(merging: [model(), other])) {
      XCTAssertEqual($0 as? ModelMergeError, .differentComposites(["Address"]))
    }
    XCTAssertEqual(try ManagedObjectModel(merging: [model(), model()]).composites, model().composites)
    var configured = model()
    configured.configurations = [ModelConfiguration(name: "C", entityNames: ["Person"])]
    let part = try XCTUnwrap(configured.restricted(toConfiguration: "C"))
    XCTAssertEqual(part.entities[0].indexes.count, 1)
    XCTAssertNoThrow(try CompiledModel(part))
  }
}
