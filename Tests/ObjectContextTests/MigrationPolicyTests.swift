import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import Synchronization
import XCTest
import _TestSupport

/// Migration policies: the order of their steps, their capabilities, and their failures.
final class MigrationPolicyTests: XCTestCase {
  /// Records its steps in the manager.
  class RecordingPolicy: EntityMigrationPolicy {
    func note(_ step: String, _ manager: MigrationManager) {
      manager.userInfo["log", default: [String]()] = (manager.userInfo["log"] as? [String] ?? []) + [step]
    }
    override func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws { note("begin \(mapping.name)", manager) }
    override func createDestinationInstances(forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager) throws {
      note("create \(source["text"] as? String ?? source["name"] as? String ?? "-")", manager)
      XCTAssertEqual(manager.currentEntityMapping?.name, mapping.name)
      try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    }
    override func endInstanceCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {
      note("end instances \(mapping.name)", manager)
    }
    override func createRelationships(forDestination object: ManagedObject, in mapping: EntityMapping, manager: MigrationManager) throws {
      note("relate \(object["body"] as? String ?? object["name"] as? String ?? "-")", manager)
      try super.createRelationships(forDestination: object, in: mapping, manager: manager)
    }
    override func endRelationshipCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {
      note("end relationships \(mapping.name)", manager)
    }
    override func performCustomValidation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {
      note("validate \(mapping.name)", manager)
      XCTAssertEqual(try manager.destinationContext.objects("Note").count, 2)
    }
    override func end(_ mapping: EntityMapping, manager: MigrationManager) throws {
      note("end \(mapping.name)", manager)
      if mapping.name == "PersonToPerson" {
        MigrationPolicyTests.noted.withLock { $0 = manager.userInfo["log"] as? [String] ?? [] }
      }
    }
  }
  static let noted = Mutex<[String]>([])

  private func mapping(_ policy: EntityMigrationPolicy.Type) throws -> MappingModel {
    var mapping = try MappingModel.inferred(forSourceModel: AddressBook.version1, destinationModel: AddressBook.version2)
    for index in mapping.entityMappings.indices { mapping.entityMappings[index].entityMigrationPolicy = policy }
    return mapping
  }

  func testThreePassesProcessAllMappings() async throws {
    let store = try MigratingStore()
    try await store.fill(AddressBook.version1) { try AddressBook.fill($0, version: 1) }
    store.description.mappingModels = [try mapping(RecordingPolicy.self)]
    try await store.open(AddressBook.version2)
    var log = Self.noted.withLock { $0 }
    // The order of the two new objects is unspecified.
    for range in [1..<3, 5..<7, 8..<10, 11..<13] { log.replaceSubrange(range, with: log[range].sorted()) }
    XCTAssertEqual(
      log,
      [
        "begin NoteToNote", "create one", "create two", "end instances NoteToNote",
        "begin PersonToPerson", "create Ada Byron King", "create Bob", "end instances PersonToPerson",
        "relate one", "relate two", "end relationships NoteToNote",
        "relate Ada Byron King", "relate Bob", "end relationships PersonToPerson",
        "validate NoteToNote", "end NoteToNote", "validate PersonToPerson", "end PersonToPerson",
      ])
  }

  /// Makes an address for every second person, and one for all others together.
  final class SplittingPolicy: EntityMigrationPolicy {
    private var shared: ManagedObjectID?

    override func createDestinationInstances(forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager) throws {
      let number = try XCTUnwrap(source["number"] as? Int32)
      let person = try manager.insertDestinationInstance(for: source, in: mapping)
      try person.setValue(number, forKey: "number")
      if number % 2 == 0 {
        let address = try manager.destinationContext.make("Address", ["street": source["street"] as Any])
        try manager.associate(sourceInstance: source, withDestinationInstance: address, for: mapping)
      } else {
        let address: ManagedObject
        if let shared {
          address = manager.destinationContext.object(with: shared)
        } else {
          address = try manager.destinationContext.make("Address", ["street": "shared"])
        }
        try manager.associate(sourceInstance: source, withDestinationInstance: address, for: mapping)
        shared = address.objectID
      }
    }

