// The class of authors, as Xcode's editor writes it.
// swift-format-ignore-file
import Foundation
import CoreData

#if canImport(ObjectiveC)
@objc(Author)
#endif
public class Author: NSManagedObject {

}
