// Accessors of relationships, as editors generate them, in extensions.
// swift-format-ignore-file
import CoreData
import Foundation

extension Book {
  @nonobjc public class func fetchRequest() -> Int { 0 }

  @NSManaged public var relatedBooks: NSSet?
  @NSManaged var extendedState: State?
}

// MARK: Generated accessors for authors
extension Book {
  @NSManaged public func addToAuthors(_ value: Author)
  @NSManaged public func removeFromAuthors(_ value: Author)
  @NSManaged public func addToAuthors(_ values: NSSet)
  @NSManaged public func removeFromAuthors(_ values: NSSet)
  @NSManaged public func insertIntoChapters(_ value: Book, at idx: Int)
  @NSManaged public func removeFromChapters(at idx: Int)
  @NSManaged public func insertIntoChapters(_ values: [Book], at indexes: NSIndexSet)
  @NSManaged public func removeFromChapters(at indexes: NSIndexSet)
  @NSManaged public func replaceChapters(at idx: Int, with value: Book)
  @NSManaged public func replaceChapters(at indexes: NSIndexSet, with values: [Book])
  @NSManaged public func addToChapters(_ values: NSOrderedSet)
  @NSManaged func countOfAuthors() -> Int
  @NSManaged func memberOfAuthors(_ value: Author!) -> Author?
  @NSManaged func three(_ first: String, second: String, _ third: [String]?) -> [String]
  @NSManaged func primitive(named name: String = "a, (b)", or other: Set<Book>?) -> Book?
  @NSManaged func labelled(book: Book, author: Author)
}

private extension Book {
  @NSManaged var hiddenByTheExtension: Int
  @NSManaged func hiddenMethod(_ book: Book) -> Author?
}

public extension Book {
  @NSManaged var shownByTheExtension: Set<Author>
}

func useHidden(_ book: Book) -> Any? {
  book.hiddenByTheExtension += 1
  return book.hiddenMethod(book)
}
