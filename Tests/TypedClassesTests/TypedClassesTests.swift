import CipherData
import CipherDataEngine
import Foundation
import XCTest

/// Use of the classes that the build-tool plugin generated.
final class TypedClassesTests: XCTestCase {
  private func context(
    _ model: ManagedObjectModel, _ classes: ManagedObjectClasses
  ) async throws -> (PersistentContainer, ManagedObjectContext) {
    let container = try PersistentContainer(
      name: "Test", managedObjectModel: model, classes: classes, persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    return (container, container.newBackgroundContext())
  }

  func testEmbeddedModelEqualsTheModelFile() throws {
    let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let files: [(String, ManagedObjectModel)] = [
      ("Schemas/DebianArchive.xcdatamodeld", DebianArchiveModel.managedObjectModel),
      ("Schemas/Messenger.xcdatamodeld", MessengerModel.managedObjectModel),
    ]
    for (path, embedded) in files {
      let model = try ManagedObjectModel(contentsOf: root.appendingPathComponent(path))
      XCTAssertEqual(embedded.versionHashesByEntityName, model.versionHashesByEntityName, path)
      XCTAssertEqual(try CompiledModel(embedded).checksum, try CompiledModel(model).checksum, path)
      // Equal except for attributes that only files have.
      XCTAssertNoThrow(try ManagedObjectModel(merging: [embedded, model]), path)
      XCTAssertEqual(embedded.versionIdentifiers, model.versionIdentifiers)
      XCTAssertEqual(embedded.configurations.map(\.entityNames), model.configurations.map(\.entityNames))
    }
  }

  func testTypedPropertiesReadAndWrite() async throws {
    let (_, context) = try await context(DebianArchiveModel.managedObjectModel, DebianArchiveModel.classes)
    let package = Package(context: context)
    XCTAssertEqual(package.name, "")
    XCTAssertFalse(package.essential)
    XCTAssertNil(package.installedSize)
    package.name = "swift"
    package.version = "6"
    package.architecture = "amd64"
    package.installedSize = 5
    package.homepage = URL(string: "https://swift.org")
    package.sha256 = Data([1, 2])
    let section = Section(context: context)
    section.name = "devel"
    package.section = section
    XCTAssertEqual(section.packages, [package])
    let dependency = Dependency(context: context)
    package.addToRelations(dependency)
    XCTAssertIdentical(dependency.package, package)
    let alternatives = ["a", "b", "c"].map { name in
      let alternative = Alternative(context: context)
      alternative.packageName = name
      return alternative
    }
    dependency.addToAlternatives(Array(alternatives.prefix(2)))
    dependency.insertIntoAlternatives(alternatives[2], at: 0)
    XCTAssertEqual(dependency.alternatives.map(\.packageName), ["c", "a", "b"])
    dependency.removeFromAlternatives(at: 1)
    XCTAssertEqual(dependency.alternatives.map(\.packageName), ["c", "b"])
    dependency.replaceAlternatives(at: 0, with: alternatives[0])
    XCTAssertEqual(dependency.alternatives.map(\.packageName), ["a", "b"])
    context.delete(alternatives[2])
    try context.save()
    context.reset()

    let found = try XCTUnwrap(context.fetch(Package.fetchRequest()).first)
    XCTAssertEqual(found.name, "swift")
    XCTAssertEqual(found.installedSize, 5)
    XCTAssertEqual(found.homepage, URL(string: "https://swift.org"))
    XCTAssertEqual(found.sha256, Data([1, 2]))
    XCTAssertEqual(found.section?.name, "devel")
    let relation = try XCTUnwrap(found.relations.first)
    XCTAssertTrue(relation is Dependency)
    XCTAssertEqual(relation.alternatives.map(\.packageName), ["a", "b"])
    XCTAssertEqual(found.id, found.objectID)
    found.relations = []
    XCTAssertNil(relation.package)
  }

  func testRequestsOfASubclassFetchItsEntity() async throws {
    let (_, context) = try await context(DebianArchiveModel.managedObjectModel, DebianArchiveModel.classes)
    for relation in [Dependency(context: context), Conflict(context: context)] as [PackageRelation] {
      let package = Package(context: context)
      package.name = "\(relation.objectID.key)"
      package.version = "1"
      package.architecture = "all"
      relation.package = package
    }
    try context.save()
    let relations = try context.fetch(PackageRelation.fetchRequest())
    let conflicts = try context.fetch(Conflict.fetchRequest())
    XCTAssertEqual(relations.count, 2)
    XCTAssertEqual(conflicts.count, 1)
    XCTAssertEqual(Conflict.entityName, "Conflict")
  }

  func testPropertiesOfADeletedObjectReadAsEmpty() async throws {
    let (_, context) = try await context(DebianArchiveModel.managedObjectModel, DebianArchiveModel.classes)
    let section = Section(context: context)
    section.name = "gone"
    try context.save()
    context.delete(section)
    try context.save()
    _ = section.name
    XCTAssertEqual(section.packages, [])
    let package = Package(context: context)
    context.reset()
    _ = (package.name, package.section, package.relations, package.installedSize)
  }

  func testClassesOfAnotherModelAreRejected() throws {
    var model = DebianArchiveModel.managedObjectModel
    let position = try XCTUnwrap(model.entities.firstIndex { $0.name == "Package" })
    model.entities[position].properties.swapAt(0, 1)
    XCTAssertThrowsError(try PersistentContainer(name: "Test", managedObjectModel: model, classes: DebianArchiveModel.classes)) { error in
      XCTAssertEqual((error as? ModelValidationError)?.issues.map(\.entityName), ["Package"])
    }
    XCTAssertNoThrow(try DebianArchiveModel.makeContainer())
  }

  func testContainersAcceptAMergePolicy() throws {
    XCTAssertEqual(try DebianArchiveModel.makeContainer().mergePolicy.mergeType, .error)
    let container = try DebianArchiveModel.makeContainer(mergePolicy: .mergeByPropertyObjectTrump)
    XCTAssertEqual(container.mergePolicy.mergeType, .mergeByPropertyObjectTrump)
    XCTAssertEqual(container.newBackgroundContext().mergePolicy.mergeType, .mergeByPropertyObjectTrump)
  }
}
