import CoreData
import Foundation
import XCTest

/// Splits the name of a person, and makes an address for each.
class PersonPolicy: NSEntityMigrationPolicy {
  override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
    let made = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance])
    let parts = (sInstance.value(forKey: "name") as? String ?? "").split(separator: " ").map(String.init)
    made.first?.setValue(parts.first, forKey: "first")
    made.first?.setValue(parts.last, forKey: "last")
    manager.userInfo?["persons"] = (manager.userInfo?["persons"] as? Int ?? 0) + 1
  }

  override func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
    request.predicate = NSPredicate(format: "last == %@", "Nobody")
    if try manager.destinationContext.count(for: request) > 0 { throw CocoaError(.validationMissingMandatoryProperty) }
  }

  override func value(ofFunction name: String, arguments: [Any?], manager: NSMigrationManager) throws -> Any? {
    guard name == "doubled:", let number = arguments.first as? Int64 else {
      return try super.value(ofFunction: name, arguments: arguments, manager: manager)
    }
    return number * 2
  }
}

/// Creates the objects of a mapping itself.
class LetterPolicy: NSEntityMigrationPolicy {
  override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    for copy in 1...2 {
      let letter = NSEntityDescription.insertNewObject(
        forEntityName: manager.destinationEntity(for: mapping)?.name ?? "", into: manager.destinationContext)
      letter.setValue("\(sInstance.value(forKey: "text") ?? "") \(copy)", forKey: "text")
      manager.associate(sourceInstance: sInstance, withDestinationInstance: letter, for: mapping)
    }
  }

  override func createRelationships(
    forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    let source = manager.sourceInstances(forEntityMappingName: mapping.name, destinationInstances: [dInstance]).first
    let writer = source?.value(forKey: "writer") as? NSManagedObject
    dInstance.setValue(
      manager.destinationInstances(forEntityMappingName: "Persons", sourceInstances: [writer].compactMap { $0 }).first, forKey: "writer")
  }
}

/// Migrations with mapping models made in code, and policies of the application.
final class MappingModelTests: XCTestCase {
  private var folder = URL(fileURLWithPath: "/dev/null")
  private var old: URL { folder.appendingPathComponent("old.store") }
  private var new: URL { folder.appendingPathComponent("new.store") }

  override func setUpWithError() throws {
    NSPersistentContainer.defaultEncryptionKey = .raw(SecretBytes(Array(repeating: 6, count: 32)))
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("mapping-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  override func tearDown() {
    NSPersistentContainer.defaultEncryptionKey = nil
    try? FileManager.default.removeItem(at: folder)
  }

  // MARK: Models

  private static func attribute(_ name: String, _ type: NSAttributeType = .stringAttributeType) -> NSAttributeDescription {
    let attribute = NSAttributeDescription()
    (attribute.name, attribute.attributeType) = (name, type)
    return attribute
  }

  /// Persons with attributes, and the letters that they have written.
  private static func model(_ attributes: NSAttributeDescription...) -> NSManagedObjectModel {
    let (person, letter) = (NSEntityDescription(), NSEntityDescription())
    (person.name, letter.name) = ("Person", "Letter")
    let (letters, writer) = (NSRelationshipDescription(), NSRelationshipDescription())
    (letters.name, letters.destinationEntity, letters.inverseRelationship) = ("letters", letter, writer)
    (writer.name, writer.destinationEntity, writer.inverseRelationship, writer.maxCount) = ("writer", person, letters, 1)
    person.properties = attributes + [letters]
    letter.properties = [attribute("text"), writer]
    let model = NSManagedObjectModel()
    model.entities = [person, letter]
    return model
  }

  private let older = model(attribute("name"), attribute("age", .integer64AttributeType))
  private let newer = model(attribute("first"), attribute("last"), attribute("age", .integer64AttributeType))

  private func open(_ model: NSManagedObjectModel, _ url: URL) throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let options = [NSMigratePersistentStoresAutomaticallyOption: false]
    try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: options)
    let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  /// Makes an older store with Ada Lovelace, who is 36 and has written one letter, and others.
  private func fill(_ others: String...) throws {
    let context = try open(older, old)
    for name in ["Ada Lovelace"] + others {
      let person = NSEntityDescription.insertNewObject(forEntityName: "Person", into: context)
      person.setValue(name, forKey: "name")
      person.setValue(36, forKey: "age")
      let letter = NSEntityDescription.insertNewObject(forEntityName: "Letter", into: context)
      letter.setValue("by \(name)", forKey: "text")
      letter.setValue(person, forKey: "writer")
    }
    try context.save()
    for store in context.persistentStoreCoordinator?.persistentStores ?? [] { try context.persistentStoreCoordinator?.remove(store) }
  }

