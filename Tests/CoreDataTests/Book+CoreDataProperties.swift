// Properties of the classes of the model Library as editors write them.
// swift-format-ignore-file
import CoreData
import Foundation

extension Book {
  @nonobjc public class func fetchRequest() -> NSFetchRequest<Book> {
    return NSFetchRequest<Book>(entityName: "Book")
  }

  @NSManaged public var added: TimeInterval
  @NSManaged public var cover: Data?
  @NSManaged public var identifier: UUID?
  @NSManaged public var isRead: Bool
  @NSManaged public var pages: Int32
  @NSManaged public var price: NSDecimalNumber?
  @NSManaged public var published: Date?
  @NSManaged public var rating: NSNumber?
  @NSManaged var state: State
  @NSManaged public var title: String?
  @NSManaged public var author: Author?
  @NSManaged public var admirers: Set<Author>?
  @NSManaged private var primitiveTitle: String?

  /// Does not mark the object as changed.
  func setTitleQuietly(_ title: String) { primitiveTitle = title }
}

extension Author {
  @nonobjc public class func fetchRequest() -> NSFetchRequest<Author> {
    return NSFetchRequest<Author>(entityName: "Author")
  }

  @NSManaged public var name: String?
  @NSManaged public var books: NSSet?
  @NSManaged public var favourites: NSOrderedSet?
}

// MARK: Generated accessors for books
extension Author {
  @NSManaged public func addToBooks(_ value: Book)
  @NSManaged public func removeFromBooks(_ value: Book)
  @NSManaged public func addToBooks(_ values: NSSet)
  @NSManaged public func removeFromBooks(_ values: NSSet)
}

// MARK: Generated accessors for favourites
extension Author {
  @NSManaged public func insertIntoFavourites(_ value: Book, at idx: Int)
  @NSManaged public func removeFromFavourites(at idx: Int)
  @NSManaged public func insertIntoFavourites(_ values: [Book], at indexes: NSIndexSet)
  @NSManaged public func removeFromFavourites(at indexes: NSIndexSet)
  @NSManaged public func replaceFavourites(at idx: Int, with value: Book)
  @NSManaged public func replaceFavourites(at indexes: NSIndexSet, with values: [Book])
  @NSManaged public func addToFavourites(_ value: Book)
  @NSManaged public func removeFromFavourites(_ value: Book)
  @NSManaged public func addToFavourites(_ values: NSOrderedSet)
  @NSManaged public func removeFromFavourites(_ values: NSOrderedSet)
}


