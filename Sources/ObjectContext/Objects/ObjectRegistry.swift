package import ObjectModel
package import ObjectStore
import Synchronization

/// The registered objects of a context by ID, and the assigned stores and permanent IDs of new objects. Objects are retained only if the
/// context retains all registered objects.
///
/// The registry is stored inline in the context and its reads are inlined, so that a lookup loads only the fields it needs and retains none
/// of them. While it is modified, it makes no call that could reenter the context: it returns the stores that observe a registration, and
/// the caller notifies them.
package struct ObjectRegistry: ~Copyable {
  private let rowSource: RowSource
  /// The root entity of each entity.
  private let roots: [Int]
  /// Objects with permanent keys: for each store, in the order in which stores were first seen, one map for each root entity.
  private var maps: ContiguousArray<UnsafeMutablePointer<IdentityMap>> = []
  /// The space numbers of these stores.
  private var spaces: ContiguousArray<UInt32> = []
  /// Those of these stores that observe the registration of objects.
  private var listeners: [PersistentStore?] = []
  private var hasListeners = false
  /// Objects that were never saved, by the negated temporary key.
  private var temporaryMap = IdentityMap()
  /// The permanent IDs of objects that are still referred to by temporary ones, for example in relationships.
  private var permanentIDs = PermanentIDTable()
  /// The stores that new objects were assigned to, by key.
  private var assignedSpaces: [Int64: UInt32] = [:]
  /// The default spaces for new objects of each entity. They are valid until the coordinator's stores change.
  private var homeSpaces: (storesVersion: Int, spaces: [UInt32]) = (-1, [])
  /// The objects that the context retains; `nil` if it retains changed objects only.
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

  @inline(__always) func root(ofEntity number: Int) -> Int { roots[number] }

  // MARK: Lookup

  /// Returns the registered object of a row, or `nil` if there is none in memory.
  @inline(__always) package func object(_ reference: ObjectReference, space: UInt32) -> ManagedObject? {
    if !spaces.isEmpty && spaces[0] == space { return maps[0][roots[reference.entity]].object(reference.key) }
    guard let index = Self.searchedIndex(of: space, in: spaces) else { return nil }
    return maps[index][roots[reference.entity]].object(reference.key)
  }

  /// Returns the registered object of a row without retaining it; see ``object(_:space:)``.
  // `Unmanaged` is how the maps store entries. Callers use the result only while nothing is released.
  @inline(__always) func unretainedObject(_ reference: ObjectReference, space: UInt32) -> Unmanaged<ManagedObject>? {
    if !spaces.isEmpty && spaces[0] == space { return maps[0][roots[reference.entity]].unretainedObject(reference.key) }
    guard let index = Self.searchedIndex(of: space, in: spaces) else { return nil }
    return maps[index][roots[reference.entity]].unretainedObject(reference.key)
  }

  /// Returns the registered object of a row if it is found without a call. `nil` does not mean that there is none.
  // Not retained for the reason above.
  @inline(__always) func objectNearby(_ reference: ObjectReference, space: UInt32) -> Unmanaged<ManagedObject>? {
    if spaces.isEmpty || spaces[0] != space { return nil }
    return maps[0][roots[reference.entity]].objectNearby(reference.key)
  }

  @inline(never) private static func searchedIndex(of space: UInt32, in spaces: ContiguousArray<UInt32>) -> Int? {
    spaces.firstIndex(of: space)
  }

  /// Returns the registered object of a temporary reference.
  @inline(__always) package func newObject(_ reference: ObjectReference) -> ManagedObject? { temporaryMap.object(-reference.key) }

  /// Calls a closure for each registered object. The closure must not create or release objects.
  func forEach(_ body: (ManagedObject) -> Void) {
    for maps in maps { for root in roots.indices where maps[root].count > 0 { maps[root].forEach(body) } }
    temporaryMap.forEach(body)
  }

  // MARK: Registration

  /// Registers an object by its ID.
  ///
  /// - Returns: The store to notify of the registration, if any.
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

  /// Unregisters an object that is being deallocated or leaves the context.
  ///
  /// - Returns: The store to notify, if any.
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

  /// Returns the store to notify of an object's registration, if any.
  func listener(for objectID: ManagedObjectID) -> PersistentStore? {
    guard hasListeners, !objectID.isTemporaryID, let index = spaces.firstIndex(of: objectID.space) else { return nil }
    return listeners[index]
  }

  @inline(__always) private mutating func mapIndex(_ space: UInt32) -> Int {
    !spaces.isEmpty && spaces[0] == space ? 0 : searchedMapIndex(space)
  }

  private mutating func searchedMapIndex(_ space: UInt32) -> Int {
    if let index = spaces.firstIndex(of: space) { return index }
    spaces.append(space)
    let made = UnsafeMutablePointer<IdentityMap>.allocate(capacity: roots.count)
    made.initialize(repeating: IdentityMap(), count: roots.count)
    maps.append(made)
    let store = rowSource.store(numbered: space)
    let listens = store.map(rowSource.observesRegistration) ?? false
    listeners.append(listens ? store : nil)
    if listens { hasListeners = true }
    return spaces.count - 1
  }

  // MARK: Retaining

  var holdsObjects: Bool { held != nil }

  /// Retains an object if all registered objects are retained.
  @inline(__always) mutating func hold(_ object: ManagedObject) {
    if held != nil { held?.insert(object) }
  }

  /// Stops retaining an object. The caller must hold a reference to it.
  mutating func release(_ object: ManagedObject) {
    if held != nil { held?.remove(object) }
  }

  /// Replaces the retained objects; `nil` stops retaining.
  ///
  /// - Returns: The objects retained until now. Some of them are deallocated with the result, and unregister themselves then.
  mutating func exchangeHeld(_ objects: Set<ManagedObject>?) -> Set<ManagedObject>? {
    let former = held
    held = objects
    return former
  }

  // MARK: Temporary and permanent IDs

  private static let lastTemporaryKey = Atomic<Int64>(0)

  /// Returns a temporary ID that is unique in the process.
  package static func makeTemporaryID(_ entity: CompiledEntity, space: UInt32) -> ManagedObjectID {
    let key = lastTemporaryKey.wrappingAdd(1, ordering: .relaxed).newValue
    return ManagedObjectID(space: space, entityNumber: UInt32(entity.number), key: -key)
  }

  /// Assigns a new object its permanent ID. The object can still be found by its temporary reference.
  ///
  /// - Returns: The store to notify of the registration, if any.
  package mutating func adopt(_ permanent: ManagedObjectID, for object: ManagedObject) -> PersistentStore? {
    let old = object.currentID
    temporaryMap.remove(-old.key, ifSame: object)
    permanentIDs[old.reference] = permanent
    if !assignedSpaces.isEmpty { assignedSpaces.removeValue(forKey: old.key) }
    object.currentID = permanent
    return insert(object)
  }

  /// Returns the permanent ID for a temporary reference, or `nil` if there is none or the table was cleared since.
  @inline(__always) package func permanentID(_ reference: ObjectReference) -> ManagedObjectID? { permanentIDs[reference] }

  /// Whether some object may still be referred to by its former temporary ID.
  var hasPermanentIDs: Bool { !permanentIDs.isEmpty }

  /// Returns the reference to save for an object: the permanent one if a temporary reference has one.
  @inline(__always) package func savedReference(_ reference: ObjectReference) -> ObjectReference {
    reference.key < 0 ? permanentIDs[reference]?.reference ?? reference : reference
  }

  /// Clears the table of permanent IDs, once no temporary reference remains.
  package mutating func forgetPermanentIDs() { permanentIDs.removeAll() }

  // MARK: Stores of new objects

  /// Returns the space of the store that a new object will be saved to.
  mutating func space(ofNew objectID: ManagedObjectID) -> UInt32 {
    if !assignedSpaces.isEmpty, let assigned = assignedSpaces[objectID.key] { return assigned }
    return homeSpace(ofEntity: Int(objectID.entityNumber))
  }

  /// Returns the space of the first store that contains an entity.
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

  func isAssigned(_ objectID: ManagedObjectID) -> Bool { assignedSpaces[objectID.key] != nil }

  mutating func assign(_ objectID: ManagedObjectID, to space: UInt32) { assignedSpaces[objectID.key] = space }

  /// Returns the current assignments, for ``restore(assignments:)``.
  func assignments() -> [Int64: UInt32] { assignedSpaces }

  /// Restores earlier assignments.
  mutating func restore(assignments: [Int64: UInt32]) { assignedSpaces = assignments }

  mutating func forgetAssignments() { assignedSpaces = [:] }
}

