import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import Synchronization
import XCTest
import _TestSupport

/// Persons of two kinds with an embedded address, which become customers with separate addresses.
enum Shop {
  static let old = ManagedObjectModel(version: "old") {
    Entity("Person") {
      Attribute("first", .string)
      Attribute("last", .string)
      Attribute("age", .string)
      Attribute("street", .string)
      Relationship("orders", toMany: "Order", inverse: "person")
    }
    Entity("Company") {
      Attribute("title", .string)
      Attribute("street", .string)
    }
    Entity("Order") {
      Attribute("price", .double)
      Attribute("quantity", .integer32)
      Relationship("person", to: "Person", inverse: "orders")
    }
    Entity("Draft") { Attribute("text", .string) }
  }
  static let new = ManagedObjectModel(version: "new") {
    Entity("Customer") {
      Attribute("name", .string).required()
      Attribute("age", .integer16)
      Attribute("kind", .string).required().initially("private")
      Relationship("address", to: "Address", inverse: "customers")
      Relationship("orders", toMany: "Order", inverse: "customer")
    }
    Entity("Address") {
      Attribute("street", .string).required()
      Relationship("customers", toMany: "Customer", inverse: "address")
    }
    Entity("Order") {
      Attribute("total", .double).required()
      Attribute("price", .double)
      Relationship("customer", to: "Customer", inverse: "orders")
    }
    Entity("Coupon") { Attribute("code", .string) }
  }

  static func fill(_ context: ManagedObjectContext) throws {
    let ada = try context.make("Person", ["first": "Ada", "last": "King", "age": "36", "street": "Square 1"])
    let bob = try context.make("Person", ["first": "Bob", "last": "Hope", "age": "100", "street": "Road 2"])
    try context.make("Company", ["title": "Acme", "street": "Road 2"])
    try context.make("Order", ["price": 2.5, "quantity": 4, "person": ada])
    try context.make("Order", ["price": 1.0, "quantity": 3, "person": ada])
    try context.make("Order", ["price": 5.0, "quantity": 1, "person": bob])
    try context.make("Draft", ["text": "gone"])
  }

  /// Persons and companies become customers (a merge), addresses become objects (a split), ages become numbers (a type change).
  static func mappings() throws -> MappingModel {
    MappingModel([
      EntityMapping(
        .transform, from: "Person", to: "Customer",
        attributeMappings: [
          PropertyMapping(name: "name", valueExpression: try FetchExpression(format: "$source.first")),
          PropertyMapping(name: "age") { source, _ in Int(source["age"] as? String ?? "") },
        ],
        relationshipMappings: [
          PropertyMapping(name: "address", destinationInstancesOf: "PersonToAddress", sourceKeyPath: "")
        ]),
      EntityMapping(
        .transform, from: "Company", to: "Customer",
        attributeMappings: [
          try PropertyMapping(name: "name", format: "uppercase($source.title)"),
          PropertyMapping(name: "kind", valueExpression: .constant(.string("business"))),
        ],
        relationshipMappings: [
          PropertyMapping(name: "address", destinationInstancesOf: "CompanyToAddress", sourceKeyPath: "")
        ]),
      EntityMapping(
        .transform, from: "Person", to: "Address", attributeMappings: [PropertyMapping(name: "street", sourceKeyPath: "street")]),
      EntityMapping(
        .transform, from: "Company", to: "Address", attributeMappings: [PropertyMapping(name: "street", sourceKeyPath: "street")]),
      EntityMapping(
        .copy, from: "Order", to: "Order",
        attributeMappings: [try PropertyMapping(name: "total", format: "$source.price * $source.quantity")],
        relationshipMappings: [
          try PropertyMapping(
            name: "customer",
            format: "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'PersonToCustomer', $source.person)")
        ]),
      EntityMapping(.remove, from: "Draft"),
      EntityMapping(.add, to: "Coupon"),
    ])
  }
}

