// The class of books, with what an application adds to it.
// swift-format-ignore-file
import Foundation
import CoreData

#if canImport(ObjectiveC)
@objc(Book)
#endif
public class Book: NSManagedObject {

    public enum Shelf: Int16, CaseIterable {
        case toRead, reading, read
    }

    public override func awakeFromInsert() {
        super.awakeFromInsert()
        setPrimitiveValue(UUID(), forKey: "id")
        setPrimitiveValue(Date(), forKey: "added")
    }

    public override func validateForUpdate() throws {
        try super.validateForUpdate()
        if isFinished && shelf != .read { shelf = .read }
    }

    public var wrappedTitle: String { title ?? "Unknown title" }

    public var notesArray: [Note] { notes?.array as? [Note] ?? [] }
}
