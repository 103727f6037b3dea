public import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import Synchronization

/// The values of an object in a custom store.
open class NSIncrementalStoreNode: NSObject {
  /// The object.
  public let objectID: NSManagedObjectID
  /// The version, which increases with each save of the object.
  public private(set) var version: UInt64
  private var values: [String: Any]

  /// Creates a node with values by name: attribute values, and for to-one relationships the object's ID, or `NSNull` for none.
  ///
  /// - Parameters:
  ///   - objectID: The object.
  ///   - values: The values. To-one relationships without a value are requested with
  ///     ``NSIncrementalStore/newValue(forRelationship:forObjectWith:with:)``.
  ///   - version: The version.
  public init(objectID: NSManagedObjectID, withValues values: [String: Any], version: UInt64) {
    (self.objectID, self.values, self.version) = (objectID, values, version)
  }

  /// Replaces the values.
  public func update(withValues values: [String: Any], version: UInt64) { (self.values, self.version) = (values, version) }

  /// Returns the value of an attribute, or the ID of a to-one relationship's object; nil if it is unknown.
  open func value(for prop: NSPropertyDescription) -> Any? { values[prop.name] }
}

/// A custom store that loads objects on demand. A subclass fetches, saves and returns values. Register it with
/// ``NSPersistentStoreCoordinator/registerStoreClass(_:forStoreType:)``.
///
/// Fetch requests ask for objects, IDs or a count; dictionaries are derived from the objects. The context passed to a method belongs to the
/// store. Its objects have the values being saved; to-many relationships whose inverse is to-one have their stored values.
///
/// Methods are called one at a time on the caller's thread. The library does not encrypt what such a store writes; the application may do
/// so.
open class NSIncrementalStore: NSPersistentStore, @unchecked Sendable {  // `IncrementalStoreAdapter` serializes all calls
  private let references = Mutex<[ReferenceObject: SendableBox<Any>]>([:])
  private let space = Mutex<ObjectIDSpace?>(nil)

  /// Returns an identifier for a new store.
  open class func identifierForNewStore(at storeURL: URL) -> Any { UUID().uuidString }

  /// Sets the ``NSPersistentStore/metadata``, with ``NSStoreUUIDKey`` and ``NSStoreTypeKey``. The default implementation sets those of a
  /// new store.
  ///
  /// - Throws: The error that adding the store throws.
  open func loadMetadata() throws {
    metadata = [NSStoreUUIDKey: "\(Self.identifierForNewStore(at: url ?? URL(fileURLWithPath: "/dev/null")))", NSStoreTypeKey: type]
  }

  /// Executes an ``NSFetchRequest`` and returns an array of objects, IDs or numbers, or executes an ``NSSaveChangesRequest`` and returns an
  /// empty array. The default implementation throws.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - context: The context of the objects.
  /// - Throws: The error that the fetch or save throws.
  open func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext?) throws -> Any {
    throw IncrementalStoreError.notOverridden("execute(_:with:)", "\(Swift.type(of: self))")
  }

  /// Returns the values of an object. The default implementation throws.
  ///
  /// - Throws: `NSError` with ``NSManagedObjectReferentialIntegrityError`` if the object was deleted; otherwise the error that the fetch
  ///   throws.
  open func newValuesForObject(with objectID: NSManagedObjectID, with context: NSManagedObjectContext) throws -> NSIncrementalStoreNode {
    throw IncrementalStoreError.notOverridden("newValuesForObject(with:with:)", "\(Swift.type(of: self))")
  }

  /// Returns an array of the IDs of a to-many relationship's objects, or the ID of a to-one relationship's object. The default
  /// implementation throws.
  ///
  /// - Parameters:
  ///   - relationship: The relationship.
  ///   - objectID: The source object.
  ///   - context: The context of the objects.
  /// - Throws: The error that the fetch throws.
  open func newValue(
    forRelationship relationship: NSRelationshipDescription, forObjectWith objectID: NSManagedObjectID,
    with context: NSManagedObjectContext?
  ) throws -> Any {
    throw IncrementalStoreError.notOverridden("newValue(forRelationship:forObjectWith:with:)", "\(Swift.type(of: self))")
  }

  /// Returns permanent IDs for new objects, in their order. The default implementation throws.
  ///
  /// - Throws: The error that the save throws.
  open func obtainPermanentIDs(for array: [NSManagedObject]) throws -> [NSManagedObjectID] {
    throw IncrementalStoreError.notOverridden("obtainPermanentIDs(for:)", "\(Swift.type(of: self))")
  }

  /// Called after contexts registered objects. The default implementation does nothing.
  open func managedObjectContextDidRegisterObjects(with objectIDs: [NSManagedObjectID]) {}
  /// Called after contexts unregistered objects. The default implementation does nothing.
  open func managedObjectContextDidUnregisterObjects(with objectIDs: [NSManagedObjectID]) {}

  /// Returns the object ID for a reference object: a number, a string, or an object with a unique description.
  ///
  /// - Parameters:
  ///   - entity: The object's entity.
  ///   - data: The reference object.
  public final func newObjectID(for entity: NSEntityDescription, referenceObject data: Any) -> NSManagedObjectID {
    guard let space = space.withLock({ $0 }) ?? store?.space, let compiled = space.model.entity(named: entity.name ?? "") else {
      // The entity must belong to the store, and the store must be open. Core Data raises an exception too.
      preconditionFailure(
        "the store of the class \(Swift.type(of: self)) has no objects of the entity “\(entity.name ?? "")”, or is not open")
    }
    let key: Int64
    let reference: ReferenceObject
    if let number = (data as? NSNumber)?.int64Value ?? (data as? Int).map(Int64.init), (1..<1 << 46).contains(number) {
      (key, reference) = (number, .integer(number))
    } else {
      let text = "\(data)"
      (key, reference) = (space.key(forReference: text, entityNumber: compiled.number), .string(text))
    }
    let boxed = SendableBox(value: data)
    references.withLock { $0[reference] = boxed }
    return NSManagedObjectID(space: space.number, entityNumber: UInt32(compiled.number), key: key)
  }

  /// Returns the reference object of an object ID.
  public final func referenceObject(for objectID: NSManagedObjectID) -> Any {
    let space = space.withLock({ $0 }) ?? store?.space
    let reference = space?.internedReference(forKey: objectID.key).map(ReferenceObject.string) ?? .integer(objectID.key)
    if let known = references.withLock({ $0[reference] }) { return known.value }
    switch reference {
    case .integer(let number): return NSNumber(value: number)
    case .string(let text): return text
    }
  }

  /// Sets the store's ID space.
  final func setObjectIDSpace(_ new: ObjectIDSpace) { space.withLock { $0 = new } }

  /// Called once the metadata is loaded and IDs can be created.
  func didLoad() throws {}

  /// Whether fetches are evaluated over all objects in memory instead of by the store.
  var evaluatesInMemory: Bool { false }
  /// Returns all objects of an entity and its subentities, if fetches are evaluated in memory.
  func allObjects(of entity: CompiledEntity) -> [NSManagedObjectID] { [] }
}

