// What applications do, and the compiler lets them.
import ObjectContext
import ObjectModel
import ObjectStore

/// Work on the main actor, in the main actor's context.
@MainActor func renames(container: PersistentContainer, objectID: ManagedObjectID) throws {
  let book = try container.viewContext.existingObject(with: objectID)
  try book.setValue("A new title", forKey: "title")
  try container.viewContext.save()
}

/// Work on a queue of its own; an ID comes back, and the main actor looks the object up in its own context.
@MainActor func imports(container: PersistentContainer, titles: [String]) async throws -> [ManagedObject] {
  let objectIDs = try await container.performBackgroundTask { context in
    let books = try titles.map { title in
      let book = try context.insertObject(entityName: "Book")
      try book.setValue(title, forKey: "title")
      return book
    }
    try context.save()
    return books.map(\.objectID)
  }
  return objectIDs.map { container.viewContext.object(with: $0) }
}

/// Work may wait for something, and goes on with its objects.
func loads(container: PersistentContainer, library: ContextActor, title: @Sendable () async throws -> String) async throws -> [String] {
  let first = try await container.performBackgroundTask { context in
    let book = try context.insertObject(entityName: "Book")
    try book.setValue(try await title(), forKey: "title")
    try context.save()
    return try book.value(forKey: "title") as? String ?? ""
  }
  let second = try await library.perform { context in
    let book = try context.insertObject(entityName: "Book")
    async let other = title()
    try book.setValue(try await other, forKey: "title")
    return try book.value(forKey: "title") as? String ?? ""
  }
  return [first, second]
}

/// A background context belongs to whoever asked for it, and may be given away once, with its objects.
func handsOver(container: PersistentContainer) async throws {
  let context = container.newBackgroundContext()
  let task = Task {
    let book = try context.insertObject(entityName: "Book")
    try context.save()
    return book.objectID
  }
  _ = try await task.value
}

/// An actor that owns a context gives out IDs and values.
func asks(library: ContextActor) async throws -> (ManagedObjectID, String?) {
  try await library.perform { context in
    let book = try context.insertObject(entityName: "Book")
    return (book.objectID, try book.value(forKey: "title") as? String)
  }
}

/// An actor of the application's own.
actor Shelf {
  private let context: ManagedObjectContext

  init(container: PersistentContainer) { context = container.newBackgroundContext() }

  func add(_ title: String) throws -> ManagedObjectID {
    let book = try context.insertObject(entityName: "Book")
    try book.setValue(title, forKey: "title")
    try context.save()
    return book.objectID
  }
}