    override func createRelationships(forDestination object: ManagedObject, in mapping: EntityMapping, manager: MigrationManager) throws {
      guard object.entity.name == "Person" else { return }
      let sources = try manager.sourceInstances(forEntityMappingName: mapping.name, destinationInstances: [object])
      let made = try manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: sources)
      try object.setValue(made.first { $0.entity.name == "Address" }, forKey: "address")
    }
  }

  static let people = ManagedObjectModel {
    Entity("Person") {
      Attribute("number", .integer32).required()
      Attribute("street", .string)
    }
  }
  static let peopleWithAddresses = ManagedObjectModel {
    Entity("Person") {
      Attribute("number", .integer32).required()
      Relationship("address", to: "Address", inverse: "people").required()
    }
    Entity("Address") {
      Attribute("street", .string).required()
      Relationship("people", toMany: "Person", inverse: "address")
    }
  }

  func testPolicyCanSplitAndMergeObjects() async throws {
    let count = 10_000
    let store = try MigratingStore()
    try await store.fill(Self.people) { context in
      for number in 0..<count { try context.make("Person", ["number": number, "street": "Street \(number)"]) }
    }
    store.description.mappingModels = [
      MappingModel(
        [EntityMapping(.custom, from: "Person", to: "Person", policy: SplittingPolicy.self)],
        from: ManagedObjectModelReference(Self.people), to: ManagedObjectModelReference(Self.peopleWithAddresses))
    ]
    let context = try await store.open(Self.peopleWithAddresses)
    XCTAssertEqual(try context.objects("Person").count, count)
    XCTAssertEqual(try context.objects("Address").count, count / 2 + 1)
    XCTAssertEqual(try context.objects("Person", where: "address.street == 'shared'").count, count / 2)
    let person = try context.objects("Person", where: "number == 4444")[0]
    XCTAssertEqual(try person.value(forKeyPath: "address.street") as? String, "Street 4444")
  }

  /// Records the maximum number of objects in memory.
  final class WatchingPolicy: EntityMigrationPolicy {
    static let most = Mutex((source: 0, destination: 0, progress: [Double]()))

    override func createDestinationInstances(forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager) throws {
      try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
      watch(source.objectID.key, manager)
    }
    override func createRelationships(forDestination object: ManagedObject, in mapping: EntityMapping, manager: MigrationManager) throws {
      try super.createRelationships(forDestination: object, in: mapping, manager: manager)
      watch(object.objectID.key, manager)
    }
    private func watch(_ key: Int64, _ manager: MigrationManager) {
      guard key % 97 == 0 else { return }
      let counts = (manager.sourceContext.registeredObjects.count, manager.destinationContext.registeredObjects.count)
      let progress = manager.migrationProgress
      Self.most.withLock { most in
        most.source = max(most.source, counts.0)
        most.destination = max(most.destination, counts.1)
        most.progress.append(progress)
      }
    }
  }

  func testTenThousandObjectsAreCreatedInBoundedMemory() async throws {
    let count = 10_000
    let store = try MigratingStore()
    try await store.fill(AddressBook.version1) { context in
      for number in 0..<count {
        let person = number % 10 == 0 ? try context.make("Person", ["name": "\(number)"]) : nil
        try context.make("Note", ["text": "\(number)", "person": person as Any])
      }
    }
    store.description.mappingModels = [try mapping(WatchingPolicy.self)]
    let context = try await store.open(AddressBook.version2)
    XCTAssertEqual(try context.objects("Note").count, count)
    XCTAssertEqual(try context.objects("Note", where: "person.name == body").count, count / 10)
    let most = WatchingPolicy.most.withLock { $0 }
    XCTAssertLessThanOrEqual(most.source, 2_500)
    XCTAssertLessThanOrEqual(most.destination, 2_500)
    XCTAssertGreaterThan(most.destination, 100)
    XCTAssertEqual(most.progress, most.progress.sorted())
    XCTAssertTrue(most.progress.allSatisfy { (0...1).contains($0) })
  }

  // MARK: Failures

  final class FailingPolicy: EntityMigrationPolicy {
    override func createRelationships(forDestination object: ManagedObject, in mapping: EntityMapping, manager: MigrationManager) throws {
      throw HandlerError(text: "policy")
    }
  }
  final class CancellingPolicy: EntityMigrationPolicy {
    override func endInstanceCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {
      manager.cancelMigration(HandlerError(text: "canceled"))
    }
  }
  final class ValidatingPolicy: EntityMigrationPolicy {
    override func performCustomValidation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {
      guard try manager.destinationContext.objects("Person", where: "phone == '7'").isEmpty else { throw HandlerError(text: "seven") }
    }
  }

  func testPolicyErrorIsTheCauseAndKeepsTheStore() async throws {
    for (policy, text) in [(FailingPolicy.self, "policy"), (CancellingPolicy.self, "canceled"), (ValidatingPolicy.self, "seven")]
      as [(EntityMigrationPolicy.Type, String)]
    {
      let store = try MigratingStore()
      try await store.fill(AddressBook.version1) { try AddressBook.fill($0, version: 1) }
      store.description.mappingModels = [try mapping(policy)]
      let error = await store.failure(AddressBook.version2)
      XCTAssertEqual(error?.code, .migrationFailed)
      XCTAssertEqual(error?.underlying as? HandlerError, HandlerError(text: text))
      let hasOlder = try await store.has(AddressBook.version1)
      XCTAssertTrue(hasOlder)
    }
  }

  func testUnknownPolicyFunctionThrows() async throws {
    var mapping = try mapping(EntityMigrationPolicy.self)
    mapping.entityMappings[0].attributeMappings.append(try PropertyMapping(name: "body", format: "FUNCTION($entityPolicy, 'unknown', 1)"))
    let store = try MigratingStore()
    try await store.fill(AddressBook.version1) { try AddressBook.fill($0, version: 1) }
    store.description.mappingModels = [mapping]
    let error = await store.failure(AddressBook.version2)
    XCTAssertEqual(error?.code, .mappingModelInvalid)
    XCTAssertTrue(error?.message.contains("unknown") ?? false)
  }
}
