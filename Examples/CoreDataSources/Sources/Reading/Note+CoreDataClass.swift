// The class of notes.
// swift-format-ignore-file
import Foundation
import CoreData

#if canImport(ObjectiveC)
@objc(Note)
#endif
public class Note: NSManagedObject {

    #if canImport(ObjectiveC) || MANAGED_IN_SOURCE
    @NSManaged public var text: String?
    @NSManaged public var book: Book?
    #endif

}
