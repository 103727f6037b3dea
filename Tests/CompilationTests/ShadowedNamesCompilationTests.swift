import Foundation
import ModelCodeGeneration
import ObjectModel
import XCTest

/// Classes generated for entities with the names of types of Swift, Foundation and the library compile.
final class ShadowedNamesCompilationTests: XCTestCase {
  private func source(_ model: ManagedObjectModel, name: String = "Shadows", access: CodeGenerationOptions.Access = .public) throws
    -> String
  {
    try ModelCodeGenerator(model: model, name: name, options: CodeGenerationOptions(access: access)).source()
  }

  private func check(_ sources: String..., line: UInt = #line) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("shadows-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let files = sources.indices.map { folder.appendingPathComponent("File\($0).swift") }
    for (file, source) in zip(files, sources) { try source.write(to: file, atomically: true, encoding: .utf8) }
    let (status, diagnostics) = try Compiler().check(files, flags: ["-parse-as-library"])
    XCTAssertTrue(status == 0 && diagnostics.isEmpty, diagnostics.prefix(5).joined(separator: "\n"), line: line)
  }

  /// A model that uses every feature of generated source, whose entities and composites have the given names.
  private func model(entities: [String], composites: [String]) -> ManagedObjectModel {
    func attribute(_ name: String, _ type: AttributeType, _ change: (inout AttributeDescription) -> Void = { _ in }) -> PropertyDescription
    {
      var attribute = AttributeDescription(name: name, type: type, isOptional: true)
      change(&attribute)
      return .attribute(attribute)
    }
    var model = ManagedObjectModel()
    for (number, name) in composites.enumerated() {
      var composite = CompositeDescription(name: name)
      composite.elements = [
        AttributeDescription(name: "text", type: .string), AttributeDescription(name: name, type: .decimal, isOptional: true),
      ]
      if number > 0 {
        var inner = AttributeDescription(name: "inner", type: .composite, isOptional: true)
        inner.compositeName = composites[number - 1]
        composite.elements.append(inner)
      }
      model.composites.append(composite)
    }
    for (number, name) in entities.enumerated() {
      var entity = EntityDescription(name: name)
      entity.codeGeneration = .classDefinition
      let other = entities[(number + 1) % entities.count]
      for type in AttributeType.allCases where type != .composite && type != .undefined {
        entity.properties.append(attribute("a\(type)", type))
        entity.properties.append(attribute("r\(type)", type) { $0.isOptional = false })
      }
      entity.properties += [
        attribute("large", .binary) { $0.allowsExternalBinaryDataStorage = true },
        attribute("named", .transformable) { $0.valueClassName = "[Swift.String]" }, attribute(name == "Type" ? "own" : name, .string),
        attribute("isUsable", .boolean), attribute("hashValue", .integer64), attribute("Type", .string), attribute("Self", .string),
        attribute("validateForInsert", .string), attribute("objectWillChange", .string),
        .relationship(RelationshipDescription(name: "next", destination: other)),
        .relationship(RelationshipDescription(name: "many", destination: other, isToMany: true)),
        .relationship(RelationshipDescription(name: "list", destination: other, isToMany: true, isOrdered: true)),
        .fetchedProperty(FetchedPropertyDescription(name: "found", destination: other)),
      ]
      if !composites.isEmpty {
        entity.properties.append(
          attribute("box", .composite) { $0.compositeName = composites[number % composites.count] })
      }
      entity.indexes = [FetchIndexDescription(name: "i", elements: [.ascending("rstring")])]
      model.entities.append(entity)
    }
    model.configurations = [ModelConfiguration(name: "C", entityNames: Array(entities.prefix(1)))]
    model.fetchRequestTemplates = [FetchRequestTemplate(name: "T", entityName: entities[0])]
    return model
  }

  /// The types that generated source mentions: all capitalized names that are not the model's.
  private func mentionedTypes() throws -> [String] {
    let source = try source(model(entities: ["Own1", "Own2"], composites: ["Own3", "Own4"]))
    let code = source.split(separator: "\n").map { $0.replacing(#/"([^"\\]|\\.)*"/#, with: "").replacing(#/\/\/.*/#, with: "") }
    let words = code.flatMap { $0.split { !($0.isLetter || $0.isNumber || $0 == "_") } }.map(String.init)
    let parameters = ["FetchedClass", "Composite", "Reach", "Self", "Any"]
    return Set(words).filter { word in
      word.first?.isUppercase ?? false && !word.hasPrefix("Own") && !word.hasPrefix("Shadows") && !parameters.contains(word)
        && !["CipherData", "Foundation", "Swift", "Type"].contains(word) && !word.hasPrefix("FromNext") && !word.contains("Many")
        && !word.contains("List")
    }.sorted()
  }

  func testEntitiesNamedLikeTypesInGeneratedCodeCompile() throws {
    let names = try mentionedTypes()
    XCTAssertTrue(
      Set(["ManagedObject", "FetchObject", "Set", "Data", "EntityDescription", "PersistentContainer"]).isSubset(of: names), "\(names)")
    try check(try source(model(entities: names, composites: ["Address", "Place"])))
  }

  func testCompositesNamedLikeLibraryTypesCompile() throws {
    try check(try source(model(entities: ["Book"], composites: ["ManagedObject", "FetchObject", "Optional", "Sendable", "Error"])))
  }

  func testEntitiesNamedLikeOtherPublicTypesCompile() throws {
    let names = [
      "FetchRequest", "Entity", "Attribute", "Relationship", "Index", "Optional", "Error", "Result", "Task", "Character", "Notification",
      "Operation",
      "NSManagedObject", "ManagedObjectContext", "PersistentStore", "StoreKey", "Versions", "Snapshot", "Model", "Item", "Element",
      "Sequence",
      "Equatable", "Never", "Void", "Type", "Protocol",
    ]
    try check(try source(model(entities: names, composites: []), access: .internal))
  }

  func testAModelNamedLikeALibraryTypeCompiles() throws {
    let model = model(entities: ["Book"], composites: [])
    try check(try source(model, name: "ManagedObject"))
  }

  func testAnApplicationUsesItsOwnManagedObject() throws {
    var model = model(entities: ["ManagedObject", "Plain"], composites: [])
    model.entities[1].codeGeneration = .manual
    try check(
      try source(model, access: .internal),
      """
      import CipherData

      /// Sets a property of the class that the entity `ManagedObject` has.
      func rename(_ object: ManagedObject, near plain: CipherData.ManagedObject) {
        object.rstring = "x"
        object.isUsableValue = object.isUsable
        object.next = plain
      }
      """)
  }
}
