import CipherData
import XCTest

/// Errors of a container without registered classes name the missing call.
final class MissingClassesTests: XCTestCase {
  private func context(_ container: PersistentContainer) async throws -> sending ManagedObjectContext {
    container.persistentStoreDescriptions = [PersistentStoreDescription(type: .inMemory)]
    try await container.loadPersistentStores()
    return container.newBackgroundContext()
  }

  private func assertRejected(_ part: String, line: UInt = #line, _ body: () throws -> Void) {
    XCTAssertThrowsError(try body(), line: line) { error in
      guard let error = error as? StoreError else { return XCTFail("\(error)", line: line) }
      XCTAssertEqual(error.code, .invalidRequest, line: line)
      XCTAssertTrue(error.message.contains(part), error.message, line: line)
    }
  }

  func testThrowingFunctionsNameTheMissingCall() async throws {
    let context = try await context(PersistentContainer(name: "M", managedObjectModel: MessengerModel.managedObjectModel))
    let missing = "makeContainer of the generated model, or pass PersistentContainer the argument `classes: Chat.classTable`"
    assertRejected(missing) { try context.insertObject(Chat.self) }
    assertRejected(missing) { _ = try context.fetch(Chat.all) }
    assertRejected(missing) { try context.findOrCreate(Chat.self, keys: ["position"], values: [[1]]) }
    assertRejected(missing) { _ = try context.execute(BatchInsertRequest(Chat.self) { _ in true }) }
    // Inserted by entity name, objects are instances of `ManagedObject`.
    XCTAssertTrue(type(of: try context.insertObject(entityName: "Chat")) == ManagedObject.self)
  }

  func testClassesOfAnotherModelAreReportedAsSuch() async throws {
    let context = try await context(MessengerModel.makeContainer())
    assertRejected("generated for another model") { try context.insertObject(Package.self) }
    assertRejected("Register it in the ManagedObjectClasses") { try context.insertObject(Unknown.self) }
  }

  func testClassTableNamedByTheMessageWorks() async throws {
    let context = try await context(
      PersistentContainer(name: "M", managedObjectModel: MessengerModel.managedObjectModel, classes: Chat.classTable))
    let chat = try context.insertObject(Chat.self)
    XCTAssertTrue(chat.isInserted)
    XCTAssertEqual(try context.fetch(Chat.all), [chat])
    XCTAssertIdentical(try context.insertObject(entityName: "Chat") as? Chat, context.insertedObjects.first { $0 !== chat })
    assertRejected("is abstract") { try context.insertObject(Message.self) }
  }

  func testObjectsWithoutAContextHaveTheClassOfTheirEntity() async throws {
    let container = try MessengerModel.makeContainer()
    let context = try await context(container)
    let coordinator = container.persistentStoreCoordinator
    func entity(_ name: String) throws -> EntityDescription { try XCTUnwrap(container.managedObjectModel.entity(named: name)) }
    let chat = try Chat(entity: entity("Chat"), of: coordinator)
    context.insert(chat)
    XCTAssertEqual(context.insertedObjects, [chat])
    assertRejected("are not of the class Package") { _ = try Package(entity: entity("Chat"), of: coordinator) }
    assertRejected("is abstract") { _ = try Message(entity: entity("Message"), of: coordinator) }
    XCTAssertEqual(try ManagedObject(entity: entity("Chat"), of: coordinator).entity.name, "Chat")
  }

  /// A class that is not generated.
  final class Unknown: ManagedObject {}
}
