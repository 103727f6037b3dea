// A module of the name CoreData: as much of it as declarations name.
// swift-format-ignore-file
public import Foundation

open class NSManagedObject: NSObject {}
public class NSManagedObjectID: NSObject {}
public class NSManagedObjectContext: NSObject {}
public class NSEntityDescription: NSObject {}
public protocol NSFetchRequestResult: AnyObject {}
