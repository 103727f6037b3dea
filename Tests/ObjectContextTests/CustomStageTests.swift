import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import Synchronization
import XCTest
import _TestSupport

/// Custom stages: access to the older and the newer objects in one transaction and in bounded memory.
final class CustomStageTests: XCTestCase {
  private let log = Log()

  private func stage(
    _ from: ManagedObjectModel, _ to: ManagedObjectModel, _ handler: @escaping @Sendable (CustomMigration) throws -> Void
  ) -> StagedMigrationManager {
    StagedMigrationManager([
      CustomMigrationStage(migratingFrom: ManagedObjectModelReference(from), to: ManagedObjectModelReference(to), handler: handler)
    ])
  }

  // MARK: Source and destination

  func testHandlerSeesOldAndNewObjectsAndTheirCounterparts() async throws {
    let store = try MigratingStore()
    try await store.fill(AddressBook.version2) { try AddressBook.fill($0, version: 2) }
    store.description.stagedMigrationManager = stage(AddressBook.version2, AddressBook.version3) { migration in
      let olds = try migration.source.objects("Person", by: "name")
      XCTAssertEqual(olds.map { $0["name"] as? String }, ["Ada Byron King", "Bob"])
      XCTAssertEqual(try migration.source.objects("Note", by: "body").map { $0["body"] as? String }, ["one", "two"])
      // Inferred values are present: phones, notes and their persons. The others are empty.
      let ada = try XCTUnwrap(migration.destinationObject(for: olds[0]))
      XCTAssertEqual(ada["phone"] as? String, "100")
      XCTAssertNil(ada["firstName"])
      XCTAssertEqual((ada["notes"] as? Set<ManagedObject>)?.count, 2)
      XCTAssertEqual(ada.objectID.key, olds[0].objectID.key)
      XCTAssertEqual(ada.objectID.uriString, olds[0].objectID.uriString)
      XCTAssertTrue(try migration.sourceObject(for: ada) === olds[0])
      XCTAssertEqual((olds[0]["notes"] as? Set<ManagedObject>)?.count, 2)
      let fresh = try migration.destination.insertObject(entityName: "Person")
      XCTAssertNil(try migration.sourceObject(for: fresh))
      migration.destination.delete(fresh)
      for old in olds { try XCTUnwrap(migration.destinationObject(for: old)).setValue(old["name"], forKey: "firstName") }
    }
    let context = try await store.open(AddressBook.version3)
    XCTAssertEqual(try context.objects("Person", by: "firstName").map { $0["firstName"] as? String }, ["Ada Byron King", "Bob"])
  }

  func testOlderObjectsAreReadOnly() async throws {
    let store = try MigratingStore()
    try await store.fill(AddressBook.version2) { try AddressBook.fill($0, version: 2) }
    store.description.stagedMigrationManager = stage(AddressBook.version2, AddressBook.version3) { migration in
      try migration.forEach("Person") { old, new in
        try new.setValue(old["name"], forKey: "firstName")
        try old.setValue("changed", forKey: "name")
      }
      XCTAssertThrowsError(try migration.source.save()) { XCTAssertEqual(($0 as? StoreError)?.code, .readOnly) }
    }
    let context = try await store.open(AddressBook.version3)
    XCTAssertEqual(try context.objects("Person", by: "firstName").count, 2)
  }

