// ObjectRegistry: the living objects of a context by their IDs, and the IDs and stores that new ones get.
package import ObjectModel
package import ObjectStore
import Synchronization

/// The living objects of a context by their IDs, unretained unless the context is to hold them; and of new objects the stores that they go to and the
/// permanent IDs that they have got.
///
/// Lies in the context itself, and what reads it is inlined, so that a look-up loads the fields that it needs and retains none of them. It calls nobody
/// who may come back while it changes: the stores that want to hear of an object are returned, and told by the caller.
package struct ObjectRegistry: ~Copyable {
  private let rowSource: RowSource
  /// The root of each entity.
  private let roots: [Int]
  /// Objects with permanent keys: for each store, by the order in which they were met, a map for each entity that is a root.
  private var maps: ContiguousArray<UnsafeMutablePointer<IdentityMap>> = []
  /// The numbers of these stores' spaces.
  private var spaces: ContiguousArray<UInt32> = []
  /// Those of the stores that want to hear of objects.
  private var listeners: [PersistentStore?] = []
  private var hasListeners = false
  /// Objects that were never saved, by the distance of their key from the first.
  private var temporaryMap = IdentityMap()
  /// The permanent IDs of objects that had temporary ones when they were put into relationships.
  private var permanentIDs = PermanentIDTable()
  /// The stores that new objects were assigned to, by the objects' keys.
  private var assignedSpaces: [Int64: UInt32] = [:]
  /// The spaces that other new objects of each entity go to, as long as the coordinator has the stores that it had.
  private var homeSpaces: (storesVersion: Int, spaces: [UInt32]) = (-1, [])
  /// The objects that the context holds; nil when it holds changed ones only.
  private var held: Set<ManagedObject>?

  package init(_ rowSource: RowSource, model: CompiledModel) {
    self.rowSource = rowSource
    roots = model.entities.map(\.root)
  }

  deinit {
    for maps in maps {
      for root in roots.indices { maps[root].deallocate() }
      maps.deinitialize(count: roots.count).deallocate()
    }
    temporaryMap.deallocate()
  }

  /// The root of an entity's tree.
  @inline(__always) func root(ofEntity number: Int) -> Int { roots[number] }

  // MARK: Finding

  /// The living object of a row; nil when nobody holds one.
  @inline(__always) package func object(_ reference: ObjectReference, space: UInt32) -> ManagedObject? {
    if !spaces.isEmpty && spaces[0] == space { return maps[0][roots[reference.entity]].object(reference.key) }
    guard let index = Self.laterIndex(of: space, in: spaces) else { return nil }
    return maps[index][roots[reference.entity]].object(reference.key)
  }

  /// The living object of a row as ``object(_:space:)`` gives it, not retained.
  // `Unmanaged` is what the maps hold; whoever asks is done with it before anybody lets go of anything.
  @inline(__always) func unretainedObject(_ reference: ObjectReference, space: UInt32) -> Unmanaged<ManagedObject>? {
    if !spaces.isEmpty && spaces[0] == space { return maps[0][roots[reference.entity]].unretainedObject(reference.key) }
    guard let index = Self.laterIndex(of: space, in: spaces) else { return nil }
    return maps[index][roots[reference.entity]].unretainedObject(reference.key)
  }

  /// The living object of a row where it takes no call to find it; nil also where more is to be looked at.
  // Not retained for the reason above.
  @inline(__always) func objectNearby(_ reference: ObjectReference, space: UInt32) -> Unmanaged<ManagedObject>? {
    if spaces.isEmpty || spaces[0] != space { return nil }
    return maps[0][roots[reference.entity]].objectNearby(reference.key)
  }

  @inline(never) private static func laterIndex(of space: UInt32, in spaces: ContiguousArray<UInt32>) -> Int? {
    spaces.firstIndex(of: space)
  }

  /// The living object that was never saved.
  @inline(__always) package func newObject(_ reference: ObjectReference) -> ManagedObject? { temporaryMap.object(-reference.key) }

  /// Visits every living object. The visitor neither makes objects nor lets go of any.
  func forEach(_ body: (ManagedObject) -> Void) {
    for maps in maps { for root in roots.indices where maps[root].count > 0 { maps[root].forEach(body) } }
    temporaryMap.forEach(body)
  }

  // MARK: Coming and going

  /// Enters an object by its ID.
  ///
  /// - Returns: The store that wants to hear of it, if there is one.
  package mutating func insert(_ object: ManagedObject) -> PersistentStore? {
    let objectID = object.currentID
    if objectID.isTemporaryID {
      temporaryMap.insert(object, key: -objectID.key)
      return nil
    }
    let index = mapIndex(objectID.space)
    maps[index][roots[Int(objectID.entityNumber)]].insert(object, key: objectID.key)
    return hasListeners ? listeners[index] : nil
  }

  /// Forgets an object: it has died, or leaves the context.
  ///
  /// - Returns: The store that wants to hear of it, if there is one.
  package mutating func remove(_ object: ManagedObject) -> PersistentStore? {
    let objectID = object.currentID
    if objectID.isTemporaryID {
      temporaryMap.remove(-objectID.key, ifSame: object)
      return nil
    }
    let index = mapIndex(objectID.space)
    maps[index][roots[Int(objectID.entityNumber)]].remove(objectID.key, ifSame: object)
    return hasListeners ? listeners[index] : nil
  }

  /// The store that wants to hear of an object, if there is one.
  func listener(for objectID: ManagedObjectID) -> PersistentStore? {
    guard hasListeners, !objectID.isTemporaryID, let index = spaces.firstIndex(of: objectID.space) else { return nil }
    return listeners[index]
  }

  /// The index of a store's maps.
  @inline(__always) private mutating func mapIndex(_ space: UInt32) -> Int {
    !spaces.isEmpty && spaces[0] == space ? 0 : laterMapIndex(space)
  }

  private mutating func laterMapIndex(_ space: UInt32) -> Int {
    if let index = spaces.firstIndex(of: space) { return index }
    spaces.append(space)
    let made = UnsafeMutablePointer<IdentityMap>.allocate(capacity: roots.count)
    made.initialize(repeating: IdentityMap(), count: roots.count)
    maps.append(made)
    let store = rowSource.store(numbered: space)
    let listens = store.map(rowSource.wantsNotices) ?? false
    listeners.append(listens ? store : nil)
    if listens { hasListeners = true }
    return spaces.count - 1
  }

  // MARK: Holding

  /// Whether all objects are held.
  var holdsObjects: Bool { held != nil }

  /// Holds an object if all are held.
  @inline(__always) mutating func hold(_ object: ManagedObject) {
    if held != nil { held?.insert(object) }
  }

  /// Lets go of an object, which the caller holds.
  mutating func release(_ object: ManagedObject) {
    if held != nil { held?.remove(object) }
  }

  /// Sets what is held: nil holds nothing from now on.
  ///
  /// - Returns: What was held until now. Some of it dies with the result, and is forgotten then.
  mutating func exchangeHeld(_ objects: Set<ManagedObject>?) -> Set<ManagedObject>? {
    let former = held
    held = objects
    return former
  }

  // MARK: Temporary IDs and permanent ones

  private static let lastTemporaryKey = Atomic<Int64>(0)

  /// An ID that no other object of the process has.
  package static func makeTemporaryID(_ entity: CompiledEntity, space: UInt32) -> ManagedObjectID {
    let key = lastTemporaryKey.wrappingAdd(1, ordering: .relaxed).newValue
    return ManagedObjectID(space: space, entityNumber: UInt32(entity.number), key: -key)
  }

  /// Gives a new object its permanent ID. Who knows it by the temporary one still finds it.
  ///
  /// - Returns: The store that wants to hear of it, if there is one.
  package mutating func adopt(_ permanent: ManagedObjectID, for object: ManagedObject) -> PersistentStore? {
    let old = object.currentID
    temporaryMap.remove(-old.key, ifSame: object)
    permanentIDs[old.reference] = permanent
    if !assignedSpaces.isEmpty { assignedSpaces.removeValue(forKey: old.key) }
    object.currentID = permanent
    return insert(object)
  }

  /// The permanent ID of an object that had a temporary one; nil when it has none, or the table was emptied since.
  @inline(__always) package func permanentID(_ reference: ObjectReference) -> ManagedObjectID? { permanentIDs[reference] }

  /// Whether some object has got a permanent ID that others may not know it by.
  var hasPermanentIDs: Bool { !permanentIDs.isEmpty }

  /// The reference of an object as it is saved: of a new object its permanent one.
  @inline(__always) package func savedReference(_ reference: ObjectReference) -> ObjectReference {
    reference.key < 0 ? permanentIDs[reference]?.reference ?? reference : reference
  }

  /// Nobody knows an object by its temporary ID any more.
  package mutating func forgetPermanentIDs() { permanentIDs.removeAll() }

  // MARK: Stores of new objects

  /// The space of the store that a new object goes to.
  mutating func space(ofNew objectID: ManagedObjectID) -> UInt32 {
    if !assignedSpaces.isEmpty, let assigned = assignedSpaces[objectID.key] { return assigned }
    return homeSpace(ofEntity: Int(objectID.entityNumber))
  }

  /// The space of the first store that holds an entity.
  private mutating func homeSpace(ofEntity number: Int) -> UInt32 {
    let version = rowSource.storesVersion
    if homeSpaces.storesVersion == version { return homeSpaces.spaces[number] }
    let stores = rowSource.stores
    let spaces = roots.indices.map { number in
      (stores.first { $0.entityNumbers.contains(number) } ?? stores.first)?.space.number ?? rowSource.temporarySpace
    }
    homeSpaces = (version, spaces)
    return spaces[number]
  }

  /// Whether a store was chosen for a new object.
  func isAssigned(_ objectID: ManagedObjectID) -> Bool { assignedSpaces[objectID.key] != nil }

  /// Chooses the store that a new object goes to.
  mutating func assign(_ objectID: ManagedObjectID, to space: UInt32) { assignedSpaces[objectID.key] = space }

  /// The stores chosen for new objects, for ``restore(assignments:)``.
  func assignments() -> [Int64: UInt32] { assignedSpaces }

  /// Takes back the choices made since.
  mutating func restore(assignments: [Int64: UInt32]) { assignedSpaces = assignments }

  /// Forgets all choices.
  mutating func forgetAssignments() { assignedSpaces = [:] }
}
