// The properties of authors, as Xcode's editor writes them.
// swift-format-ignore-file
import Foundation
import CoreData

extension Author {

    @nonobjc public class func fetchRequest() -> NSFetchRequest<Author> {
        return NSFetchRequest<Author>(entityName: "Author")
    }

    @NSManaged public var name: String?
    @NSManaged public var books: NSSet?

}

// MARK: Generated accessors for books
extension Author {

    #if canImport(ObjectiveC)
    @objc(addBooksObject:)
    #endif
    @NSManaged public func addToBooks(_ value: Book)

    #if canImport(ObjectiveC)
    @objc(removeBooksObject:)
    #endif
    @NSManaged public func removeFromBooks(_ value: Book)

    #if canImport(ObjectiveC)
    @objc(addBooks:)
    #endif
    @NSManaged public func addToBooks(_ values: NSSet)

    #if canImport(ObjectiveC)
    @objc(removeBooks:)
    #endif
    @NSManaged public func removeFromBooks(_ values: NSSet)

}

extension Author : Identifiable {

}
