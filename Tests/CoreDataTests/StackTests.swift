import CoreData
import Foundation
import StoreKeys
import XCTest

/// The stack of an application for Core Data opens an encrypted store.
final class StackTests: XCTestCase {
  func testModelIsFoundByTheContainerName() throws {
    try LibraryStack.with { stack in
      XCTAssertEqual(
        Set(stack.container.managedObjectModel.entitiesByName.keys), ["Author", "Book", "Comic", "Loan", "LongLoan", "Note", "Reader"])
      XCTAssertEqual(stack.container.persistentStoreCoordinator.persistentStores.map(\.url), [stack.file])
      let comic = stack.container.managedObjectModel.entitiesByName["Comic"]
      XCTAssertEqual(comic?.attributesByName["title"]?.entity.name, "Book")
      XCTAssertEqual(comic?.superentity?.name, "Book")
      XCTAssertEqual(stack.context.concurrencyType, .mainQueueConcurrencyType)
    }
  }

  func testModelsOfTheProgramAreMerged() throws {
    let merged = try XCTUnwrap(NSManagedObjectModel.mergedModel(from: nil))
    XCTAssertEqual(merged.entitiesByName["Book"]?.attributesByName["title"]?.attributeType, .stringAttributeType)
    let both = try XCTUnwrap(NSManagedObjectModel(byMerging: [merged, .boxes("name")]))
    XCTAssertEqual(Set(both.entitiesByName.keys), Set(merged.entitiesByName.keys).union(["Box"]))
    // Models with two entities of the same name cannot be merged.
    XCTAssertNil(NSManagedObjectModel(byMerging: [.boxes("name"), .boxes("size")]))
  }

  func testTheStoreIsEncrypted() throws {
    try LibraryStack.with { stack in
      stack.book("A title that would stand in the file")
      try stack.context.save()
      for name in try FileManager.default.contentsOfDirectory(atPath: stack.folder.path) {
        let bytes = try Data(contentsOf: stack.folder.appendingPathComponent(name))
        XCTAssertNil(bytes.range(of: Data("A title that would stand".utf8)), name)
        XCTAssertNil(bytes.range(of: Data("SQLite format 3".utf8)), name)
      }
    }
  }

  func testStoresAreNotCreatedWithoutAKey() throws {
    let stack = try LibraryStack(key: nil)
    defer { try? FileManager.default.removeItem(at: stack.folder) }
    let error = try XCTUnwrap(stack.loadError)
    XCTAssertEqual(error.domain, NSCocoaErrorDomain)
    XCTAssertTrue(error.localizedDescription.contains("there is no key for the store"), error.localizedDescription)
    XCTAssertFalse(FileManager.default.fileExists(atPath: stack.file.path))
  }

  func testAWrongKeyIsAnErrorOfOpening() throws {
    try LibraryStack.with { stack in
      stack.book("Emma")
      try stack.context.save()
      let store = try XCTUnwrap(stack.container.persistentStoreCoordinator.persistentStores.first)
      try stack.container.persistentStoreCoordinator.remove(store)
      let other = try LibraryStack(key: .raw(SecretBytes(Array(repeating: 8, count: 32))), folder: stack.folder)
      XCTAssertEqual(other.loadError?.code, NSPersistentStoreOpenError)
    }
  }

  func testDefaultKeyOpensStoresWithoutTheirOwnKey() throws {
    NSPersistentContainer.defaultEncryptionKey = .raw(SecretBytes(Array(repeating: 9, count: 32)))
    defer { NSPersistentContainer.defaultEncryptionKey = nil }
    let stack = try LibraryStack(key: nil)
    defer { try? FileManager.default.removeItem(at: stack.folder) }
    XCTAssertNil(stack.loadError)
    stack.book("Emma")
    try stack.context.save()
  }

  func testAMissingModelIsAnErrorOfLoading() {
    let container = NSPersistentContainer(name: "Nowhere")
    var reported: [NSError] = []
    container.loadPersistentStores { _, error in if let error { reported.append(error as NSError) } }
    XCTAssertEqual(reported.count, 1)
    XCTAssertTrue(reported[0].localizedDescription.contains("there is no model Nowhere.xcdatamodeld"), reported[0].localizedDescription)
  }