/// Migrations with mapping models, using expressions and Swift code.
final class MappingModelTests: XCTestCase {
  private let log = Log()

  func testMappingMergesSplitsAndChangesTypes() async throws {
    let store = try MigratingStore()
    try await store.fill(Shop.old) { try Shop.fill($0) }
    store.description.mappingModels = [try Shop.mappings()]
    let context = try await store.open(Shop.new)
    let customers = try context.objects("Customer", by: "name")
    XCTAssertEqual(customers.map { $0["name"] as? String }, ["ACME", "Ada", "Bob"])
    XCTAssertEqual(customers.map { $0["age"] as? Int16 }, [nil, 36, 100])
    XCTAssertEqual(customers.map { $0["kind"] as? String }, ["business", "private", "private"])
    XCTAssertEqual(try customers.map { try $0.value(forKeyPath: "address.street") as? String }, ["Road 2", "Square 1", "Road 2"])
    XCTAssertEqual(customers.map { ($0["orders"] as? Set<ManagedObject>)?.count }, [0, 2, 1])
    XCTAssertEqual(try context.objects("Order", by: "total").map { $0["total"] as? Double }, [3, 5, 10])
    XCTAssertEqual(try context.objects("Order", by: "total").map { $0["price"] as? Double }, [1, 5, 2.5])
    XCTAssertEqual(try context.objects("Address").count, 3)
    XCTAssertEqual(try context.objects("Coupon").count, 0)
  }

  func testUnchangedObjectsKeepTheirIDs() async throws {
    let store = try MigratingStore()
    var ids: [Double: String] = [:]
    try await store.fill(Shop.old) { context in
      try Shop.fill(context)
      try context.save()
      // Keys with gaps, in an order unrelated to the values.
      context.delete(try context.objects("Order", where: "price == 5")[0])
      let order = try context.make("Order", ["price": 7.0, "quantity": 1])
      try context.save()
      XCTAssertGreaterThan(order.objectID.key, 0)
      for order in try context.objects("Order") { ids[try XCTUnwrap(order["price"] as? Double)] = order.objectID.uriString }
    }
    store.description.mappingModels = [try Shop.mappings()]
    let context = try await store.open(Shop.new)
    let orders = try context.objects("Order")
    XCTAssertEqual(orders.count, 3)
    for order in orders { XCTAssertEqual(order.objectID.uriString, ids[try XCTUnwrap(order["price"] as? Double)]) }
    let coupon = try context.make("Order", ["total": 1.0])
    try context.save()
    XCTAssertFalse(ids.values.contains(coupon.objectID.uriString))
  }

  func testMappingModelIsInferredFromTwoModels() async throws {
    let mapping = try MappingModel.inferred(forSourceModel: AddressBook.version1, destinationModel: AddressBook.version2)
    XCTAssertEqual(mapping.entityMappings.map(\.name).sorted(), ["NoteToNote", "PersonToPerson"])
    XCTAssertEqual(mapping.entityMappingsByName["NoteToNote"]?.attributeMappings.map(\.name), ["body"])
    // The result equals that of inference.
    for mappings in [[], [mapping]] {
      let store = try MigratingStore()
      try await store.fill(AddressBook.version1) { try AddressBook.fill($0, version: 1) }
      store.description.mappingModels = mappings
      store.description.shouldInferMappingModelAutomatically = mappings.isEmpty
      let context = try await store.open(AddressBook.version2)
      XCTAssertEqual(try context.objects("Person", by: "name").map { $0["phone"] as? String }, ["100", "7"])
      XCTAssertEqual(
        try context.objects("Note", by: "body").map { try $0.value(forKeyPath: "person.name") as? String },
        ["Ada Byron King", "Ada Byron King"])
    }
  }

  func testUninferableChangesAreReported() throws {
    XCTAssertThrowsError(try MappingModel.inferred(forSourceModel: AddressBook.version4, destinationModel: AddressBook.version5)) { error in
      let error = error as? StoreError
      XCTAssertEqual(error?.code, .mappingNotInferred)
      XCTAssertEqual(error?.coreDataCode, 134190)
      XCTAssertEqual(error?.entityName, "Person")
      XCTAssertEqual(error?.propertyName, "phone")
      XCTAssertEqual(error?.obstacles.isEmpty, false)
    }
  }

