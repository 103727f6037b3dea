// Correct uses by applications, which must compile.
import ObjectContext
import ObjectModel
import ObjectStore

/// A task on the main actor, in the main actor's context.
@MainActor func renames(container: PersistentContainer, objectID: ManagedObjectID) throws {
  let book = try container.viewContext.existingObject(with: objectID)
  try book.setValue("A new title", forKey: "title")
  try container.viewContext.save()
}

/// A task on a background queue. It returns an ID, which the main actor resolves in its own context.
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

/// A task may await something, and continue with its objects.
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

/// A background context belongs to the caller that created it, and can be sent once, with its objects.
func passesObject(container: PersistentContainer) async throws {
  let context = container.newBackgroundContext()
  let task = Task {
    let book = try context.insertObject(entityName: "Book")
    try context.save()
    return book.objectID
  }
  _ = try await task.value
}

/// An actor that owns a context returns IDs and values.
func asks(library: ContextActor) async throws -> (ManagedObjectID, String?) {
  try await library.perform { context in
    let book = try context.insertObject(entityName: "Book")
    return (book.objectID, try book.value(forKey: "title") as? String)
  }
}

/// An actor of the application.
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