  func testAModelCreatedInCodeIsUsed() throws {
    let name = NSAttributeDescription()
    (name.name, name.attributeType, name.defaultValue) = ("name", .stringAttributeType, "none")
    let count = NSAttributeDescription()
    (count.name, count.attributeType, count.isOptional, count.defaultValue) = ("count", .integer64AttributeType, false, 3)
    let (box, thing) = (NSEntityDescription(), NSEntityDescription())
    (box.name, thing.name) = ("Box", "Thing")
    let (things, owner) = (NSRelationshipDescription(), NSRelationshipDescription())
    (things.name, things.destinationEntity, things.inverseRelationship, things.deleteRule) = ("things", thing, owner, .cascadeDeleteRule)
    (owner.name, owner.destinationEntity, owner.inverseRelationship, owner.maxCount) = ("owner", box, things, 1)
    box.properties = [name, count, things]
    thing.properties = [owner]
    let model = NSManagedObjectModel()
    model.entities = [box, thing]
    let container = NSPersistentContainer(name: "Boxes", managedObjectModel: model)
    let description = NSPersistentStoreDescription()
    description.type = NSInMemoryStoreType
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    XCTAssertNil(failure)
    let context = container.viewContext
    let new = NSEntityDescription.insertNewObject(forEntityName: "Box", into: context)
    let inside = NSEntityDescription.insertNewObject(forEntityName: "Thing", into: context)
    inside.setValue(new, forKey: "owner")
    XCTAssertEqual(new.value(forKey: "name") as? String, "none")
    XCTAssertEqual(new.value(forKey: "count") as? Int, 3)
    XCTAssertEqual((new.value(forKey: "things") as? NSSet)?.count, 1)
    XCTAssertEqual(new.entity.relationshipsByName["things"]?.inverseRelationship?.name, "owner")
    XCTAssertEqual(new.entity.relationshipsByName["things"]?.isToMany, true)
    try context.save()
    context.delete(new)
    try context.save()
    XCTAssertEqual(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Thing")), 0)
  }

  func testEveryAttributeTypeAndDeleteRuleIsKeptInModels() throws {
    let types: [NSAttributeType] = [
      .undefinedAttributeType, .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .decimalAttributeType,
      .doubleAttributeType, .floatAttributeType, .stringAttributeType, .booleanAttributeType, .dateAttributeType, .binaryDataAttributeType,
      .UUIDAttributeType, .URIAttributeType, .transformableAttributeType,
    ]
    let rules: [NSDeleteRule] = [.noActionDeleteRule, .nullifyDeleteRule, .cascadeDeleteRule, .denyDeleteRule]
    let entity = NSEntityDescription()
    entity.name = "Box"
    for (index, type) in types.enumerated() {
      let attribute = NSAttributeDescription()
      (attribute.name, attribute.attributeType, attribute.isTransient) = ("a\(index)", type, type == .undefinedAttributeType)
      entity.properties.append(attribute)
    }
    for (index, rule) in rules.enumerated() {
      let relationship = NSRelationshipDescription()
      (relationship.name, relationship.destinationEntity, relationship.deleteRule) = ("r\(index)", entity, rule)
      entity.properties.append(relationship)
    }
    let model = NSManagedObjectModel()
    model.entities = [entity]
    let copy = try XCTUnwrap((model.copy() as? NSManagedObjectModel)?.entitiesByName["Box"])
    XCTAssertEqual(types.indices.map { copy.attributesByName["a\($0)"]?.attributeType }, types)
    XCTAssertEqual(rules.indices.map { copy.relationshipsByName["r\($0)"]?.deleteRule }, rules)
  }

  func testDescriptionsAndModelsAreCopied() throws {
    try LibraryStack.with { stack in
      let description = try XCTUnwrap(stack.container.persistentStoreDescriptions.first)
      let copy = try XCTUnwrap(description.copy() as? NSPersistentStoreDescription)
      copy.url = stack.folder.appendingPathComponent("Second.sqlite")
      XCTAssertEqual(description.url, stack.file)
      let model = try XCTUnwrap(stack.container.managedObjectModel.copy() as? NSManagedObjectModel)
      let note = try XCTUnwrap(model.entitiesByName["Note"])
      let more = NSAttributeDescription()
      (more.name, more.type) = ("more", .string)
      note.properties.append(more)
      XCTAssertEqual(more.attributeType, .stringAttributeType)
      XCTAssertNotEqual(model.entityVersionHashesByName["Note"], stack.container.managedObjectModel.entityVersionHashesByName["Note"])
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      coordinator.addPersistentStore(with: copy) { _, error in XCTAssertNil(error) }
      XCTAssertEqual(coordinator.persistentStores.first?.storeType, .sqlite)
      try coordinator.remove(coordinator.persistentStores[0])
      try coordinator.destroyPersistentStore(at: try XCTUnwrap(copy.url), type: .sqlite)
      XCTAssertEqual(coordinator.performAndWait { coordinator.persistentStores.count }, 0)
    }
  }

  func testUnsupportedStoreDescriptionsAreErrors() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try LibraryStack().container.managedObjectModel)
    XCTAssertThrowsError(try coordinator.addPersistentStore(ofType: "XML", configurationName: nil, at: nil)) { error in
      XCTAssertTrue((error as NSError).localizedDescription.contains("no stores of the type XML"))
    }
    XCTAssertThrowsError(
      try coordinator.addPersistentStore(
        ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: ["NSSQLiteAnalyzeOption": NSNumber(value: 1)])
    ) { XCTAssertTrue(($0 as NSError).localizedDescription.contains("no option NSSQLiteAnalyzeOption")) }
    XCTAssertEqual(coordinator.persistentStores, [])
    XCTAssertThrowsError(
      try coordinator.addPersistentStore(
        ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: [NSSQLitePragmasOption: ["secure_delete": "ON"]])
    ) { XCTAssertTrue(($0 as NSError).localizedDescription.contains("the pragma secure_delete"), "\($0)") }
    try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: [NSSQLitePragmasOption: ["journal_mode": "WAL"]])
    XCTAssertEqual(coordinator.persistentStores.count, 1)
  }
}
