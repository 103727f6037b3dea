// A background context that is sent to a task and used outside of it too.
import ObjectContext

func shares(container: PersistentContainer) throws {
  let context = container.newBackgroundContext()
  Task {  // ERROR: risks causing data races
    _ = try context.insertObject(entityName: "Book")
  }
  try context.save()
}

func keepsAnObject(container: PersistentContainer) throws {
  let context = container.newBackgroundContext()
  let book = try context.insertObject(entityName: "Book")
  Task {  // ERROR: risks causing data races
    try context.save()
  }
  try book.setValue("A title", forKey: "title")
}
