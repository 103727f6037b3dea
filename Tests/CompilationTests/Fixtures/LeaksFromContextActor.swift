// An object as the result of a context actor's closure.
import ObjectContext

func leaks(library: ContextActor) async throws {
  _ = try await library.perform { context in  // ERROR: does not conform to the 'Sendable' protocol
    try context.insertObject(entityName: "Book")
  }
}
