// NSIncrementalStore: stores of the application's own, which are asked for what is needed.
public import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import Synchronization

/// The values of an object in a store of the application's own.
open class NSIncrementalStoreNode: NSObject {
  /// The object.
  public let objectID: NSManagedObjectID
  /// The version, which grows with each save of the object.
  public private(set) var version: UInt64
  private var values: [String: Any]

  /// A node of values by name: those of attributes, and for to-one relationships the ID of the object, or `NSNull` for none.
  ///
  /// - Parameters:
  ///   - objectID: The object.
  ///   - values: The values. A to-one relationship without one is asked for by ``NSIncrementalStore/newValue(forRelationship:forObjectWith:with:)``.
  ///   - version: The version.
  public init(objectID: NSManagedObjectID, withValues values: [String: Any], version: UInt64) {
    (self.objectID, self.values, self.version) = (objectID, values, version)
  }

  /// Takes other values.
  public func update(withValues values: [String: Any], version: UInt64) { (self.values, self.version) = (values, version) }

  /// The value of an attribute, or the ID of a to-one relationship's object; nil where nothing is known.
  open func value(for prop: NSPropertyDescription) -> Any? { values[prop.name] }
}

/// A store of the application's own: a subclass fetches, saves and gives values, and is registered by
/// ``NSPersistentStoreCoordinator/registerStoreClass(_:forStoreType:)``.
///
/// A fetch is asked for objects, or for their IDs, or for a count; dictionaries are made of the objects. The context that a function is given is one of the
/// store's own, whose objects have the values that are saved: to-many relationships whose inverse is to-one are there as they are stored. Functions are called
/// on the thread of whoever asks, one at a time. What such a store writes is encrypted by the application, or not at all.
open class NSIncrementalStore: NSPersistentStore, @unchecked Sendable {  // the face takes turns
  private let references = Mutex<[ReferenceObject: Lent<Any>]>([:])
  private let space = Mutex<ObjectIDSpace?>(nil)

  /// An identifier for a new store.
  open class func identifierForNewStore(at storeURL: URL) -> Any { UUID().uuidString }

  /// Sets the ``NSPersistentStore/metadata``, with ``NSStoreUUIDKey`` and ``NSStoreTypeKey``. This implementation names a new store.
  ///
  /// - Throws: What adding the store throws.
  open func loadMetadata() throws {
    metadata = [NSStoreUUIDKey: "\(Self.identifierForNewStore(at: url ?? URL(fileURLWithPath: "/dev/null")))", NSStoreTypeKey: type]
  }

  /// Answers an ``NSFetchRequest`` with objects, IDs or numbers in an array, or an ``NSSaveChangesRequest`` with an empty array. This implementation throws.
  ///
  /// - Parameters:
  ///   - request: What is asked.
  ///   - context: The context whose objects are given.
  /// - Throws: What the fetch or save throws.
  open func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext?) throws -> Any {
    throw IncrementalStoreError.notOverridden("execute(_:with:)", "\(Swift.type(of: self))")
  }

  /// The values of an object. This implementation throws.
  ///
  /// - Throws: `NSError` with ``NSManagedObjectReferentialIntegrityError`` where the object is gone; what the fetch throws.
  open func newValuesForObject(with objectID: NSManagedObjectID, with context: NSManagedObjectContext) throws -> NSIncrementalStoreNode {
    throw IncrementalStoreError.notOverridden("newValuesForObject(with:with:)", "\(Swift.type(of: self))")
  }

  /// The IDs of a to-many relationship's objects in an array, or the ID of a to-one relationship's object. This implementation throws.
  ///
  /// - Parameters:
  ///   - relationship: The relationship.
  ///   - objectID: The object at its source.
  ///   - context: The context whose objects are given.
  /// - Throws: What the fetch throws.
  open func newValue(
    forRelationship relationship: NSRelationshipDescription, forObjectWith objectID: NSManagedObjectID,
    with context: NSManagedObjectContext?
  ) throws -> Any {
    throw IncrementalStoreError.notOverridden("newValue(forRelationship:forObjectWith:with:)", "\(Swift.type(of: self))")
  }

  /// Permanent IDs for new objects, in their order. This implementation throws.
  ///
  /// - Throws: What the save throws.
  open func obtainPermanentIDs(for array: [NSManagedObject]) throws -> [NSManagedObjectID] {
    throw IncrementalStoreError.notOverridden("obtainPermanentIDs(for:)", "\(Swift.type(of: self))")
  }

  /// Called after contexts have registered objects. This implementation does nothing.
  open func managedObjectContextDidRegisterObjects(with objectIDs: [NSManagedObjectID]) {}
  /// Called after contexts have forgotten objects. This implementation does nothing.
  open func managedObjectContextDidUnregisterObjects(with objectIDs: [NSManagedObjectID]) {}

  /// The ID of the object that something stands for: a number or a text, or something else that its description tells from others.
  ///
  /// - Parameters:
  ///   - entity: The object's entity.
  ///   - data: What stands for it.
  public final func newObjectID(for entity: NSEntityDescription, referenceObject data: Any) -> NSManagedObjectID {
    guard let space = space.withLock({ $0 }) ?? store?.space, let compiled = space.model.entity(named: entity.name ?? "") else {
      // There is no ID of an entity that the store has not, nor of a store that is not open; Core Data raises here too.
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
    let lent = Lent(value: data)
    references.withLock { $0[reference] = lent }
    return NSManagedObjectID(space: space.number, entityNumber: UInt32(compiled.number), key: key)
  }

  /// What stands for an object.
  public final func referenceObject(for objectID: NSManagedObjectID) -> Any {
    let space = space.withLock({ $0 }) ?? store?.space
    let reference = space?.internedReference(forKey: objectID.key).map(ReferenceObject.string) ?? .integer(objectID.key)
    if let known = references.withLock({ $0[reference] }) { return known.value }
    switch reference {
    case .integer(let number): return NSNumber(value: number)
    case .string(let text): return text
    }
  }

  /// The store has an ID space from now on.
  final func noteSpace(_ new: ObjectIDSpace) { space.withLock { $0 = new } }

  /// The metadata are there, and IDs can be made.
  func noteLoaded() throws {}

  /// Whether fetches are answered over all objects, and not by the store.
  var answersInMemory: Bool { false }
  /// All objects of an entity and those below it, where fetches are answered over them.
  func allObjects(of entity: CompiledEntity) -> [NSManagedObjectID] { [] }
}

