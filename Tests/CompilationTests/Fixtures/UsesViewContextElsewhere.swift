// The main actor's context, used from any isolation.
import ObjectContext

func uses(container: PersistentContainer) throws {
  try container.viewContext.save()  // ERROR: main actor-isolated property 'viewContext'
}
