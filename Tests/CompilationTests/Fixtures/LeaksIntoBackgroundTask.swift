// An object of one context in a task of another context.
import ObjectContext

func leaks(container: PersistentContainer, book: ManagedObject) async throws {
  try await container.performBackgroundTask { _ in
    try book.setValue("A title", forKey: "title")  // ERROR: capture of 'book' with non-Sendable type 'ManagedObject'
  }
}
