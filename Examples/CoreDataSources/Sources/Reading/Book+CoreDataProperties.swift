// The properties of books, as Xcode's editor writes them.
// swift-format-ignore-file
import Foundation
import CoreData

extension Book {

    @nonobjc public class func fetchRequest() -> NSFetchRequest<Book> {
        return NSFetchRequest<Book>(entityName: "Book")
    }

    @NSManaged public var added: Date?
    @NSManaged public var id: UUID?
    @NSManaged public var isFinished: Bool
    @NSManaged public var pages: Int32
    @NSManaged public var rating: NSNumber?
    @NSManaged public var shelf: Shelf
    @NSManaged public var title: String?
    @NSManaged public var author: Author?
    @NSManaged public var notes: NSOrderedSet?

}

// MARK: Generated accessors for notes
extension Book {

    #if canImport(ObjectiveC)
    @objc(insertObject:inNotesAtIndex:)
    #endif
    @NSManaged public func insertIntoNotes(_ value: Note, at idx: Int)

    #if canImport(ObjectiveC)
    @objc(removeObjectFromNotesAtIndex:)
    #endif
    @NSManaged public func removeFromNotes(at idx: Int)

    #if canImport(ObjectiveC)
    @objc(addNotesObject:)
    #endif
    @NSManaged public func addToNotes(_ value: Note)

    #if canImport(ObjectiveC)
    @objc(removeNotesObject:)
    #endif
    @NSManaged public func removeFromNotes(_ value: Note)

}

extension Book : Identifiable {

}
