// NSManagedObjectContext+Objects: fetching, finding, changing and saving objects.
import Foundation
public import ObjectContext
public import ObjectModel
import ObjectQuery
import ObjectStore

extension NSManagedObjectContext {
  // MARK: Fetching

  /// What a request asks for: objects, IDs, dictionaries or one number, as its result type says.
  ///
  /// - Throws: `NSError`.
  public func fetch<Result>(_ request: NSFetchRequest<Result>) throws -> [Result] {
    checkQueue("fetch(_:)")
    return try CoreDataError.translating {
      try throwMisuse()
      let specification = try request.specification()
      let found: Any
      switch request.resultType {
      case .managedObjectIDResultType: found = try context.fetch(FetchRequest<ManagedObjectID>(asking: specification))
      case .dictionaryResultType:
        found = try context.fetch(FetchRequest<[String: Any]>(asking: specification)).map { NSDictionary(dictionary: $0) }
      case .countResultType: found = [NSNumber(value: try context.count(for: FetchRequest<ManagedObject>(asking: specification)))]
      default:
        let type = Result.self as? any (NSManagedObject & NSFetchRequestResult).Type
        found = try type.map { try objects($0, specification) } ?? context.fetch(FetchRequest<ManagedObject>(asking: specification))
      }
      // An array of the very type is not looked through.
      if let results = found as? [Result] { return results }
      throw FetchResultError(entity: request.entityName ?? "", type: "\(Result.self)")
    }
  }

  /// Objects, in an array of a class where they are all of it: only a generic function knows it, which a protocol's metatype is opened for.
  private func objects<Object: NSManagedObject & NSFetchRequestResult>(
    _ type: Object.Type, _ specification: FetchSpecification
  ) throws -> Any {
    if try context.returnsOnly(type, for: specification) { return try context.fetch(FetchRequest<Object>(asking: specification)) }
    return try context.fetch(FetchRequest<ManagedObject>(asking: specification))
  }

  /// How many objects a request asks for.
  ///
  /// - Throws: `NSError`.
  public func count<Result>(for request: NSFetchRequest<Result>) throws -> Int {
    checkQueue("count(for:)")
    return try CoreDataError.translating { try context.count(for: FetchRequest<ManagedObject>(asking: try request.specification())) }
  }

  // MARK: Finding

  /// The object of an ID, a fault where it is not there yet.
  public func object(with objectID: NSManagedObjectID) -> NSManagedObject {
    checkQueue("object(with:)")
    return typed(context.object(with: objectID))
  }
  /// The object of an ID, if the context has it already.
  public func registeredObject(for objectID: NSManagedObjectID) -> NSManagedObject? {
    checkQueue("registeredObject(for:)")
    return context.registeredObject(for: objectID).map(typed)
  }
  /// The object of an ID, which is looked for in the store where it is not there.
  ///
  /// - Throws: `NSError` where there is none.
  public func existingObject(with objectID: NSManagedObjectID) throws -> NSManagedObject {
    checkQueue("existingObject(with:)")
    return try CoreDataError.translating { typed(try context.existingObject(with: objectID)) }
  }

  private func typed(_ object: ManagedObject) -> NSManagedObject {
    let type = ObjectIdentifier(Swift.type(of: object))
    // unsafeDowncast: an object of this class was found to be one below.
    if type == lastClass { return unsafeDowncast(object, to: NSManagedObject.self) }
    guard let typed = object as? NSManagedObject else {
      // Every entity's class is entered as one below NSManagedObject.
      preconditionFailure("an object of the class \(Swift.type(of: object)) is in a context of the module CoreData")
    }
    lastClass = type
    return typed
  }

  /// The objects that the next save inserts.
  public var insertedObjects: Set<NSManagedObject> { all(context.insertedObjects, "insertedObjects") }
  /// The objects that the next save updates.
  public var updatedObjects: Set<NSManagedObject> { all(context.updatedObjects, "updatedObjects") }
  /// The objects that the next save deletes.
  public var deletedObjects: Set<NSManagedObject> { all(context.deletedObjects, "deletedObjects") }
  /// All living objects of the context.
  public var registeredObjects: Set<NSManagedObject> { all(context.registeredObjects, "registeredObjects") }

  private func all(_ objects: @autoclosure () -> Set<ManagedObject>, _ use: StaticString) -> Set<NSManagedObject> {
    checkQueue(use)
    return Set(objects().map(typed))
  }

