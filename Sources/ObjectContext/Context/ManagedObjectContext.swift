// ManagedObjectContext: a scratch pad of living objects over the stores of a coordinator.
public import Foundation
public import ObjectModel
public import ObjectStore
import Synchronization

/// A scratch pad of living objects over the stores of a coordinator: it finds, makes and deletes them, keeps one object for each row, and saves what
/// was changed, all of it or nothing.
///
/// A context is not `Sendable`: it and its objects stay in one isolation. ``PersistentContainer/viewContext`` belongs to the main actor;
/// ``PersistentContainer/performBackgroundTask(_:)``, ``PersistentContainer/newBackgroundContext()`` and ``ContextActor`` give contexts elsewhere.
public final class ManagedObjectContext {
  /// The coordinator whose stores are read and written.
  public let persistentStoreCoordinator: PersistentStoreCoordinator
  /// The classes of the objects.
  public let classes: ManagedObjectClasses
  /// A name for the context, for the history and for messages.
  public var name: String?
  /// Who makes the changes, for the history.
  public var transactionAuthor: String?
  /// Notes of the application.
  public var userInfo: [String: Any] = [:]
  /// How many seconds old rows of the row cache may be when a fault is fired: any age when negative, which is the default; 0 always reads the store.
  public var stalenessInterval: TimeInterval = -1
  /// Whether a fault whose row is gone counts as deleted (the default); otherwise the next save throws.
  public var shouldDeleteInaccessibleFaults = true
  /// Asked about a fault whose row is gone; return true when the matter is dealt with. The parameters are the object, its ID and the property asked for.
  public var inaccessibleFaultHandler: ((ManagedObject, ManagedObjectID, String?) -> Bool)?
  /// Whether delete rules run at the end of an event, that is in ``processPendingChanges()``, or only at the save.
  public var propagatesDeletesAtEndOfEvent = true
  /// Whether the context holds all its objects, or, which is the default, only changed ones.
  public var retainsRegisteredObjects = false {
    didSet { retained = retainsRegisteredObjects ? registeredObjects : [] }
  }

  let coordinator: PersistentStoreCoordinator
  let model: CompiledModel
  private let types: [ManagedObject.Type]
  /// Living objects with permanent keys, by the space of their store and the root of their entity.
  private var maps: [[IdentityMap]] = []
  private var spaces: [UInt32] = []
  /// The stores, by the index of their maps, that want to hear of registered objects.
  private var listeners: [PersistentStore?] = []
  /// Living objects that were never saved, by the distance of their key from the first.
  private var temporaryMap = IdentityMap()
  /// The permanent IDs of objects that had temporary ones when they were put into relationships.
  var permanentIDs: [ObjectReference: ManagedObjectID] = [:]
  /// The stores that new objects were assigned to.
  var assignedSpaces: [Int64: UInt32] = [:]
  var unitOfWork = UnitOfWork()
  var groups: [FetchGroup?] = []
  var lastGroup: UInt32 = 0
  var groupBytes = 0
  /// The objects on the way of the paths that the last prefetching fetch followed.
  var prefetched: [ManagedObject] = []
  /// Relationships of which some object has a state.
  private var relationshipsWithStates: [Bool]
  /// Rows that this context deleted while objects may still refer to them.
  var goneReferences: Set<ObjectReference> = []
  /// What went wrong where nothing could be thrown; the next save or fetch throws it.
  private var notedError: (any Error)?
  private var retained: Set<ManagedObject> = []
  /// The prepared checks of attributes, by entity number.
  var attributeCheckers: [Int: [AttributeChecker?]] = [:]
  let notifications = ContextNotifications()

  /// Makes a context over a coordinator's stores.
  ///
  /// - Parameters:
  ///   - coordinator: The coordinator.
  ///   - classes: The classes of the objects, generated for this model; entities without one have plain ``ManagedObject``s.
  public init(coordinator: PersistentStoreCoordinator, classes: ManagedObjectClasses = ManagedObjectClasses()) {
    persistentStoreCoordinator = coordinator
    self.coordinator = coordinator
    self.classes = classes
    model = coordinator.compiledModel
    // Literal slot numbers of another model would read memory as what it is not.
    precondition(classes.issues(with: model).isEmpty, "the classes were generated for another model than the coordinator's")
    types = model.entities.map { classes.type(of: $0.name) ?? ManagedObject.self }
    relationshipsWithStates = Array(repeating: false, count: model.relationships.count)
  }

