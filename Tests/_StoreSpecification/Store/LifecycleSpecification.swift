import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _TestSupport

/// Opening, closing, metadata and configurations.
public final class LifecycleSpecification: StoreSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testANewStoreIsEmptyAndHasAUUID", { $0.testANewStoreIsEmptyAndHasAUUID }),
        ("testStoreMetadataHasTheModelHashes", { $0.testStoreMetadataHasTheModelHashes }),
        ("testRowIsFoundAfterReopening", { $0.testRowIsFoundAfterReopening }),
        ("testIncompatibleModelErrorNamesTheDifferingEntities", { $0.testIncompatibleModelErrorNamesTheDifferingEntities }),
        ("testFailedOpeningLeavesTheStoreUnchanged", { $0.testFailedOpeningLeavesTheStoreUnchanged }),
        ("testRequestsToAClosedStoreThrow", { $0.testRequestsToAClosedStoreThrow }),
        ("testApplicationMetadataIsPreserved", { $0.testApplicationMetadataIsPreserved }),
        ("testReadOnlyStoreCanBeReadButNotWritten", { $0.testReadOnlyStoreCanBeReadButNotWritten }),
        ("testMissingStoreIsNotCreatedUnlessAllowed", { $0.testMissingStoreIsNotCreatedUnlessAllowed }),
        ("testConfigurationContainsOnlyItsEntities", { $0.testConfigurationContainsOnlyItsEntities }),
        ("testStoresOfOneCoordinatorHaveSeparateRows", { $0.testStoresOfOneCoordinatorHaveSeparateRows }),
        ("testStoreCannotBeAddedTwiceToACoordinator", { $0.testStoreCannotBeAddedTwiceToACoordinator }),
      ] as [(String, (LifecycleSpecification) -> () throws -> Void)])
  }

  func testANewStoreIsEmptyAndHasAUUID() throws {
    let open = try makeStore()
    XCTAssertNotNil(UUID(uuidString: open.persistentStore.identifier))
    XCTAssertEqual(open.persistentStore.metadata.storeType, open.persistentStore.type.rawValue)
    for entity in open.model.entities { XCTAssertEqual(try open.count(entity.name), 0, entity.name) }
    XCTAssertNotEqual(try makeStore().persistentStore.identifier, open.persistentStore.identifier)
  }

  func testStoreMetadataHasTheModelHashes() throws {
    let open = try makeStore()
    XCTAssertEqual(open.persistentStore.metadata.modelHashes, open.model.versionHashes)
  }

  func testRowIsFoundAfterReopening() throws {
    guard storeUnderTest.keepsRows else { return }
    let folder = try makeFolder()
    var open = try openStore(in: folder)
    let identifier = open.persistentStore.identifier
    let author = try open.insert("Author", ["name": .text("Ada")])
    let book = try open.insert("Book", ["title": .text("Notes"), "author": author.slot])
    let tag = try open.insert("Tag", ["name": .text("red")])
    try open.save { save in
      try save.change(book, "tags", add: [tag])
      try save.update(author, ["born": .int(1815)])
    }
    for _ in 0..<2 {
      try open.close()
      open = try openStore(in: folder)
      XCTAssertEqual(open.persistentStore.identifier, identifier)
      XCTAssertEqual(try open.value(author, "name"), .text("Ada"), "IDs hold over closing and opening.")
      XCTAssertEqual(try open.row(author)?.version, 2)
      XCTAssertEqual(try open.members(author, "books"), [book.reference])
      XCTAssertEqual(try open.members(tag, "books"), [book.reference])
    }
    assertStoreError(.constraintConflict) { try open.insert("Tag", ["name": .text("red")]) }
  }

  private func changedLibrary() -> CompiledModel {
    var entities = SpecificationModels.library.model.entities
    for index in entities.indices where entities[index].name == "Tag" {
      entities[index].properties.append(SpecificationModels.text("colour"))
    }
    return SpecificationModels.compile(entities)
  }

  func testIncompatibleModelErrorNamesTheDifferingEntities() throws {
    guard storeUnderTest.keepsRows else { return }
    let folder = try makeFolder()
    let open = try openStore(in: folder)
    try open.insert("Tag", ["name": .text("red")])
    try open.close()
    let changed = changedLibrary()
    var description = storeUnderTest.storeDescription(in: folder)
    description.shouldMigrateStoreAutomatically = false
    let error = assertStoreError(.migrationNeeded) { try OpenStore(description, model: changed) }
    XCTAssertEqual(error?.differingEntities, ["Tag"])
  }

  func testFailedOpeningLeavesTheStoreUnchanged() throws {
    guard storeUnderTest.keepsRows else { return }
    let folder = try makeFolder()
    var open = try openStore(in: folder)
    try open.insert("Tag", ["name": .text("red")])
    try open.close()
    let changed = changedLibrary()
    let coordinator = PersistentStoreCoordinator(compiledModel: changed)
    var description = storeUnderTest.storeDescription(in: folder)
    description.shouldMigrateStoreAutomatically = false
    let refused = description
    XCTAssertThrowsError(try waitFor { try await coordinator.addPersistentStore(with: refused) })
    XCTAssertTrue(coordinator.persistentStores.isEmpty)
    open = try openStore(in: folder)
    XCTAssertEqual(try open.texts("name", FetchSpecification(entityName: "Tag")), ["red"])
  }

  func testRequestsToAClosedStoreThrow() throws {
    let open = try makeStore()
    let author = try open.insert("Author", ["name": .text("Ada")])
    try open.close()
    XCTAssertTrue(open.coordinator.persistentStores.isEmpty)
    XCTAssertThrowsError(try open.row(author))
    XCTAssertThrowsError(try open.rows(FetchSpecification(entityName: "Author")))
    XCTAssertThrowsError(try open.members(author, "books"))
    XCTAssertThrowsError(try open.insert("Author", [:]))
  }

  func testApplicationMetadataIsPreserved() throws {
    let folder = try makeFolder()
    var open = try openStore(in: folder)
    try open.persistentStore.setUserMetadata(["owner": "Ada", "größe": "ß"])
    XCTAssertEqual(open.persistentStore.metadata.userMetadata, ["owner": "Ada", "größe": "ß"])
    guard storeUnderTest.keepsRows else { return }
    try open.close()
    open = try openStore(in: folder)
    XCTAssertEqual(open.persistentStore.metadata.userMetadata, ["owner": "Ada", "größe": "ß"])
    try open.persistentStore.setUserMetadata([:])
    try open.close()
    open = try openStore(in: folder)
    XCTAssertEqual(open.persistentStore.metadata.userMetadata, [:])
  }

  func testReadOnlyStoreCanBeReadButNotWritten() throws {
    guard storeUnderTest.keepsRows else { return }
    let folder = try makeFolder()
    let open = try openStore(in: folder)
    let tag = try open.insert("Tag", ["name": .text("red")])
    try open.close()
    var description = storeUnderTest.storeDescription(in: folder)
    description.isReadOnly = true
    let reading = try OpenStore(description, model: SpecificationModels.library)
    defer { XCTAssertNoThrow(try reading.close()) }
    XCTAssertEqual(try reading.value(tag, "name"), .text("red"))
    assertStoreError(.readOnly) { try reading.save { try $0.update(tag, ["name": .text("blue")]) } }
    XCTAssertEqual(try reading.value(tag, "name"), .text("red"))
  }

  func testMissingStoreIsNotCreatedUnlessAllowed() throws {
    guard storeUnderTest.keepsRows else { return }
    let folder = try makeFolder()
    var description = storeUnderTest.storeDescription(in: folder)
    description.createsStore = false
    let asked = description
    assertStoreError(.storeNotFound) { try OpenStore(asked, model: SpecificationModels.library) }
    XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder.path), [])
  }

  func testConfigurationContainsOnlyItsEntities() throws {
    var model = SpecificationModels.library.model
    model.configurations = [ModelConfiguration(name: "Books", entityNames: ["Author", "Book", "Chapter", "Tag", "Shelf"])]
    model.entities.append(SpecificationModels.entity("Setting", [SpecificationModels.text("name")]))
    var description = storeUnderTest.storeDescription(in: try makeFolder())
    description.configuration = "Books"
    let open = try OpenStore(description, model: CompiledModel(model))
    defer { XCTAssertNoThrow(try open.close()) }
    XCTAssertEqual(Set(open.persistentStore.metadata.modelHashes.keys), ["Author", "Book", "Chapter", "Tag", "Shelf"])
    try open.insert("Author", ["name": .text("Ada")])
    XCTAssertEqual(try open.count("Author"), 1)
    assertStoreError(.entityNotInStore) { try open.insert("Setting", ["name": .text("x")]) }
  }

  func testStoresOfOneCoordinatorHaveSeparateRows() throws {
    let first = try makeStore()
    let description = storeUnderTest.storeDescription(in: try makeFolder())
    let coordinator = first.coordinator
    let second = try waitFor { try await coordinator.addPersistentStore(with: description) }
    XCTAssertEqual(coordinator.persistentStores.count, 2)
    let author = try first.insert("Author", ["name": .text("Ada")])
    XCTAssertTrue(coordinator.persistentStore(of: author) === first.persistentStore)
    let scope = RequestScope(objectIDSpace: .register(storeIdentifier: second.identifier, model: first.model))
    var specification = FetchSpecification(entityName: "Author")
    specification.resultType = .count
    guard case .count(0) = try second.incrementalStore.execute(.fetch(specification), in: scope) else {
      return XCTFail("The row is in both stores.")
    }
    try coordinator.remove(second)
    XCTAssertEqual(try first.count("Author"), 1)
  }

  func testStoreCannotBeAddedTwiceToACoordinator() throws {
    guard storeUnderTest.keepsRows else { return }
    let folder = try makeFolder()
    let open = try openStore(in: folder)
    let description = storeUnderTest.storeDescription(in: folder)
    let coordinator = open.coordinator
    assertStoreError(.alreadyExists) { try waitFor { try await coordinator.addPersistentStore(with: description) } }
    XCTAssertEqual(try open.count("Author"), 0, "The store that was open still answers.")
  }
}
