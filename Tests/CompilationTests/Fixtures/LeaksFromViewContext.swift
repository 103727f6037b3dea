// The main actor's objects in a task that does not run on the main actor.
import ObjectContext

@MainActor func leaks(container: PersistentContainer) throws {
  let book = try container.viewContext.insertObject(entityName: "Book")
  Task.detached {  // ERROR: risks causing data races
    _ = try book.value(forKey: "title")
  }
}

@MainActor func leaksTheContext(container: PersistentContainer) {
  let context = container.viewContext
  Task.detached {  // ERROR: risks causing data races
    try context.save()
  }
}
