import Foundation
import XCTest

@testable import ObjectModel

/// The changes that affect a version hash, and those that do not.
final class ModelVersionHashTests: XCTestCase {
  private func entity(_ change: (inout EntityDescription) -> Void = { _ in }) -> EntityDescription {
    var entity = EntityDescription(name: "Book", superentity: nil, managedObjectClassName: "Book")
    entity.properties = [
      .attribute(AttributeDescription(name: "title", type: .string)),
      .relationship(RelationshipDescription(name: "authors", destination: "Author", inverse: "books", isToMany: true)),
    ]
    entity.uniquenessConstraints = [["title"]]
    change(&entity)
    return entity
  }

  private func hash(_ change: (inout EntityDescription) -> Void = { _ in }) -> Data {
    ModelVersionHash.hash(of: entity(change), in: ManagedObjectModel())
  }

  private func attribute(_ change: (inout AttributeDescription) -> Void) -> Data {
    hash {
      guard case .attribute(var attribute) = $0.properties[0] else { return }
      change(&attribute)
      $0.properties[0] = .attribute(attribute)
    }
  }

  private func relationship(_ change: (inout RelationshipDescription) -> Void) -> Data {
    hash {
      guard case .relationship(var relationship) = $0.properties[1] else { return }
      change(&relationship)
      $0.properties[1] = .relationship(relationship)
    }
  }

  func testTheHashOfAnEntityNeverChanges() {
    XCTAssertEqual(hex(hash()), "0dcc7d2de79b0bb99d2075412566fa62f4fe45f41b5ad0f7e4673c1026941387")
  }

  func testTheHashesOfTheSchemasNeverChange() throws {
    let hashes = try ManagedObjectModel(contentsOf: Fixtures.schema("DebianArchive")).versionHashesByEntityName
    XCTAssertEqual(hashes.count, 15)
    XCTAssertEqual(hashes["Package"].map(hex), "e0b5b774284bef1a915d89df5e9f625e294ceb551d426d65f4d496745b390616")
    XCTAssertEqual(
      try CompiledModel(try ManagedObjectModel(contentsOf: Fixtures.schema("DebianArchive"))).checksum, "2898a550b0fcb0c15b411e07362886ad")
  }

  func testSettingsThatAffectRowsChangeTheHash() {
    let hashes: [Data] = [
      hash(), hash { $0.name = "Tome" }, hash { $0.superentityName = "Item" }, hash { $0.isAbstract = true },
      hash { $0.versionHashModifier = "1" }, hash { $0.uniquenessConstraints = [] }, hash { $0.uniquenessConstraints.append(["authors"]) },
      hash { $0.properties.removeLast() }, attribute { $0.name = "name" }, attribute { $0.type = .uri }, attribute { $0.isOptional = true },
      attribute { $0.isTransient = true }, attribute { $0.versionHashModifier = "1" },
      relationship { $0.name = "writers" }, relationship { $0.destinationEntityName = "Person" }, relationship { $0.inverseName = nil },
      relationship { $0.isToMany = false }, relationship { $0.isOrdered = true }, relationship { $0.minCount = 1 },
      relationship { $0.maxCount = 9 }, relationship { $0.deleteRule = .deny }, relationship { $0.isOptional = false },
      relationship { $0.isTransient = true }, relationship { $0.versionHashModifier = "1" },
    ]
    XCTAssertEqual(Set(hashes).count, hashes.count)
    XCTAssertTrue(hashes.allSatisfy { $0.count == 32 })
  }

  func testSettingsThatDoNotAffectRowsKeepTheHash() {
    let hashes: [Data] = [
      hash(), hash { $0.properties.reverse() }, hash { $0.managedObjectClassName = "Other" }, hash { $0.userInfo = ["a": "b"] },
      hash { $0.indexes = [FetchIndexDescription(name: "i", elements: [FetchIndexElement(property: "title")])] },
      hash { $0.indexes = [FetchIndexDescription(name: "i", elements: [.ascending("title", collation: .caseInsensitive)])] },
      hash { $0.renamingIdentifier = "Volume" }, hash { $0.codeGeneration = .category },
      hash { $0.properties.append(.fetchedProperty(FetchedPropertyDescription(name: "f", destination: "Book"))) },
      attribute { $0.defaultValue = .text("x") }, attribute { $0.validation.maximumLength = 5 },
      attribute { $0.derivationExpression = "now()" }, attribute { $0.allowsExternalBinaryDataStorage = true },
      attribute { $0.renamingIdentifier = "name" },
      relationship { $0.renamingIdentifier = "writers" }, relationship { $0.userInfo = ["a": "b"] },
    ]
    XCTAssertEqual(Set(hashes).count, 1)
  }

  func testHashInputIsUnambiguous() {
    let constraints: [[[String]]] = [[["a"], ["b"]], [["a", "b"]], [["ab"]], [["a"], ["b"], []]]
    XCTAssertEqual(Set(constraints.map { names in hash { $0.uniquenessConstraints = names } }).count, constraints.count)
    XCTAssertEqual(hash { $0.uniquenessConstraints = [["a", "b"], ["c"]] }, hash { $0.uniquenessConstraints = [["c"], ["b", "a"]] })
  }

  func testChecksumDependsOnTheNumbering() throws {
    func checksum(_ names: String...) throws -> String {
      try CompiledModel(ManagedObjectModel { Entity("E") { for name in names { Attribute(name, .string) } } }).checksum
    }
    XCTAssertEqual(try checksum("a", "b"), try checksum("a", "b"))
    XCTAssertNotEqual(try checksum("a", "b"), try checksum("b", "a"))
    XCTAssertEqual(try checksum("a").count, 32)
  }

  func testStoresMatchAModelOrOneOfItsConfigurations() {
    let model = ManagedObjectModel {
      Entity("A")
      Entity("B")
      Configuration("OnlyA", entities: "A")
    }
    let all = model.versionHashesByEntityName
    XCTAssertTrue(model.isConfiguration(withName: nil, compatibleWithStoreMetadata: all))
    XCTAssertFalse(model.isConfiguration(withName: "OnlyA", compatibleWithStoreMetadata: all))
    XCTAssertTrue(model.isConfiguration(withName: "OnlyA", compatibleWithStoreMetadata: all.filter { $0.key == "A" }))
    XCTAssertFalse(model.isConfiguration(withName: "Gone", compatibleWithStoreMetadata: all))
    XCTAssertFalse(model.isConfiguration(withName: nil, compatibleWithStoreMetadata: [:]))
  }

  func testDifferencesNameTheEntities() {
    let old = ManagedObjectModel {
      Entity("Gone")
      Entity("Same")
      Entity("Changed")
    }
    let new = ManagedObjectModel {
      Entity("Same")
      Entity("Changed") { Attribute("a", .string) }
      Entity("New")
    }
    let difference = VersionHashDifference(stored: old.versionHashesByEntityName, model: new.versionHashesByEntityName)
    XCTAssertEqual(difference.added, ["New"])
    XCTAssertEqual(difference.removed, ["Gone"])
    XCTAssertEqual(difference.changed, ["Changed"])
    XCTAssertEqual(difference.description, "added New; removed Gone; changed Changed")
    XCTAssertTrue(VersionHashDifference(stored: [:], model: [:]).isEmpty)
  }

  private func hex(_ data: Data) -> String { data.map { String(format: "%02x", $0) }.joined() }
}