  private func mapping(_ name: String, _ entity: String, _ type: NSEntityMappingType, policy: AnyClass? = nil) -> NSEntityMapping {
    let mapping = NSEntityMapping()
    (mapping.name, mapping.mappingType) = (name, type)
    (mapping.sourceEntityName, mapping.destinationEntityName) = (entity, entity)
    mapping.entityMigrationPolicyClassName = policy.map { NSStringFromClass($0) }
    return mapping
  }

  private func property(_ name: String, _ expression: NSExpression) -> NSPropertyMapping {
    let property = NSPropertyMapping()
    (property.name, property.valueExpression) = (name, expression)
    return property
  }

  private func migrate(_ mappings: NSEntityMapping..., by manager: NSMigrationManager? = nil) throws {
    let model = NSMappingModel()
    model.entityMappings = mappings
    try (manager ?? NSMigrationManager(sourceModel: older, destinationModel: newer)).migrateStore(
      from: old, sourceType: NSSQLiteStoreType, options: nil, with: model, toDestinationURL: new, destinationType: NSSQLiteStoreType,
      destinationOptions: nil)
  }

  private func values(_ entity: String, _ key: String) throws -> [String] {
    let request = NSFetchRequest<NSManagedObject>(entityName: entity)
    let context = try open(newer, new)
    let objects = try context.fetch(request)
    // Objects without their context have no values.
    return withExtendedLifetime(context) { objects.map { "\($0.value(forKeyPath: key) ?? "none")" }.sorted() }
  }

  // MARK: Tests

  func testMappingExpressionsComputeDestinationValues() throws {
    try fill("Charles Babbage")
    let persons = mapping("Persons", "Person", .transformEntityMappingType)
    persons.attributeMappings = [
      property("last", NSExpression(format: "uppercase($source.name)")),
      property("age", NSExpression(format: "$source.age + 1")), property("first", NSExpression(forConstantValue: "?")),
    ]
    let letters = mapping("Letters", "Letter", .copyEntityMappingType)
    letters.relationshipMappings = [
      property(
        "writer",
        NSExpression(
          forFunction: NSExpression(forVariable: NSMigrationManagerKey),
          selectorName: "destinationInstancesForEntityMappingNamed:sourceInstances:",
          arguments: [NSExpression(forConstantValue: "Persons"), NSExpression(format: "$source.writer")]))
    ]
    try migrate(persons, letters)
    XCTAssertEqual(try values("Person", "last"), ["ADA LOVELACE", "CHARLES BABBAGE"])
    XCTAssertEqual(try values("Person", "age"), ["37", "37"])
    XCTAssertEqual(try values("Letter", "writer.last"), ["ADA LOVELACE", "CHARLES BABBAGE"])
    XCTAssertEqual(try values("Letter", "text"), ["by Ada Lovelace", "by Charles Babbage"])
  }

  func testCustomPoliciesCreateDestinationObjects() throws {
    try fill("Charles Babbage")
    let persons = mapping("Persons", "Person", .transformEntityMappingType, policy: PersonPolicy.self)
    persons.attributeMappings = [property("age", NSExpression(format: "FUNCTION($entityPolicy, 'doubled:', $source.age)"))]
    let letters = mapping("Letters", "Letter", .customEntityMappingType, policy: LetterPolicy.self)
    let manager = NSMigrationManager(sourceModel: older, destinationModel: newer)
    manager.userInfo = ["persons": 0]
    try migrate(persons, letters, by: manager)
    XCTAssertEqual(manager.userInfo?["persons"] as? Int, 2)
    XCTAssertEqual(manager.migrationProgress, 1)
    XCTAssertEqual(try values("Person", "first"), ["Ada", "Charles"])
    XCTAssertEqual(try values("Person", "last"), ["Babbage", "Lovelace"])
    XCTAssertEqual(try values("Person", "age"), ["72", "72"])
    XCTAssertEqual(
      try values("Letter", "text"), ["by Ada Lovelace 1", "by Ada Lovelace 2", "by Charles Babbage 1", "by Charles Babbage 2"])
    XCTAssertEqual(try values("Letter", "writer.first"), ["Ada", "Ada", "Charles", "Charles"])
  }