  // MARK: Changing

  /// Whether objects were inserted, changed or deleted since the last save.
  public var hasChanges: Bool {
    checkQueue("hasChanges")
    return context.hasChanges
  }
  /// Inserts an object that was made without a context.
  public func insert(_ object: NSManagedObject) {
    checkQueue("insert(_:)")
    context.insert(object)
  }
  /// Marks an object for deletion by the next save.
  public func delete(_ object: NSManagedObject) {
    checkQueue("delete(_:)")
    context.delete(object)
  }
  /// Has the next save check an unchanged object's version.
  public func detectConflicts(for object: NSManagedObject) {
    checkQueue("detectConflicts(for:)")
    if owns(object, "detectConflicts(for:)") { context.detectConflicts(for: object) }
  }
  /// Makes an object a fault, or brings it in step with its row below its changes.
  public func refresh(_ object: NSManagedObject, mergeChanges: Bool) {
    checkQueue("refresh(_:mergeChanges:)")
    if owns(object, "refresh(_:mergeChanges:)") { context.refresh(object, mergeChanges: mergeChanges) }
  }
  /// Brings all objects in step with their rows.
  public func refreshAllObjects() {
    checkQueue("refreshAllObjects()")
    context.refreshAllObjects()
  }
  /// Ends an event: runs delete rules and tells observers what changed.
  public func processPendingChanges() {
    checkQueue("processPendingChanges()")
    context.processPendingChanges()
  }
  /// Takes back the last group of changes of the ``undoManager``. What goes wrong is told by ``pendingError``.
  public func undo() {
    checkQueue("undo()")
    undoManager?.undo()
  }
  /// Makes again what was taken back last.
  public func redo() {
    checkQueue("redo()")
    undoManager?.redo()
  }
  /// Has a new object saved to a store. What goes wrong, such as a store that does not hold the entity, is told by ``pendingError``.
  ///
  /// - Parameters:
  ///   - object: A new object.
  ///   - store: An open store of the coordinator.
  public func assign(_ object: Any, to store: NSPersistentStore) {
    guard let object = object as? NSManagedObject else { return }
    guard owns(object, "assign(_:to:)"), let open = store.store else { return }
    do { try context.assign(object, to: open) } catch { context.noteFailure(error) }
  }
  /// Drops all changes.
  public func rollback() {
    checkQueue("rollback()")
    context.rollback()
  }
  /// Forgets all objects.
  public func reset() {
    checkQueue("reset()")
    context.reset()
  }
  /// Gives new objects the IDs that they will have.
  ///
  /// - Throws: `NSError`.
  public func obtainPermanentIDs(for objects: [NSManagedObject]) throws {
    checkQueue("obtainPermanentIDs(for:)")
    try CoreDataError.translating {
      for object in objects where !owns(object, "obtainPermanentIDs(for:)") { try context.throwPendingError() }
      try context.obtainPermanentIDs(for: objects)
    }
  }

  /// Saves all changes, or none.
  ///
  /// - Throws: `NSError`.
  public func save() throws {
    checkQueue("save()")
    do {
      try throwMisuse()
      try context.save()
    } catch { throw savingError(error) }
  }
}

extension NSEntityDescription {
  /// The entity of a name in a context's model.
  public class func entity(forEntityName name: String, in context: NSManagedObjectContext) -> NSEntityDescription? {
    context.model?.entitiesByName[name]
  }

  /// Inserts a new object of an entity. There has to be such an entity.
  public class func insertNewObject(forEntityName name: String, into context: NSManagedObjectContext) -> NSManagedObject {
    context.checkQueue("insertNewObject(forEntityName:into:)")
    do {
      if let object = try context.context.insertObject(entityName: name) as? NSManagedObject { return object }
      // Every entity's class is entered as one below NSManagedObject.
      preconditionFailure("the class of the entity “\(name)” is not below NSManagedObject")
    } catch {
      // The function cannot fail, and an object of no entity is none; Core Data raises here too.
      preconditionFailure("\(error)")
    }
  }
}

/// What was fetched is not of the class that the request names.
struct FetchResultError: LocalizedError {
  let entity: String
  let type: String
  var errorDescription: String? {
    "the request for “\(entity)” names \(type), and what was fetched is of another type; see its result type and the entity's class"
  }
}
