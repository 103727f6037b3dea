public import Foundation
public import ObjectModel
import ObjectStore

/// A type of fetch results: objects, their IDs, dictionaries or numbers.
public protocol NSFetchRequestResult {}

/// The identity of an object. It is a value and can be used on any thread.
public typealias NSManagedObjectID = ManagedObjectID

extension ManagedObjectID: NSFetchRequestResult {}
extension NSDictionary: NSFetchRequestResult {}
// Allows the cast `results.first as? [String: Any]`.
extension Dictionary: NSFetchRequestResult where Key == String, Value == Any {}
extension NSNumber: NSFetchRequestResult {}

extension ManagedObjectID {
  /// The object's entity in the model that its store was opened with.
  public var entity: NSEntityDescription {
    UsedModels.entity(of: self) ?? NSEntityDescription(EntityDescription(name: entityName), of: nil)
  }

  /// The object's store; nil for a new object, or if no container has the store open.
  public var persistentStore: NSPersistentStore? {
    if isTemporaryID { return nil }
    return UsedModels.all.lazy.compactMap { $0.coordinator?.persistentStore(of: self) }.first.map { NSPersistentStore.of($0) }
  }
}