  deinit {
    var forgotten: [Int: [ManagedObjectID]] = [:]
    let hasListeners = listeners.contains { $0 != nil }
    forEachRegistered { object in
      object.contextReference = nil
      if hasListeners, !object.currentID.isTemporaryID { forgotten[mapIndex(object.currentID.space), default: []].append(object.currentID) }
    }
    for (index, ids) in forgotten { listeners[index]?.incrementalStore.managedObjectContextDidUnregisterObjects(with: ids) }
    for index in maps.indices { for root in maps[index].indices { maps[index][root].removeAll() } }
    temporaryMap.removeAll()
  }

  // MARK: Classes

  /// The entity of a class; a class that is not in the table is a mistake of the program.
  func entity(ofClass type: ManagedObject.Type) -> CompiledEntity {
    guard let name = classes.entityName(of: type), let entity = model.entity(named: name) else {
      preconditionFailure("\(type) is not the class of an entity of this context's model; add it to the container's ManagedObjectClasses")
    }
    return entity
  }

  func type(ofEntity number: Int) -> ManagedObject.Type { types[number] }

  // MARK: Identity

  /// The index of a store's maps.
  private func mapIndex(_ space: UInt32) -> Int {
    if let first = spaces.first, first == space { return 0 }
    if let index = spaces.firstIndex(of: space) { return index }
    spaces.append(space)
    maps.append(Array(repeating: IdentityMap(), count: model.entities.count))
    let store = coordinator.store(numbered: space)
    listeners.append(store?.incrementalStore.wantsRegistrationNotices ?? false ? store : nil)
    return spaces.count - 1
  }

  /// The space that an object's relationships lead to: its store's, or for a new object that of the store it will be saved to.
  func space(of object: ManagedObject) -> UInt32 {
    let objectID = object.currentID
    if !objectID.isTemporaryID { return objectID.space }
    if !assignedSpaces.isEmpty, let assigned = assignedSpaces[objectID.key] { return assigned }
    return homeSpace(ofEntity: Int(objectID.entityNumber))
  }

  /// The space of the first store that holds an entity.
  func homeSpace(ofEntity number: Int) -> UInt32 {
    let stores = coordinator.persistentStores
    return (stores.first { $0.entityNumbers.contains(number) } ?? stores.first)?.space.number ?? coordinator.temporarySpace.number
  }

  /// The living object of a row; nil when nobody holds one.
  func registeredObject(_ reference: ObjectReference, space: UInt32) -> ManagedObject? {
    maps.isEmpty ? nil : maps[mapIndex(space)][model.entities[reference.entity].root].object(reference.key)
  }

  func registeredObject(_ reference: ObjectReference, near object: ManagedObject) -> ManagedObject? {
    reference.key < 0 ? temporaryObject(reference) : registeredObject(reference, space: space(of: object))
  }

  /// The living object that was never saved, or that was saved under another ID since the reference was made.
  func temporaryObject(_ reference: ObjectReference) -> ManagedObject? {
    if let object = temporaryMap.object(-reference.key) { return object }
    guard let permanent = permanentIDs[reference] else { return nil }
    return object(with: permanent)
  }

  /// The object of a reference: the living one or a new fault.
  func object(_ reference: ObjectReference, near object: ManagedObject) -> ManagedObject? {
    if reference.isNull { return nil }
    if reference.key < 0 { return temporaryObject(reference) }
    let space = space(of: object)
    return registeredObject(reference, space: space) ?? makeFault(reference, space: space)
  }

  func objectID(_ reference: ObjectReference, near object: ManagedObject) -> ManagedObjectID? {
    if reference.key < 0 { return temporaryObject(reference)?.currentID }
    return ManagedObjectID(space: space(of: object), entityNumber: UInt32(reference.entity), key: reference.key)
  }

  /// A new fault for a row.
  func makeFault(_ reference: ObjectReference, space: UInt32) -> ManagedObject {
    makeObject(ManagedObjectID(space: space, entityNumber: UInt32(reference.entity), key: reference.key), image: nil)
  }

  /// A new object for a row that no living object stands for.
  func makeObject(_ objectID: ManagedObjectID, image: RowImage?) -> ManagedObject {
    let object = types[Int(objectID.entityNumber)].init(
      ManagedObjectSeed(objectID: objectID, context: self, image: image, flags: [.isFault]))
    register(object)
    if retainsRegisteredObjects { retained.insert(object) }
    return object
  }

