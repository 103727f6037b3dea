// The classes of the model in the form of sources that import CoreData.
import CoreData

/// Public, as is the generated class of authors, which refers to it.
public final class ManagedBook: NSManagedObject {
  @NSManaged var title: String
  @NSManaged var isbn: String
  @NSManaged var price: Double
  @NSManaged var published: Date
  @NSManaged var pages: Int64
  @NSManaged var author: ManagedAuthor?
}

/// Its properties are left to the plugin; Documentation/CoreDataSources.md explains why.
public final class ManagedTag: NSManagedObject {
  #if canImport(ObjectiveC) || MANAGED_IN_SOURCE
    @NSManaged var name: String
    @NSManaged var weight: Int64
  #endif
}