/// A save of a custom store.
public final class NSSaveChangesRequest: NSPersistentStoreRequest {
  /// The objects to insert.
  public let insertedObjects: Set<NSManagedObject>?
  /// The objects to update.
  public let updatedObjects: Set<NSManagedObject>?
  /// The objects to delete.
  public let deletedObjects: Set<NSManagedObject>?
  /// The objects whose versions must be unchanged since they were fetched.
  public let lockedObjects: Set<NSManagedObject>?

  /// Creates a save request.
  ///
  /// - Parameters:
  ///   - insertedObjects: The objects to insert.
  ///   - updatedObjects: The objects to update.
  ///   - deletedObjects: The objects to delete.
  ///   - lockedObjects: The objects whose versions must be unchanged since they were fetched.
  public init(
    inserted insertedObjects: Set<NSManagedObject>?, updated updatedObjects: Set<NSManagedObject>?,
    deleted deletedObjects: Set<NSManagedObject>?, locked lockedObjects: Set<NSManagedObject>?
  ) {
    (self.insertedObjects, self.updatedObjects) = (insertedObjects, updatedObjects)
    (self.deletedObjects, self.lockedObjects) = (deletedObjects, lockedObjects)
  }

  /// The save request type.
  public override var requestType: NSPersistentStoreRequestType { .saveRequestType }
}

/// The errors of an incorrect custom store.
enum IncrementalStoreError: LocalizedError, CodedError {
  case noClass(String)
  case notOverridden(String, String)
  case noIdentifier(String)
  case unexpectedResult(String, asked: String)
  case unexpectedCount(String, asked: Int, given: Int)
  case missingURL(String)
  case notOpen(String)

  var number: Int {
    switch self {
    case .noClass: NSPersistentStoreInvalidTypeError
    case .noIdentifier, .missingURL: NSPersistentStoreOpenError
    case .notOverridden, .unexpectedResult, .unexpectedCount, .notOpen: NSPersistentStoreOperationError
    }
  }

  var errorDescription: String? {
    switch self {
    case .noClass(let type):
      "no subclass of NSIncrementalStore or NSAtomicStore is registered for the store type \(type)"
    case .notOverridden(let function, let type): "\(type) must implement \(function); override it"
    case .noIdentifier(let type): "loadMetadata() of \(type) has not set an identifier; set metadata with a string for NSStoreUUIDKey"
    case .unexpectedResult(let type, let asked): "\(type) returned something other than \(asked)"
    case .unexpectedCount(let type, let asked, let given): "\(type) was asked for \(asked) permanent IDs and returned \(given)"
    case .notOpen(let type): "the store of the class \(type) is not open; add one of its type to the coordinator"
    case .missingURL(let type): "the description of the store of the type \(type) has no URL; set one"
    }
  }
}
