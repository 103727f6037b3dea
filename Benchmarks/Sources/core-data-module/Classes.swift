// The classes of the model as sources that import CoreData have them.
import CoreData

final class ManagedBook: NSManagedObject {
  @NSManaged var title: String
  @NSManaged var isbn: String
  @NSManaged var price: Double
  @NSManaged var published: Date
  @NSManaged var pages: Int64
  @NSManaged var author: ManagedAuthor?
}

final class ManagedAuthor: NSManagedObject {
  @NSManaged var name: String
  @NSManaged var email: String
  @NSManaged var born: Int64
}

final class ManagedTag: NSManagedObject {
  @NSManaged var name: String
}
