// The main actor's context from anywhere.
import ObjectContext

func uses(container: PersistentContainer) throws {
  try container.viewContext.save()  // ERROR: main actor-isolated property 'viewContext'
}
