public import Foundation
import ObjectContext
import ObjectModel
import Synchronization

/// The values of an object in an atomic store.
open class NSAtomicStoreCacheNode: NSObject {
  /// The object.
  public let objectID: NSManagedObjectID
  /// The values by name: attribute values, the node of a to-one relationship's object, and sets of nodes.
  open var propertyCache: NSMutableDictionary? = [:]

  /// Creates a node without values.
  public init(objectID moid: NSManagedObjectID) { objectID = moid }

  /// Returns the value of a property, a node, or a set of nodes; nil if there is no value.
  open func value(forKey key: String) -> Any? { propertyCache?[key] }

  /// Sets a property.
  open func setValue(_ value: Any?, forKey key: String) {
    if let value { propertyCache?[key] = value } else { propertyCache?.removeObject(forKey: key) }
  }
}

/// A custom store that is read and written as a whole.
///
/// A subclass creates nodes from the file in ``load()`` and writes them in ``save()``. Fetches are evaluated in memory. Register it with
/// ``NSPersistentStoreCoordinator/registerStoreClass(_:forStoreType:)``. The library does not encrypt what such a store writes; the
/// application may do so.
open class NSAtomicStore: NSIncrementalStore, @unchecked Sendable {  // `IncrementalStoreAdapter` serializes all calls
  private var nodes: [NSManagedObjectID: NSAtomicStoreCacheNode] = [:]

  // MARK: For subclasses

  /// Reads the store and adds its nodes with ``addCacheNodes(_:)``. The metadata is set before. A new store has no nodes.
  ///
  /// - Throws: The error that adding the store throws.
  open func load() throws {}

  /// Writes the nodes. The default implementation throws.
  ///
  /// - Throws: The error that the save throws. The nodes are then restored.
  open func save() throws { throw IncrementalStoreError.notOverridden("save()", "\(Swift.type(of: self))") }

  /// Returns the node of a new object. The default implementation creates one with ``updateCacheNode(_:from:)``.
  open func newCacheNode(for managedObject: NSManagedObject) -> NSAtomicStoreCacheNode {
    let node = NSAtomicStoreCacheNode(objectID: managedObject.objectID)
    updateCacheNode(node, from: managedObject)
    return node
  }

  /// Copies an object's values to a node. The default implementation copies all persistent attributes and relationships.
  open func updateCacheNode(_ node: NSAtomicStoreCacheNode, from managedObject: NSManagedObject) {
    for (name, property) in managedObject.entity.propertiesByName where !property.isTransient {
      switch property {
      case let relationship as NSRelationshipDescription:
        let members = managedObject.objectIDs(forRelationshipNamed: name).compactMap { cacheNode(for: $0) }
        node.setValue(
          !relationship.isToMany ? members.first : relationship.isOrdered ? NSOrderedSet(array: members) : NSSet(array: members),
          forKey: name)
      case is NSAttributeDescription: node.setValue(managedObject.value(forKey: name), forKey: name)
      default: break
      }
    }
  }

  /// Returns a unique number or string that identifies a new object. The default implementation returns a UUID string.
  open func newReferenceObject(for managedObject: NSManagedObject) -> Any { UUID().uuidString }

  /// Called before nodes are removed. The default implementation does nothing.
  open func willRemoveCacheNodes(_ cacheNodes: Set<NSAtomicStoreCacheNode>) {}

  // MARK: Nodes

  /// Returns all nodes.
  open func cacheNodes() -> Set<NSAtomicStoreCacheNode> { Set(nodes.values) }
  /// Adds nodes.
  open func addCacheNodes(_ cacheNodes: Set<NSAtomicStoreCacheNode>) { for node in cacheNodes { nodes[node.objectID] = node } }
  /// Returns the node of an object; nil if there is none.
  open func cacheNode(for objectID: NSManagedObjectID) -> NSAtomicStoreCacheNode? { nodes[objectID] }

  /// Returns the object ID for a reference object.
  ///
  /// - Parameters:
  ///   - entity: The object's entity.
  ///   - data: The reference object: a number or a string.
  public final func objectID(for entity: NSEntityDescription, withReferenceObject data: Any) -> NSManagedObjectID {
    newObjectID(for: entity, referenceObject: data)
  }

  // MARK: NSIncrementalStore

  /// Reads the store: see ``load()``.
  open override func loadMetadata() throws {
    if metadata?[NSStoreUUIDKey] == nil { try super.loadMetadata() }
  }