  func testExpressionsSeeTheSourceTheManagerAndThePolicy() async throws {
    final class Policy: EntityMigrationPolicy {
      override func value(ofFunction name: String, arguments: [Any?], manager: MigrationManager) throws -> Any? {
        guard name == "join" else { return try super.value(ofFunction: name, arguments: arguments, manager: manager) }
        return arguments.compactMap { $0 as? String }.joined(separator: "-")
      }
    }
    let old = ManagedObjectModel {
      Entity("Item") {
        Attribute("name", .string)
        Attribute("price", .decimal)
        Attribute("day", .date)
        Relationship("owner", to: "Item", inverse: "things")
        Relationship("things", toMany: "Item", inverse: "owner")
      }
    }
    let new = ManagedObjectModel {
      Entity("Thing") {
        Attribute("joined", .string)
        Attribute("price", .decimal)
        Attribute("day", .date)
        Attribute("ownerName", .string)
        Attribute("count", .integer32)
        Attribute("size", .string)
        Relationship("owner", to: "Thing", inverse: "things")
        Relationship("things", toMany: "Thing", inverse: "owner").ordered()
      }
    }
    let store = try MigratingStore()
    try await store.fill(old) { context in
      let owner = try context.make("Item", ["name": "owner", "price": Decimal(3), "day": Date(timeIntervalSinceReferenceDate: 7)])
      for name in ["a", "b"] { try context.make("Item", ["name": name, "price": Decimal(1), "owner": owner]) }
    }
    func expression(_ text: String) throws -> FetchExpression { try FetchExpression(format: text) }
    store.description.mappingModels = [
      MappingModel([
        EntityMapping(
          .transform, from: "Item", to: "Thing",
          attributeMappings: [
            try PropertyMapping(name: "joined", format: "FUNCTION($entityPolicy, 'join', $source.name, 'x', lowercase('Y'))"),
            try PropertyMapping(name: "price", format: "$source.price * 2"),
            try PropertyMapping(name: "day", format: "$source.day"),
            try PropertyMapping(name: "ownerName", format: "$source.owner.name"),
            try PropertyMapping(name: "count", format: "$source.things.@count"),
            try PropertyMapping(name: "size", format: "TERNARY($source.price > 2, 'large', 'small')"),
          ],
          relationshipMappings: [try PropertyMapping(name: "owner", format: "$source.owner")], policy: Policy.self)
      ])
    ]
    let context = try await store.open(new)
    let things = try context.objects("Thing", by: "joined")
    XCTAssertEqual(things.map { $0["joined"] as? String }, ["a-x-y", "b-x-y", "owner-x-y"])
    XCTAssertEqual(things.map { $0["price"] as? Decimal }, [2, 2, 6])
    XCTAssertEqual(things.map { $0["day"] as? Date }, [nil, nil, Date(timeIntervalSinceReferenceDate: 7)])
    XCTAssertEqual(things.map { $0["ownerName"] as? String }, ["owner", "owner", nil])
    XCTAssertEqual(things.map { $0["count"] as? Int32 }, [0, 0, 2])
    XCTAssertEqual(things.map { $0["size"] as? String }, ["small", "small", "large"])
    XCTAssertEqual((things.last?["things"] as? [ManagedObject])?.count, 2)
  }

  func testMappingSelectsObjectsByItsPredicate() async throws {
    let store = try MigratingStore()
    try await store.fill(Shop.old) { try Shop.fill($0) }
    var model = try Shop.mappings()
    model.entityMappings[4].sourcePredicate = try FetchPredicate(format: "price > 2")
    store.description.mappingModels = [model]
    let context = try await store.open(Shop.new)
    XCTAssertEqual(try context.objects("Order", by: "price").map { $0["price"] as? Double }, [2.5, 5])
  }

