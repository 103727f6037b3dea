import CipherData
import CipherDataEngine
import Foundation
import XCTest

/// Classes can express everything that a model file and the model builder can, with the same result.
final class EveryPropertyTests: XCTestCase {
  func testModelEqualsTheBuiltModel() throws {
    let (declared, built) = (Museum.declared(), Museum.built())
    XCTAssertEqual(declared.validationIssues(), [])
    XCTAssertEqual(Set(declared.entities.map(\.name)), Set(built.entities.map(\.name)))
    for entity in built.entities { try assertEqual(try XCTUnwrap(declared.entity(named: entity.name)), entity) }
    XCTAssertEqual(declared.composites, built.composites)
    XCTAssertEqual(declared.versionHashesByEntityName, built.versionHashesByEntityName)
    XCTAssertEqual(try CompiledModel(declared).checksum, try CompiledModel(built).checksum)
    var sorted = [declared, built]
    for index in sorted.indices { sorted[index].sortByName() }
    XCTAssertEqual(sorted[0], sorted[1])
  }

  func testModelEqualsTheModelOfTheFile() throws {
    let declared = Museum.declared()
    let file = try ManagedObjectModel(xmlData: try Museum.built().xmlData())
    // Files contain more than classes can express, and a model keeps that. So a file is compared with a file.
    let written = try ManagedObjectModel(xmlData: try declared.xmlData())
    for entity in file.entities { try assertEqual(try XCTUnwrap(written.entity(named: entity.name)), entity) }
    for composite in file.composites { XCTAssertEqual(written.composite(named: composite.name), composite) }
    XCTAssertEqual(declared.versionHashesByEntityName, file.versionHashesByEntityName)
    XCTAssertEqual(try CompiledModel(declared).checksum, try CompiledModel(file).checksum)
  }

  /// Ensures that the comparison above covers every property of the descriptions.
  func testModelCoversAllDescriptionProperties() throws {
    let model = Museum.declared()
    let attributes = model.entities.flatMap(\.attributes) + model.composites.flatMap(\.elements)
    // Properties that only files have: the index flag of editors before 2017, and Objective-C scalars.
    try assertAllSaid(attributes, AttributeDescription(name: "", type: .undefined), but: ["isIndexed", "usesScalarValueType"])
    try assertAllSaid(attributes.map(\.validation), AttributeValidation())
    try assertAllSaid(model.entities.flatMap(\.relationships), RelationshipDescription(name: "", destination: ""))
    try assertAllSaid(model.entities.flatMap(\.fetchedProperties), FetchedPropertyDescription(name: "", destination: ""))
    try assertAllSaid(model.entities, EntityDescription(name: ""), but: ["compoundIndexes", "codeGeneration"])
    try assertAllSaid(model.composites, CompositeDescription(name: ""))
    let indexes = model.entities.flatMap(\.indexes)
    try assertAllSaid(indexes, FetchIndexDescription(name: "", elements: []))
    try assertAllSaid(indexes.flatMap(\.elements), FetchIndexElement(property: "title"))
    XCTAssertEqual(Set(attributes.map(\.type)), Set(AttributeType.allCases))
    XCTAssertEqual(Set(model.entities.flatMap(\.relationships).map(\.deleteRule)), Set(DeleteRule.allCases))
  }

  /// Every stored property differs from the default description's in at least one of several descriptions.
  private func assertAllSaid<Description>(
    _ descriptions: [Description], _ plain: Description, but exceptions: Set<String> = [], line: UInt = #line
  ) throws {
    let labels = Mirror(reflecting: plain).children.compactMap(\.label)
    XCTAssertTrue(exceptions.isSubset(of: labels), "unknown exceptions: \(exceptions.subtracting(labels))", line: line)
    for label in labels where label != "preserved" && !exceptions.contains(label) {
      let standard = try XCTUnwrap(value(of: label, in: plain))
      XCTAssertTrue(
        try descriptions.contains { try XCTUnwrap(value(of: label, in: $0)) != standard },
        "no class uses '\(label)': macros need an argument for it, and Museum.swift a use of that", line: line)
    }
  }

  private func value(of label: String, in description: Any) -> String? {
    Mirror(reflecting: description).children.first { $0.label == label }.map { String(reflecting: $0.value) }
  }

  /// Asserts that two entities are equal, and names the properties that differ.
  private func assertEqual(_ entity: EntityDescription, _ other: EntityDescription, line: UInt = #line) throws {
    XCTAssertEqual(entity.properties.map(\.name), other.properties.map(\.name), entity.name, line: line)
    for (property, expected) in zip(entity.properties, other.properties) where property != expected {
      XCTFail("\(entity.name): \(property) is not \(expected)", line: line)
    }
    XCTAssertEqual(entity.indexes, other.indexes, entity.name, line: line)
    XCTAssertEqual(entity.uniquenessConstraints, other.uniquenessConstraints, entity.name, line: line)
    XCTAssertEqual(entity, other, entity.name, line: line)
  }
}