  override func didLoad() throws {
    nodes = [:]
    try load()
  }

  override var evaluatesInMemory: Bool { true }

  override func allObjects(of entity: CompiledEntity) -> [NSManagedObjectID] {
    nodes.keys.filter { entity.subtree.contains(Int($0.entityNumber)) }.sorted { ($0.entityNumber, $0.key) < ($1.entityNumber, $1.key) }
  }

  /// Executes a save. Fetches are evaluated over the nodes.
  open override func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext?) throws -> Any {
    guard let save = request as? NSSaveChangesRequest else { throw UnknownRequestError(type: "\(Swift.type(of: request))") }
    let before = nodes
    let values = nodes.mapValues { $0.propertyCache?.mutableCopy() as? NSMutableDictionary }
    do {
      let deletedNodes = Set((save.deletedObjects ?? []).compactMap { nodes[$0.objectID] })
      willRemoveCacheNodes(deletedNodes)
      for node in deletedNodes { nodes[node.objectID] = nil }
      // All nodes exist before one refers to another.
      let inserted = save.insertedObjects ?? []
      for object in inserted { nodes[object.objectID] = NSAtomicStoreCacheNode(objectID: object.objectID) }
      for object in inserted { nodes[object.objectID] = newCacheNode(for: object) }
      for object in inserted { if let node = nodes[object.objectID] { updateCacheNode(node, from: object) } }
      for object in save.updatedObjects ?? [] {
        if let node = nodes[object.objectID] { updateCacheNode(node, from: object) }
      }
      try self.save()
    } catch {
      nodes = before
      for (id, cache) in values { nodes[id]?.propertyCache = cache }
      throw error
    }
    return [Any]()
  }

  /// Returns the values of a node.
  open override func newValuesForObject(
    with objectID: NSManagedObjectID, with context: NSManagedObjectContext
  ) throws -> NSIncrementalStoreNode {
    guard let node = nodes[objectID], let entity = context.model?.entitiesByName[objectID.entityName] else {
      throw NSError(domain: NSCocoaErrorDomain, code: NSManagedObjectReferentialIntegrityError)
    }
    var values: [String: Any] = [:]
    for (name, property) in entity.propertiesByName {
      guard let relationship = property as? NSRelationshipDescription else {
        values[name] = node.value(forKey: name)
        continue
      }
      // A removed node counts as no value.
      if !relationship.isToMany { values[name] = ids(node.value(forKey: name)).first ?? NSNull() }
    }
    return NSIncrementalStoreNode(objectID: objectID, withValues: values, version: 1)
  }

  /// Returns the objects of a node's relationship. If the inverse is to-one, they are determined from the nodes at the other end.
  ///
  /// - Parameters:
  ///   - relationship: The relationship.
  ///   - objectID: The source object.
  ///   - context: The context of the objects.
  open override func newValue(
    forRelationship relationship: NSRelationshipDescription, forObjectWith objectID: NSManagedObjectID,
    with context: NSManagedObjectContext?
  ) throws -> Any {
    let own = ids(nodes[objectID]?.value(forKey: relationship.name))
    if !relationship.isToMany { return own.first ?? NSNull() }
    guard let inverse = relationship.inverseRelationship, !inverse.isToMany else { return own }
    let members = nodes.values.filter { ids($0.value(forKey: inverse.name)).contains(objectID) }.map(\.objectID)
    // The node determines the order; members added since are last.
    let known = own.filter { members.contains($0) }
    return known + members.filter { !known.contains($0) }.sorted { $0.key < $1.key }
  }

  private func ids(_ value: Any?) -> [NSManagedObjectID] {
    let members: [Any]
    switch value {
    case let node as NSAtomicStoreCacheNode: members = [node]
    case let set as NSSet: members = set.allObjects
    case let set as NSOrderedSet: members = set.array
    case let set as Set<NSAtomicStoreCacheNode>: members = Array(set)
    case let array as [Any]: members = array
    default: members = []
    }
    return members.compactMap { ($0 as? NSAtomicStoreCacheNode)?.objectID }.filter { nodes[$0] != nil }
  }

  /// Returns IDs for the reference objects of new objects.
  open override func obtainPermanentIDs(for array: [NSManagedObject]) throws -> [NSManagedObjectID] {
    array.map { newObjectID(for: $0.entity, referenceObject: newReferenceObject(for: $0)) }
  }
}