  func testSubentitiesAreCopiedByTheirOwnMappings() async throws {
    func model(_ type: AttributeType) -> ManagedObjectModel {
      ManagedObjectModel {
        Entity("Media") {
          Attribute("title", .string)
          Attribute("year", type)
          Relationship("next", to: "Media", inverse: "previous")
          Relationship("previous", to: "Media", inverse: "next")
        }
        Entity("Film", parent: "Media") { Attribute("minutes", .integer16) }
      }
    }
    let (old, new) = (model(.string), model(.integer16))
    let store = try MigratingStore()
    try await store.fill(old) { context in
      let film = try context.make("Film", ["title": "F", "year": "1999", "minutes": 90])
      try context.make("Media", ["title": "M", "year": "2001", "next": film])
    }
    let year = PropertyMapping(name: "year") { source, _ in (source["year"] as? String).flatMap { Int($0) } }
    store.description.mappingModels = [
      MappingModel([
        EntityMapping(.copy, from: "Media", to: "Media", attributeMappings: [year]),
        EntityMapping(.copy, from: "Film", to: "Film", attributeMappings: [year]),
      ])
    ]
    let context = try await store.open(new)
    let all = try context.objects("Media", by: "title")
    XCTAssertEqual(all.map(\.entity.name), ["Film", "Media"])
    XCTAssertEqual(all.map { $0["year"] as? Int16 }, [1999, 2001])
    XCTAssertEqual(all[0]["minutes"] as? Int16, 90)
    XCTAssertTrue(all[1]["next"] as? ManagedObject === all[0])
    XCTAssertEqual(all.map(\.objectID.key).sorted(), Array(Set(all.map(\.objectID.key))).sorted())
  }

  // MARK: Selection

  func testMatchingMappingModelTakesPrecedenceOverInference() async throws {
    var mapping = try MappingModel.inferred(forSourceModel: AddressBook.version1, destinationModel: AddressBook.version2)
    let index = try XCTUnwrap(mapping.entityMappings.firstIndex { $0.name == "PersonToPerson" })
    mapping.entityMappings[index].attributeMappings.append(
      PropertyMapping(name: "nickname") { source, _ in (source["name"] as? String)?.lowercased() })
    let store = try MigratingStore()
    try await store.fill(AddressBook.version1) { try AddressBook.fill($0, version: 1) }
    store.description.mappingModels = [try Shop.mappings(), mapping]
    let context = try await store.open(AddressBook.version2)
    XCTAssertEqual(try context.objects("Person", by: "name").map { $0["nickname"] as? String }, ["ada byron king", "bob"])
  }

  func testCompatibleMappingModelIsUsedWithoutInference() async throws {
    var mapping = try MappingModel.inferred(forSourceModel: AddressBook.version1, destinationModel: AddressBook.version2)
    (mapping.sourceModel, mapping.destinationModel) = (nil, nil)
    let index = try XCTUnwrap(mapping.entityMappings.firstIndex { $0.name == "PersonToPerson" })
    mapping.entityMappings[index].attributeMappings.append(PropertyMapping(name: "nickname") { _, _ in "mapped" })
    for infers in [true, false] {
      let store = try MigratingStore()
      try await store.fill(AddressBook.version1) { try AddressBook.fill($0, version: 1) }
      store.description.mappingModels = [mapping]
      store.description.shouldInferMappingModelAutomatically = infers
      let context = try await store.open(AddressBook.version2)
      XCTAssertEqual(try context.objects("Person").map { $0["nickname"] as? String }, infers ? [nil, nil] : ["mapped", "mapped"])
      XCTAssertEqual(try context.objects("Note").count, 2)
    }
  }

