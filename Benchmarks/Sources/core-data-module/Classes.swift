// The classes of the model as sources that import CoreData have them.
import CoreData

/// Public, as the class of authors, which is generated and names it.
public final class ManagedBook: NSManagedObject {
  @NSManaged var title: String
  @NSManaged var isbn: String
  @NSManaged var price: Double
  @NSManaged var published: Date
  @NSManaged var pages: Int64
  @NSManaged var author: ManagedAuthor?
}

/// Its properties are left to the plugin: Documentation/CoreDataSources.md says why.
public final class ManagedTag: NSManagedObject {
  #if canImport(ObjectiveC) || MANAGED_IN_SOURCE
    @NSManaged var name: String
    @NSManaged var weight: Int64
  #endif
}
