// Code that Swift 5 mode accepts without a diagnostic, and Swift 6 rejects by region-based isolation. The article on concurrency lists it.
import ObjectContext

@MainActor final class Reader {
  private var objects: [ManagedObject] = []

  func take(_ object: ManagedObject) { objects.append(object) }
}

func intoTheMainActor(reader: Reader, object: ManagedObject) async {
  await reader.take(object)  // ERROR: risks causing data races
}

func outOfABackgroundTask(container: PersistentContainer) async throws {
  try await container.performBackgroundTask { context in
    let object = try context.insertObject(entityName: "Book")
    Task { @MainActor in
      _ = object.objectID  // ERROR: risks causing data races
    }
    try context.save()
  }
}