  func testHandlersRunInOrder() async throws {
    let store = try MigratingStore()
    try await store.fill(AddressBook.version2) { try AddressBook.fill($0, version: 2) }
    var stage = CustomMigrationStage(migratingFrom: AddressBook.reference(2), to: AddressBook.reference(3)) { [log] migration in
      log.note("handler \(try migration.source.objects("Person", by: "name").map { $0["name"] as? String ?? "-" })")
      try migration.forEach("Person") { old, new in try new.setValue(old["name"], forKey: "firstName") }
    }
    stage.willMigrateHandler = { [log] context in
      log.note("will")
      // Nothing has changed yet, and the older rows can be changed.
      let bob = try context.objects("Person", where: "name == 'Bob'")[0]
      try bob.setValue("Bill", forKey: "name")
      context.delete(try context.objects("Note", where: "body == 'one'")[0])
    }
    stage.didMigrateHandler = { [log] context in
      log.note("did \(try context.objects("Person", by: "firstName").map { $0["firstName"] as? String ?? "-" })")
      for person in try context.objects("Person") { try person.setValue("known", forKey: "nickname") }
    }
    store.description.stagedMigrationManager = StagedMigrationManager([stage])
    let context = try await store.open(AddressBook.version3)
    XCTAssertEqual(log.all, ["will", #"handler ["Ada Byron King", "Bill"]"#, #"did ["Ada Byron King", "Bill"]"#])
    XCTAssertEqual(try context.objects("Person").map { $0["nickname"] as? String }, ["known", "known"])
    XCTAssertEqual(try context.objects("Note").map { $0["body"] as? String }, ["two"])
  }

  // MARK: Properties left to the handler

  func testValueOfAnotherTypeIsNilForTheHandler() async throws {
    let store = try MigratingStore()
    try await store.fill(AddressBook.version4) { try AddressBook.fill($0, version: 4) }
    store.description.stagedMigrationManager = stage(AddressBook.version4, AddressBook.version5) { migration in
      try migration.forEach("Person") { old, new in
        XCTAssertNil(new["phone"])
        try new.setValue(Int64(try XCTUnwrap(old["phone"] as? String)), forKey: "phone")
      }
    }
    let context = try await store.open(AddressBook.version5)
    XCTAssertEqual(try AddressBook.contents(context), AddressBook.expected)
    XCTAssertEqual(try context.objects("Person", where: "phone > 50").count, 1)
  }

  func testMissingRequiredValueErrorCountsTheObjects() async throws {
    let store = try MigratingStore()
    try await store.fill(AddressBook.version4) { context in
      try AddressBook.fill(context, version: 4)
      for number in 0..<10 { try context.make("Person", ["firstName": "\(number)"]) }
    }
    store.description.stagedMigrationManager = stage(AddressBook.version4, AddressBook.version5) { migration in
      try migration.forEach("Person", where: try FetchPredicate(format: "phone != nil")) { _, new in
        try new.setValue(Int64(1), forKey: "phone")
      }
    }
    let error = await store.failure(AddressBook.version5)
    XCTAssertEqual(error?.code, .requiredValueMissing)
    XCTAssertEqual(error?.entityName, "Person")
    XCTAssertEqual(error?.propertyName, "phone")
    XCTAssertTrue(error?.message.contains("“Person.phone” of 10 objects") ?? false, error?.message ?? "")
    let hasOlder = try await store.has(AddressBook.version4)
    XCTAssertTrue(hasOlder)
  }

  func testAnEntityIsSplitIntoTwoWithARelationshipBetweenThem() async throws {
    let old = ManagedObjectModel {
      Entity("Person") {
        Attribute("name", .string).required()
        Attribute("street", .string)
        Attribute("town", .string)
      }
    }
    let new = ManagedObjectModel {
      Entity("Person") {
        Attribute("name", .string).required()
        Relationship("address", to: "Address", inverse: "people")
      }
      Entity("Address") {
        Attribute("street", .string).required()
        Attribute("town", .string)
        Relationship("people", toMany: "Person", inverse: "address")
      }
    }
    let store = try MigratingStore()
    try await store.fill(old) { context in
      for number in 0..<30 { try context.make("Person", ["name": "\(number)", "street": "Street \(number % 3)", "town": "Town"]) }
    }
    store.description.stagedMigrationManager = stage(old, new) { migration in
      var known: [String: ManagedObjectID] = [:]
      try migration.forEach("Person", batchSize: 7) { old, new in
        let street = try XCTUnwrap(old["street"] as? String)
        if let address = known[street] {
          try new.setValue(migration.destination.object(with: address), forKey: "address")
        } else {
          let address = try migration.destination.insertObject(entityName: "Address")
          try address.setValue(street, forKey: "street")
          try address.setValue(old["town"], forKey: "town")
          try migration.destination.obtainPermanentIDs(for: [address])
          known[street] = address.objectID
          try new.setValue(address, forKey: "address")
        }
      }
    }
    let context = try await store.open(new)
    let addresses = try context.objects("Address", by: "street")
    XCTAssertEqual(addresses.map { $0["street"] as? String }, ["Street 0", "Street 1", "Street 2"])
    XCTAssertEqual(addresses.map { ($0["people"] as? Set<ManagedObject>)?.count }, [10, 10, 10])
    XCTAssertEqual(try context.objects("Person", where: "address.street == 'Street 1'").count, 10)
  }

  func testHandlerChoosesTheRemainingMember() async throws {
    let old = ManagedObjectModel {
      Entity("Book") {
        Attribute("title", .string)
        Relationship("authors", toMany: "Author", inverse: "books")
      }
      Entity("Author") {
        Attribute("name", .string)
        Relationship("books", toMany: "Book", inverse: "authors")
      }
    }
    let new = ManagedObjectModel {
      Entity("Book") {
        Attribute("title", .string)
        Relationship("author", to: "Author", inverse: "books").renamed(from: "authors")
      }
      Entity("Author") {
        Attribute("name", .string)
        Relationship("books", toMany: "Book", inverse: "author")
      }
    }
    let store = try MigratingStore()
    try await store.fill(old) { context in
      let (ada, bob) = (try context.make("Author", ["name": "Ada"]), try context.make("Author", ["name": "Bob"]))
      try context.make("Book", ["title": "Both", "authors": Set([ada, bob])])
      try context.make("Book", ["title": "One", "authors": Set([ada])])
    }
    store.description.stagedMigrationManager = stage(old, new) { migration in
      try migration.forEach("Book") { old, new in
        let authors = try XCTUnwrap(old["authors"] as? Set<ManagedObject>)
        let last = authors.max { ($0["name"] as? String ?? "") < ($1["name"] as? String ?? "") }
        try new.setValue(try last.flatMap { try migration.destinationObject(for: $0) }, forKey: "author")
      }
    }
    let context = try await store.open(new)
    XCTAssertEqual(
      try context.objects("Book", by: "title").map { ($0["author"] as? ManagedObject)?["name"] as? String }, ["Bob", "Ada"])
  }

  func testObjectsOfARemovedEntityAreVisitedOnlyInTheOlderStore() async throws {
    let old = ManagedObjectModel {
      Entity("Car") { Attribute("plate", .string) }
      Entity("Bike") { Attribute("frame", .string) }
    }
    let new = ManagedObjectModel { Entity("Vehicle") { Attribute("label", .string).required() } }
    let store = try MigratingStore()
    try await store.fill(old) { context in
      try context.make("Car", ["plate": "A1"])
      try context.make("Bike", ["frame": "B2"])
    }
    store.description.stagedMigrationManager = stage(old, new) { migration in
      XCTAssertThrowsError(try migration.forEach("Car") { _, _ in }) { XCTAssertEqual(($0 as? StoreError)?.entityName, "Car") }
      XCTAssertThrowsError(try migration.forEachSource("Plane") { _ in })
      for (entity, key) in [("Car", "plate"), ("Bike", "frame")] {
        try migration.forEachSource(entity) { old in
          XCTAssertNil(try migration.destinationObject(for: old))
          try migration.destination.insertObject(entityName: "Vehicle").setValue(old[key], forKey: "label")
        }
      }
    }
    let context = try await store.open(new)
    XCTAssertEqual(try context.objects("Vehicle", by: "label").map { $0["label"] as? String }, ["A1", "B2"])
  }

  func testEntityHierarchiesAreMergedUnderACommonParent() async throws {
    let old = ManagedObjectModel {
      Entity("Car") { Attribute("name", .string) }
      Entity("Bike") { Attribute("name", .string) }
    }
    let new = ManagedObjectModel {
      Entity("Vehicle", abstract: true) { Attribute("name", .string) }
      Entity("Bike", parent: "Vehicle") {}
      Entity("Car", parent: "Vehicle") {}
    }
    let store = try MigratingStore()
    try await store.fill(old) { context in
      for number in 0..<5 {
        try context.make("Car", ["name": "Car \(number)"])
        try context.make("Bike", ["name": "Bike \(number)"])
      }
    }
    store.description.stagedMigrationManager = stage(old, new) { migration in
      for entity in ["Bike", "Car"] {
        try migration.forEachSource(entity) { old in
          // The objects of one hierarchy exist with their keys; the other hierarchy would have reused the keys.
          let object = try migration.destinationObject(for: old) ?? migration.destination.insertObject(entityName: entity)
          try object.setValue(old["name"], forKey: "name")
        }
      }
    }
    let context = try await store.open(new)
    let expected = (0..<5).map { "Bike \($0)" } + (0..<5).map { "Car \($0)" }
    XCTAssertEqual(try context.objects("Vehicle", by: "name").map { $0["name"] as? String }, expected)
    XCTAssertEqual(try context.objects("Car").count, 5)
  }

  func testNewerObjectsHaveTheClassesNamedByTheStage() async throws {
    var old = Library.model
    let author = try XCTUnwrap(old.entities.firstIndex { $0.name == "Author" })
    old.entities[author].properties.removeAll { $0.name == "born" }
    let store = try MigratingStore()
    try await store.fill(old) { try $0.make("Author", ["name": "Ada"]) }
    var stage = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(old), to: ManagedObjectModelReference(Library.model)
    ) { migration in
      try migration.forEach("Author") { old, new in
        XCTAssertFalse(old is Author)
        try XCTUnwrap(new as? Author).born = 1815
      }
    }
    stage.destinationClasses = Library.classes
    store.description.stagedMigrationManager = StagedMigrationManager([stage])
    let context = try await store.open(Library.model)
    XCTAssertEqual(try context.objects("Author").map { $0["born"] as? Int16 }, [1815])
  }

  // MARK: Memory

  func testTenThousandObjectsAreVisitedInBatches() async throws {
    let count = 10_000
    let store = try MigratingStore()
    try await store.fill(AddressBook.version2) { context in
      for number in 0..<count { try context.make("Person", ["name": "First\(number) Last", "phone": "\(number)"]) }
    }
    let most = Mutex((source: 0, destination: 0, visited: 0))
    store.description.stagedMigrationManager = stage(AddressBook.version2, AddressBook.version3) { migration in
      try migration.forEach("Person", batchSize: 200) { old, new in
        try new.setValue((old["name"] as? String)?.split(separator: " ").first.map(String.init), forKey: "firstName")
        let number = most.withLock { most in
          most.visited += 1
          return most.visited
        }
        guard number % 100 == 0 else { return }
        let registered = (migration.source.registeredObjects.count, migration.destination.registeredObjects.count)
        most.withLock { most in
          most.source = max(most.source, registered.0)
          most.destination = max(most.destination, registered.1)
        }
      }
      XCTAssertFalse(migration.destination.hasChanges)
    }
    let context = try await store.open(AddressBook.version3)
    let found = most.withLock { $0 }
    XCTAssertEqual(found.visited, count)
    XCTAssertLessThanOrEqual(found.source, 400)
    XCTAssertLessThanOrEqual(found.destination, 400)
    var (visited, right) = (0, 0)
    try context.enumerateBatches(of: FetchRequest<ManagedObject>(entityName: "Person")) { people, _ in
      visited += people.count
      right += people.count { $0["firstName"] as? String == "First\($0["phone"] as? String ?? "")" }
    }
    XCTAssertEqual(visited, count)
    XCTAssertEqual(right, count)
  }

  // MARK: Failures

  func testHandlerErrorIsTheCauseAndKeepsTheOlderStore() async throws {
    let store = try MigratingStore()
    try await store.fill(AddressBook.version2) { try AddressBook.fill($0, version: 2) }
    store.description.stagedMigrationManager = stage(AddressBook.version2, AddressBook.version3) { migration in
      try migration.forEach("Person") { old, _ in throw HandlerError(text: old["name"] as? String ?? "") }
    }
    let error = await store.failure(AddressBook.version3)
    XCTAssertEqual(error?.code, .migrationFailed)
    XCTAssertEqual(error?.underlying as? HandlerError, HandlerError(text: "Ada Byron King"))
    XCTAssertFalse(error?.message.contains("Ada") ?? true, "No stored value is in the message.")
    let context = try await store.open(AddressBook.version2)
    XCTAssertEqual(try context.objects("Person", by: "name").map { $0["name"] as? String }, ["Ada Byron King", "Bob"])
    XCTAssertEqual(try context.objects("Note").count, 2)
  }

  func testInvalidValueFailsTheSave() async throws {
    let old = ManagedObjectModel { Entity("Person") { Attribute("age", .string) } }
    let new = ManagedObjectModel { Entity("Person") { Attribute("age", .integer16).range(Int16(0)...150) } }
    let store = try MigratingStore()
    try await store.fill(old) { try $0.make("Person", ["age": "200"]) }
    store.description.stagedMigrationManager = stage(old, new) { migration in
      try migration.forEach("Person") { old, new in try new.setValue(Int(old["age"] as? String ?? ""), forKey: "age") }
    }
    let error = await store.failure(new)
    XCTAssertEqual(error?.code, .migrationFailed)
    XCTAssertTrue(error?.underlying is ValidationError)
    let hasOld = try await store.has(old)
    XCTAssertTrue(hasOld)
  }

  func testHandlerCanRemoveDuplicatesUnderANewConstraint() async throws {
    let old = ManagedObjectModel { Entity("Tag") { Attribute("name", .string) } }
    let new = ManagedObjectModel {
      Entity("Tag") {
        Attribute("name", .string)
        Attribute("length", .integer16).required()
        Unique("name")
      }
    }
    let store = try MigratingStore()
    try await store.fill(old) { context in for name in ["a", "b", "a", "c", "a"] { try context.make("Tag", ["name": name]) } }
    let length: @Sendable (CustomMigration) throws -> Void = { migration in
      try migration.forEach("Tag") { old, new in try new.setValue((old["name"] as? String ?? "").count, forKey: "length") }
    }
    store.description.stagedMigrationManager = stage(old, new, length)
    let error = await store.failure(new)
    XCTAssertEqual(error?.code, .migrationConstraintViolation)
    store.description.stagedMigrationManager = stage(old, new) { migration in
      try length(migration)
      var seen: Set<String> = []
      try migration.forEach("Tag") { old, new in
        if !seen.insert(old["name"] as? String ?? "").inserted { migration.destination.delete(new) }
      }
    }
    let context = try await store.open(new)
    XCTAssertEqual(try context.objects("Tag", by: "name").map { $0["name"] as? String }, ["a", "b", "c"])
  }

  func testContextsAreInvalidAfterTheStage() async throws {
    let store = try MigratingStore()
    try await store.fill(AddressBook.version2) { try AddressBook.fill($0, version: 2) }
    // Retained against the rules: its use must fail, not crash.
    nonisolated(unsafe) var kept: ManagedObjectContext?
    store.description.stagedMigrationManager = stage(AddressBook.version2, AddressBook.version3) { migration in
      try migration.forEach("Person") { old, new in try new.setValue(old["name"], forKey: "firstName") }
      kept = migration.destination
    }
    try await store.open(AddressBook.version3)
    XCTAssertThrowsError(try XCTUnwrap(kept).objects("Person")) { XCTAssertTrue($0 is StoreError) }
  }

  func testObjectIDsAreNotConsumedByTheStage() async throws {
    let store = try MigratingStore()
    try await store.fill(AddressBook.version2) { try AddressBook.fill($0, version: 2) }
    store.description.stagedMigrationManager = stage(AddressBook.version2, AddressBook.version3) { migration in
      try migration.forEach("Person") { old, new in try new.setValue(old["name"], forKey: "firstName") }
      for number in 0..<5 { try migration.destination.make("Person", ["firstName": "new \(number)"]) }
    }
    let context = try await store.open(AddressBook.version3)
    for number in 5..<10 { try context.make("Person", ["firstName": "new \(number)"]) }
    try context.save()
    let people = try context.objects("Person")
    XCTAssertEqual(people.count, 12)
    XCTAssertEqual(Set(people.map(\.objectID.key)).count, 12)
  }
}