  func testFailingMigrationPoliciesLeaveTheStoreUnchanged() throws {
    try fill("Mr Nobody")
    XCTAssertThrowsError(try migrate(mapping("Persons", "Person", .transformEntityMappingType, policy: PersonPolicy.self))) { error in
      XCTAssertEqual((error as NSError).code, NSMigrationError)
      XCTAssertTrue("\(error)".contains("mapping model"), "\(error)")
    }
    XCTAssertFalse(FileManager.default.fileExists(atPath: new.path))
    XCTAssertEqual(try open(older, old).count(for: NSFetchRequest<NSManagedObject>(entityName: "Person")), 2)
  }

  func testSourceExpressionsSelectObjects() throws {
    try fill("Charles Babbage")
    let persons = mapping("Persons", "Person", .copyEntityMappingType)
    persons.sourceExpression = NSExpression(
      format: "FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Person', 'name BEGINSWITH \"Ch\"')")
    persons.attributeMappings = [property("last", NSExpression(format: "$source.name"))]
    try migrate(persons)
    XCTAssertEqual(try values("Person", "last"), ["Charles Babbage"])
    XCTAssertEqual(try values("Letter", "text"), [])
    persons.sourceExpression = NSExpression(forConstantValue: 3)
    XCTAssertThrowsError(try migrate(persons)) { XCTAssertTrue($0.localizedDescription.contains("source expression"), "\($0)") }
  }

  func testMappingModelErrorsAreReportedBeforeMigration() throws {
    try fill()
    let persons = mapping("Persons", "Person", .copyEntityMappingType)
    persons.entityMigrationPolicyClassName = "NoPolicy"
    XCTAssertThrowsError(try migrate(persons)) { XCTAssertTrue($0.localizedDescription.contains("NoPolicy"), "\($0)") }
    persons.entityMigrationPolicyClassName = "LetterPolicy"
    persons.attributeMappings = [property("missing", NSExpression(format: "1"))]
    XCTAssertThrowsError(try migrate(persons)) { XCTAssertTrue("\($0)".contains("“missing”"), "\($0)") }
    let manager = NSMigrationManager(sourceModel: newer, destinationModel: newer)
    XCTAssertThrowsError(try migrate(persons, by: manager)) {
      XCTAssertTrue($0.localizedDescription.contains("source model"), "\($0)")
    }
    XCTAssertFalse(FileManager.default.fileExists(atPath: new.path))
  }

  func testMigrationsCanBeCanceled() throws {
    try fill("Charles Babbage")
    final class Impatient: NSMigrationManager {
      override func associate(
        sourceInstance: NSManagedObject, withDestinationInstance destinationInstance: NSManagedObject, for entityMapping: NSEntityMapping
      ) {
        super.associate(sourceInstance: sourceInstance, withDestinationInstance: destinationInstance, for: entityMapping)
        cancelMigrationWithError(CocoaError(.userCancelled))
      }
    }
    let manager = Impatient(sourceModel: older, destinationModel: newer)
    XCTAssertThrowsError(try migrate(mapping("Letters", "Letter", .customEntityMappingType, policy: LetterPolicy.self), by: manager))
    XCTAssertFalse(FileManager.default.fileExists(atPath: new.path))
  }

  func testAnInferredMappingModelIsChangedBeforeItIsUsed() throws {
    try fill()
    let destination = Self.model(Self.attribute("name"), Self.attribute("age", .integer64AttributeType), Self.attribute("city"))
    let model = try NSMappingModel.inferredMappingModel(forSourceModel: older, destinationModel: destination)
    let persons = try XCTUnwrap(model.entityMappings.first { $0.destinationEntityName == "Person" })
    XCTAssertEqual(persons.mappingType, .transformEntityMappingType)
    let name = try XCTUnwrap(persons.attributeMappings?.first { $0.name == "name" })
    XCTAssertEqual(name.valueExpression?.description, "$source.name")
    persons.attributeMappings?.append(property("city", NSExpression(format: "lowercase($source.name)")))
    try NSMigrationManager(sourceModel: older, destinationModel: destination).migrateStore(
      from: old, type: .sqlite, mapping: model, to: new, type: .sqlite)
    let context = try open(destination, new)
    let person = try XCTUnwrap(context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Person")).first)
    withExtendedLifetime(context) {
      XCTAssertEqual(person.value(forKey: "city") as? String, "ada lovelace")
      XCTAssertEqual(person.value(forKey: "name") as? String, "Ada Lovelace")
      XCTAssertEqual((person.value(forKey: "letters") as? NSSet)?.count, 1)
    }
  }
}