  /// Enters an object with a permanent ID.
  private func register(_ object: ManagedObject) {
    let objectID = object.currentID
    let index = mapIndex(objectID.space)
    maps[index][model.entities[Int(objectID.entityNumber)].root].insert(object, key: objectID.key)
    listeners[index]?.incrementalStore.managedObjectContextDidRegisterObjects(with: [objectID])
  }

  /// An object that nobody holds any more has died.
  func forget(_ object: ManagedObject) {
    let objectID = object.currentID
    if objectID.isTemporaryID {
      temporaryMap.remove(-objectID.key, ifSame: object)
    } else if !maps.isEmpty {
      let index = mapIndex(objectID.space)
      maps[index][model.entities[Int(objectID.entityNumber)].root].remove(objectID.key, ifSame: object)
      listeners[index]?.incrementalStore.managedObjectContextDidUnregisterObjects(with: [objectID])
    }
  }

  private static let lastTemporaryKey = Atomic<Int64>(0)

  /// An ID that no other object of the process has.
  func makeTemporaryID(_ entity: CompiledEntity) -> ManagedObjectID {
    Self.makeTemporaryID(entity, space: coordinator.temporarySpace.number)
  }

  static func makeTemporaryID(_ entity: CompiledEntity, space: UInt32) -> ManagedObjectID {
    let key = lastTemporaryKey.wrappingAdd(1, ordering: .relaxed).newValue
    return ManagedObjectID(space: space, entityNumber: UInt32(entity.number), key: -key)
  }

  func registerTemporary(_ object: ManagedObject) {
    temporaryMap.insert(object, key: -object.currentID.key)
  }

  /// A new object has got its permanent ID.
  func adopt(_ permanent: ManagedObjectID, for object: ManagedObject) {
    let old = object.currentID
    temporaryMap.remove(-old.key, ifSame: object)
    permanentIDs[old.reference] = permanent
    assignedSpaces.removeValue(forKey: old.key)
    object.currentID = permanent
    register(object)
  }

  /// The deletion of an object was saved, or its insertion was given up: it leaves the context.
  func detach(_ object: ManagedObject) {
    forget(object)
    object.contextReference = nil
    retained.remove(object)
  }

  /// Takes deleted rows out of members read earlier, once there are many: a long-lived context must not remember all that it ever deleted.
  func forgetGoneMembers() {
    guard goneReferences.count > Self.goneReferenceLimit else { return }
    let gone = goneReferences
    forEachRegistered { object in
      for state in object.toManyStates ?? [] { state?.forget(gone) }
    }
    goneReferences = []
  }

  private static var goneReferenceLimit: Int { 4_096 }

  /// Visits every living object.
  func forEachRegistered(_ body: (ManagedObject) -> Void) {
    for map in maps { for root in map { if root.count > 0 { root.forEach(body) } } }
    temporaryMap.forEach(body)
  }

  // MARK: Relationship states

  func noteToManyState(_ relationship: CompiledRelationship) { relationshipsWithStates[relationship.id] = true }
  func mayHaveStates(_ relationship: CompiledRelationship) -> Bool { relationshipsWithStates[relationship.id] }

  /// Whether some object's members may name an object.
  func mayBeMember(_ object: ManagedObject) -> Bool {
    let number = Int(object.currentID.entityNumber)
    return model.relationships.contains {
      relationshipsWithStates[$0.id] && $0.isToMany && model.entities[$0.destinationEntity].subtree.contains(number)
    }
  }

  // MARK: Errors and scopes

  /// Keeps the first error of those that could not be thrown where they happened.
  func note(_ error: any Error) {
    if notedError == nil { notedError = error }
  }

  /// Throws what could not be thrown earlier.
  func throwNotedError() throws {
    if let error = notedError {
      notedError = nil
      throw error
    }
  }

  /// The error of the last property read that could not be answered, such as a damaged page; nil when there was none. ``save()`` and fetches throw it.
  public var pendingError: (any Error)? { notedError }

  func forgetNotedError() { notedError = nil }

  func scope(for store: PersistentStore) -> RequestScope {
    RequestScope(objectIDSpace: store.space, contextName: name, transactionAuthor: transactionAuthor)
  }
}
