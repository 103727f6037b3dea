// NSFetchRequestResult: what fetches may return.
public import Foundation
public import ObjectModel
import ObjectStore

/// What a fetch may return: objects, their IDs, dictionaries, a number.
public protocol NSFetchRequestResult {}

/// The identity of an object: a value, which may go anywhere.
public typealias NSManagedObjectID = ManagedObjectID

extension ManagedObjectID: NSFetchRequestResult {}
extension NSDictionary: NSFetchRequestResult {}
// `results.first as? [String: Any]` is a cast that may succeed.
extension Dictionary: NSFetchRequestResult where Key == String, Value == Any {}
extension NSNumber: NSFetchRequestResult {}

extension ManagedObjectID {
  /// The object's entity, in the model that its store was opened with.
  public var entity: NSEntityDescription {
    UsedModels.entity(of: self) ?? NSEntityDescription(EntityDescription(name: entityName), of: nil)
  }

  /// The store that the object is in; nil for a new object, and where no container has it open.
  public var persistentStore: NSPersistentStore? {
    if isTemporaryID { return nil }
    return UsedModels.all.lazy.compactMap { $0.coordinator?.persistentStore(of: self) }.first.map { NSPersistentStore.of($0) }
  }
}
