// NSFetchRequestResult: what fetches may return.
public import Foundation
public import ObjectModel

/// What a fetch may return: objects, their IDs, dictionaries, a number.
public protocol NSFetchRequestResult {}

/// The identity of an object: a value, which may go anywhere.
public typealias NSManagedObjectID = ManagedObjectID

extension ManagedObjectID: NSFetchRequestResult {}
extension NSDictionary: NSFetchRequestResult {}
extension NSNumber: NSFetchRequestResult {}