  func testMappingModelWithoutAnEntityIsIncompatible() async throws {
    let store = try MigratingStore()
    try await store.fill(Shop.old) { try Shop.fill($0) }
    var model = try Shop.mappings()
    model.entityMappings.removeAll { $0.sourceEntityName == "Order" }
    store.description.mappingModels = [model]
    let error = await store.failure(Shop.new)
    XCTAssertEqual(error?.code, .mappingModelMissing, "The orders would be lost.")
    // If it names the two models, it is valid.
    (model.sourceModel, model.destinationModel) = (ManagedObjectModelReference(Shop.old), ManagedObjectModelReference(Shop.new))
    store.description.mappingModels = [model]
    let context = try await store.open(Shop.new)
    XCTAssertEqual(try context.objects("Order").count, 0)
    XCTAssertEqual(try context.objects("Customer").count, 3)
  }

  func testMissingMappingModelErrorListsTheObstacles() async throws {
    let store = try MigratingStore()
    try await store.fill(AddressBook.version4) { try AddressBook.fill($0, version: 4) }
    store.description.mappingModels = [try Shop.mappings()]
    let error = await store.failure(AddressBook.version5)
    XCTAssertEqual(error?.code, .mappingModelMissing)
    XCTAssertEqual(error?.coreDataCode, 134140)
    XCTAssertEqual(error?.obstacles.first?.name, "phone")
    let hasOlder = try await store.has(AddressBook.version4)
    XCTAssertTrue(hasOlder)
  }

  func testIncompatibleMappingModelThrows() async throws {
    var mapping = try MappingModel.inferred(forSourceModel: AddressBook.version1, destinationModel: AddressBook.version2)
    mapping.entityMappings[0].attributeMappings.append(PropertyMapping(name: "bodies", sourceKeyPath: "text"))
    mapping.entityMappings.append(EntityMapping(.copy, from: "Letter", to: "Parcel"))
    let store = try MigratingStore()
    try await store.fill(AddressBook.version1) { try AddressBook.fill($0, version: 1) }
    store.description.mappingModels = [mapping]
    let error = await store.failure(AddressBook.version2)
    XCTAssertEqual(error?.code, .mappingModelInvalid)
    for word in ["bodies", "Letter", "Parcel"] { XCTAssertTrue(error?.message.contains(word) ?? false, error?.message ?? "") }
    XCTAssertEqual(error?.propertyName, "bodies")
  }

  func testMappingModelIsUsedForAnUninferableStage() async throws {
    let phones = MappingModel([
      EntityMapping(
        .copy, from: "Person", to: "Person",
        attributeMappings: [PropertyMapping(name: "phone") { source, _ in Int64(source["phone"] as? String ?? "") ?? 0 }]),
      EntityMapping(.copy, from: "Memo", to: "Memo"),
    ])
    for asStage in [false, true] {
      let store = try MigratingStore()
      try await store.fill(AddressBook.version1) { try AddressBook.fill($0, version: 1) }
      var stages = Array(AddressBook.stages(log).dropLast())
      if asStage {
        stages.append(
          CustomMigrationStage(migratingFrom: AddressBook.reference(4), to: AddressBook.reference(5), mappingModel: phones))
      } else {
        store.description.mappingModels = [phones]
      }
      store.description.stagedMigrationManager = StagedMigrationManager(stages)
      let context = try await store.open(AddressBook.version5)
      XCTAssertEqual(try AddressBook.contents(context), AddressBook.expected)
    }
  }

  func testUnmappedRequiredValueThrows() async throws {
    let store = try MigratingStore()
    try await store.fill(Shop.old) { try Shop.fill($0) }
    var model = try Shop.mappings()
    model.entityMappings[4].attributeMappings = []
    store.description.mappingModels = [model]
    let error = await store.failure(Shop.new)
    XCTAssertEqual(error?.code, .requiredValueMissing)
    XCTAssertEqual(error?.entityName, "Order")
    XCTAssertEqual(error?.propertyName, "total")
    XCTAssertTrue(error?.message.contains("3 objects") ?? false)
    let hasOlder = try await store.has(Shop.old)
    XCTAssertTrue(hasOlder)
  }
}
