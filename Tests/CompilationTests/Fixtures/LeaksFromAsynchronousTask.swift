// A context and objects that an asynchronous task sends to other isolations while it continues.
import ObjectContext

actor Reader {
  func read(_ context: ManagedObjectContext) {}
}

func handsToAnActor(container: PersistentContainer, reader: Reader) async throws {
  try await container.performBackgroundTask { context in
    await reader.read(context)  // ERROR: risks causing data races
    try context.save()
  }
}

@MainActor func shows(_ object: ManagedObject) {}

func handsToTheMainActor(library: ContextActor) async throws {
  try await library.perform { context in
    let book = try context.insertObject(entityName: "Book")
    await shows(book)  // ERROR: risks causing data races
    try context.save()
  }
}

func sharesWithATask(library: ContextActor) async throws {
  try await library.perform { context in
    let task = Task { try context.save() }  // ERROR: risks causing data races
    try await task.value
  }
}