/// A save, for a store of the application's own.
public final class NSSaveChangesRequest: NSPersistentStoreRequest {
  /// The objects to insert.
  public let insertedObjects: Set<NSManagedObject>?
  /// The objects to update.
  public let updatedObjects: Set<NSManagedObject>?
  /// The objects to delete.
  public let deletedObjects: Set<NSManagedObject>?
  /// The objects whose versions are to be those that were read.
  public let lockedObjects: Set<NSManagedObject>?

  /// A save of objects.
  ///
  /// - Parameters:
  ///   - insertedObjects: The objects to insert.
  ///   - updatedObjects: The objects to update.
  ///   - deletedObjects: The objects to delete.
  ///   - lockedObjects: The objects whose versions are to be those that were read.
  public init(
    inserted insertedObjects: Set<NSManagedObject>?, updated updatedObjects: Set<NSManagedObject>?,
    deleted deletedObjects: Set<NSManagedObject>?, locked lockedObjects: Set<NSManagedObject>?
  ) {
    (self.insertedObjects, self.updatedObjects) = (insertedObjects, updatedObjects)
    (self.deletedObjects, self.lockedObjects) = (deletedObjects, lockedObjects)
  }

  /// That changes are saved.
  public override var requestType: NSPersistentStoreRequestType { .saveRequestType }
}

/// What is wrong with a store of the application's own.
enum IncrementalStoreError: LocalizedError, NumberedError {
  case noClass(String)
  case notOverridden(String, String)
  case noIdentifier(String)
  case otherAnswer(String, asked: String)
  case otherCount(String, asked: Int, given: Int)
  case noPlace(String)
  case notOpen(String)

  var number: Int {
    switch self {
    case .noClass: NSPersistentStoreInvalidTypeError
    case .noIdentifier, .noPlace: NSPersistentStoreOpenError
    case .notOverridden, .otherAnswer, .otherCount, .notOpen: NSPersistentStoreOperationError
    }
  }

  var errorDescription: String? {
    switch self {
    case .noClass(let type):
      "the class registered for stores of the type \(type) is not below NSIncrementalStore or NSAtomicStore, or there is none"
    case .notOverridden(let function, let type): "\(type) has no \(function) of its own, which it needs; override it"
    case .noIdentifier(let type): "loadMetadata() of \(type) has set no identifier; set metadata with a text under NSStoreUUIDKey"
    case .otherAnswer(let type, let asked): "\(type) has answered with something else than \(asked)"
    case .otherCount(let type, let asked, let given): "\(type) was asked for \(asked) permanent IDs and has given \(given)"
    case .notOpen(let type): "the store of the class \(type) is not open; add one of its type to the coordinator"
    case .noPlace(let type): "the description of the store of the type \(type) has no URL; set one"
    }
  }
}
