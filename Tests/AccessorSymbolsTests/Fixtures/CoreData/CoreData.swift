// A module named CoreData with the types that the declarations use.
// swift-format-ignore-file
public import Foundation

open class NSManagedObject: NSObject {}
public class NSManagedObjectID: NSObject {}
public class NSManagedObjectContext: NSObject {}
public class NSEntityDescription: NSObject {}
public protocol NSFetchRequestResult: AnyObject {}
