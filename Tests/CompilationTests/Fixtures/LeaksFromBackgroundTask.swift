// An object as the result of a background task, used on another queue than its context's.
import ObjectContext

func leaks(container: PersistentContainer) async throws {
  let book = try await container.performBackgroundTask { context in  // ERROR: does not conform to the 'Sendable' protocol
    try context.insertObject(entityName: "Book")
  }
  _ = book
}

func stores(container: PersistentContainer) async throws {
  var kept: ManagedObject?
  try await container.performBackgroundTask { context in
    kept = try context.insertObject(entityName: "Book")  // ERROR: mutation of captured var 'kept' in concurrently-executing code
  }
  _ = kept
}

func returnsAnObject(container: PersistentContainer) async throws {
  _ = try await container.performBackgroundTask { context in  // ERROR: does not conform to the 'Sendable' protocol
    await Task.yield()
    return try context.insertObject(entityName: "Book")
  }
}
