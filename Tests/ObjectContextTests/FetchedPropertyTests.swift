import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest

/// Properties that are the results of a fetch (row M18).
final class FetchedPropertyTests: XCTestCase {
  private var model: ManagedObjectModel {
    var model = ManagedObjectModel {
      Entity("Book") {
        Attribute("title", .string)
        Attribute("price", .integer64)
        Relationship("shelf", to: "Shelf", inverse: "books")
        Relationship("friends", toMany: "Book", inverse: "friends")
      }
      Entity("Shelf") {
        Attribute("name", .string)
        Attribute("limit", .integer64)
        Relationship("books", toMany: "Book", inverse: "shelf")
      }
    }
    func add(_ name: String, _ format: String?, to entity: Int, userInfo: [String: String] = [:]) {
      var property = FetchedPropertyDescription(name: name, destination: "Book", predicateFormat: format)
      property.userInfo = userInfo
      model.entities[entity].properties.append(.fetchedProperty(property))
    }
    add("cheap", "shelf == $FETCH_SOURCE AND price < $FETCH_SOURCE.limit", to: 1)
    add("all", nil, to: 1)
    add("named", "title == $FETCHED_PROPERTY.userInfo.title", to: 1, userInfo: ["title": "b3"])
    add("broken", "title ==", to: 1)
    add("alike", "price == $FETCH_SOURCE.price AND SELF != $FETCH_SOURCE AND NOT SELF IN $FETCH_SOURCE.friends", to: 0)
    return model
  }

  /// A shelf with ten books with prices 0 to 9, and a limit of 4.
  private func onShelf(_ body: (Stack, ManagedObjectContext, ManagedObject) throws -> Void) async throws {
    try await onEachStore(model: model, classes: ManagedObjectClasses()) { stack in
      let writer = stack.makeShortLivedContext()
      let shelf = try writer.make("Shelf", ["name": "s", "limit": 4])
      for price in 0..<10 { try writer.make("Book", ["title": "b\(price)", "price": price, "shelf": shelf]) }
      try writer.make("Book", ["title": "elsewhere", "price": 1])
      try writer.save()
      let context = stack.makeContext()
      try body(stack, context, try context.named("s", "Shelf"))
    }
  }

  private func titles(_ value: Any?) throws -> [String] {
    try XCTUnwrap(value as? [ManagedObject]).compactMap { $0.text("title") }.sorted()
  }

  func testFetchedPropertyReturnsObjectsOfItsPredicate() async throws {
    try await onShelf { _, context, shelf in
      XCTAssertEqual(try titles(try shelf.value(forKey: "cheap")), ["b0", "b1", "b2", "b3"])
      XCTAssertEqual(shelf.fetchedProperty("cheap").count, 4)
      XCTAssertEqual(shelf.fetchedProperty("all").count, 11)
      XCTAssertEqual(try titles(try shelf.value(forKey: "named")), ["b3"])
      let elsewhere = try XCTUnwrap(context.objects("Book", where: "title == 'elsewhere'").first)
      XCTAssertEqual(try titles(try elsewhere.value(forKey: "alike")), ["b1"])
      try elsewhere.setValue([try XCTUnwrap(context.objects("Book", where: "title == 'b1'").first)], forKey: "friends")
      context.refresh(elsewhere, mergeChanges: true)
      XCTAssertEqual(try titles(try elsewhere.value(forKey: "alike")), [])
    }
  }

  func testFetchedPropertyIsCachedUntilRefresh() async throws {
    try await onShelf { stack, context, shelf in
      XCTAssertEqual(shelf.fetchedProperty("cheap").count, 4)
      stack.statements?.reset()
      for book in try context.objects("Book", where: "title == 'b9'") { try book.setValue(0, forKey: "price") }
      stack.statements?.reset()
      XCTAssertEqual(shelf.fetchedProperty("cheap").count, 4)
      XCTAssertEqual(stack.statements?.count ?? 0, 0)
      for merges in [true, false] {
        context.refresh(shelf, mergeChanges: merges)
        XCTAssertEqual(shelf.fetchedProperty("cheap").count, 5)
      }
      for book in try context.objects("Book", where: "title == 'b9'") { context.delete(book) }
      XCTAssertEqual(shelf.fetchedProperty("cheap").count, 4)
    }
  }

  func testFetchedPropertyIncludesUnsavedObjects() async throws {
    try await onShelf { _, context, shelf in
      try context.make("Book", ["title": "new", "price": 1, "shelf": shelf])
      XCTAssertEqual(shelf.fetchedProperty("cheap").count, 5)
      try context.save()
      XCTAssertEqual(try titles(try shelf.value(forKey: "cheap")), ["b0", "b1", "b2", "b3", "new"])
      // With a new owner.
      let other = try context.make("Shelf", ["name": "o", "limit": 100])
      try context.make("Book", ["title": "other", "price": 1, "shelf": other])
      XCTAssertEqual(try titles(try other.value(forKey: "cheap")), ["other"])
    }
  }

  func testFetchedPropertyDoesNotRetainObjects() async throws {
    try await onShelf { _, context, shelf in
      XCTAssertEqual(shelf.fetchedProperty("all").count, 11)
      XCTAssertEqual(context.registeredObjects, [shelf])
    }
  }

  func testFetchedPropertyCanCrossStores() async throws {
    var model = model
    model.configurations = [
      ModelConfiguration(name: "books", entityNames: ["Book"]), ModelConfiguration(name: "labels", entityNames: ["Label"]),
    ]
    model.entities[1].properties.removeAll { $0.name == "books" }
    model.entities[0].properties.removeAll { $0.name == "shelf" }
    model.entities.append(
      EntityDescription(
        name: "Label",
        properties: [
          .attribute(AttributeDescription(name: "title", type: .string, isOptional: true)),
          .fetchedProperty(
            FetchedPropertyDescription(name: "books", destination: "Book", predicateFormat: "title BEGINSWITH $FETCH_SOURCE.title")),
        ]))
    model.entities.remove(at: 1)
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: model)
    for name in ["books", "labels"] {
      var description = PersistentStoreDescription(type: .inMemory)
      description.configuration = name
      try await coordinator.addPersistentStore(with: description)
    }
    let context = ManagedObjectContext(coordinator: coordinator)
    for number in 0..<3 { try context.make("Book", ["title": "b\(number)"]) }
    let label = try context.make("Label", ["title": "b"])
    try context.save()
    XCTAssertEqual(label.fetchedProperty("books").count, 3)
  }

  func testInvalidDefinitionsThrow() async throws {
    try await onShelf { _, context, shelf in
      XCTAssertThrowsError(try shelf.setValue([], forKey: "cheap")) { XCTAssertEqual(($0 as? KeyValueError)?.code, .readOnly) }
      XCTAssertThrowsError(try shelf.value(forKey: "broken")) { XCTAssertTrue($0 is PredicateFormatError, "\($0)") }
      for format in ["ANY cheap.price == 1", "cheap == NULL", "cheap.@count > 1"] {
        XCTAssertThrowsError(try context.objects("Shelf", where: format)) {
          XCTAssertTrue($0 is FetchPredicateError && "\($0)".contains("cheap"), "\($0)")
        }
      }
      XCTAssertEqual(shelf.fetchedProperty("name"), [])
      XCTAssertThrowsError(try context.save()) { XCTAssertEqual(($0 as? KeyValueError)?.code, .unknownKey) }
    }
  }
}
