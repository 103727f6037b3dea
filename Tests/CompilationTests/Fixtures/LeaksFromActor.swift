// An actor that owns a context and returns its objects.
import ObjectContext

actor Shelf {
  private let context: ManagedObjectContext

  init(container: PersistentContainer) { context = container.newBackgroundContext() }

  func newBook() throws -> ManagedObject { try context.insertObject(entityName: "Book") }
}

func leaks(shelf: Shelf) async throws {
  let book = try await shelf.newBook()  // ERROR: non-Sendable
  _ = book
}