/// The permanent IDs of objects, by temporary reference.
///
/// Temporary keys count down in the process, so those of one save are close together. They are stored in an array, and distant ones in a
/// dictionary.
struct PermanentIDTable {
  /// The IDs from the first key downward. An ID with the key 0 is an empty entry.
  private var near: ContiguousArray<ManagedObjectID> = []
  private var firstKey: Int64 = 0
  private var far: [Int64: ManagedObjectID] = [:]

  var isEmpty: Bool { near.isEmpty && far.isEmpty }

  subscript(reference: ObjectReference) -> ManagedObjectID? {
    get {
      let index = firstKey &- reference.key
      if index >= 0, index < Int64(near.count) {
        let objectID = near[Int(index)]
        if objectID.key != 0 { return objectID }
      }
      return far.isEmpty ? nil : far[reference.key]
    }
    set {
      if near.isEmpty { firstKey = reference.key }
      let index = firstKey &- reference.key
      guard index >= 0, index < Int64(near.count) * 2 + 4_096 else {
        far[reference.key] = newValue
        return
      }
      let none = ManagedObjectID(space: 0, entityNumber: 0, key: 0)
      while Int64(near.count) <= index { near.append(none) }
      near[Int(index)] = newValue ?? none
      if !far.isEmpty { far[reference.key] = nil }
    }
  }

  mutating func removeAll() { self = PermanentIDTable() }
}
