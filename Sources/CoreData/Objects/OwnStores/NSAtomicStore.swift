// NSAtomicStore: stores of the application's own that are read and written as a whole.
public import Foundation
import ObjectContext
import ObjectModel
import Synchronization

/// The values of an object in a store that is read and written as a whole.
open class NSAtomicStoreCacheNode: NSObject {
  /// The object.
  public let objectID: NSManagedObjectID
  /// The values by name: those of attributes, the node of a to-one relationship's object, and nodes in a set.
  open var propertyCache: NSMutableDictionary? = [:]

  /// A node without values.
  public init(objectID moid: NSManagedObjectID) { objectID = moid }

  /// The value of a property, a node, or nodes in a set; nil where there is none.
  open func value(forKey key: String) -> Any? { propertyCache?[key] }

  /// Sets a property.
  open func setValue(_ value: Any?, forKey key: String) {
    if let value { propertyCache?[key] = value } else { propertyCache?.removeObject(forKey: key) }
  }
}

/// A store of the application's own that is read and written as a whole: a subclass makes nodes of what it reads in ``load()``, and writes what they have in
/// ``save()``. Fetches are answered over the nodes. It is registered by ``NSPersistentStoreCoordinator/registerStoreClass(_:forStoreType:)``. What such a store
/// writes is encrypted by the application, or not at all.
open class NSAtomicStore: NSIncrementalStore, @unchecked Sendable {  // the face takes turns
  private var nodes: [NSManagedObjectID: NSAtomicStoreCacheNode] = [:]

  // MARK: For subclasses

  /// Reads what is stored, and adds the nodes by ``addCacheNodes(_:)``; the metadata are set before. A store that is not there yet has none.
  ///
  /// - Throws: What adding the store throws.
  open func load() throws {}

  /// Writes what the nodes have. This implementation throws.
  ///
  /// - Throws: What the save throws. The nodes are then what they were before.
  open func save() throws { throw IncrementalStoreError.notOverridden("save()", "\(Swift.type(of: self))") }

  /// The node of a new object. This implementation makes one of its values, by ``updateCacheNode(_:from:)``.
  open func newCacheNode(for managedObject: NSManagedObject) -> NSAtomicStoreCacheNode {
    let node = NSAtomicStoreCacheNode(objectID: managedObject.objectID)
    updateCacheNode(node, from: managedObject)
    return node
  }

  /// Gives a node the values of an object. This implementation takes all attributes and relationships that are stored.
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

  /// What stands for a new object: a number or a text that no other one has. This implementation gives a UUID's text.
  open func newReferenceObject(for managedObject: NSManagedObject) -> Any { UUID().uuidString }

  /// Called before nodes leave. This implementation does nothing.
  open func willRemoveCacheNodes(_ cacheNodes: Set<NSAtomicStoreCacheNode>) {}

  // MARK: Nodes

  /// All nodes.
  open func cacheNodes() -> Set<NSAtomicStoreCacheNode> { Set(nodes.values) }
  /// Adds nodes.
  open func addCacheNodes(_ cacheNodes: Set<NSAtomicStoreCacheNode>) { for node in cacheNodes { nodes[node.objectID] = node } }
  /// The node of an object; nil where there is none.
  open func cacheNode(for objectID: NSManagedObjectID) -> NSAtomicStoreCacheNode? { nodes[objectID] }

  /// The ID of the object that something stands for.
  ///
  /// - Parameters:
  ///   - entity: The object's entity.
  ///   - data: What stands for it: a number or a text.
  public final func objectID(for entity: NSEntityDescription, withReferenceObject data: Any) -> NSManagedObjectID {
    newObjectID(for: entity, referenceObject: data)
  }

  // MARK: As a store that is asked

  /// Reads the store: see ``load()``.
  open override func loadMetadata() throws {
    if metadata?[NSStoreUUIDKey] == nil { try super.loadMetadata() }
  }

  override func noteLoaded() throws {
    nodes = [:]
    try load()
  }

  override var answersInMemory: Bool { true }

  override func allObjects(of entity: CompiledEntity) -> [NSManagedObjectID] {
    nodes.keys.filter { entity.subtree.contains(Int($0.entityNumber)) }.sorted { ($0.entityNumber, $0.key) < ($1.entityNumber, $1.key) }
  }

  /// Saves: fetches are answered over the nodes.
  open override func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext?) throws -> Any {
    guard let save = request as? NSSaveChangesRequest else { throw UnknownRequestError(type: "\(Swift.type(of: request))") }
    let before = nodes
    let values = nodes.mapValues { $0.propertyCache?.mutableCopy() as? NSMutableDictionary }
    do {
      let gone = Set((save.deletedObjects ?? []).compactMap { nodes[$0.objectID] })
      willRemoveCacheNodes(gone)
      for node in gone { nodes[node.objectID] = nil }
      // All nodes are there before one refers to another.
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

  /// The values of a node.
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
      // A node that has left is nothing any more.
      if !relationship.isToMany { values[name] = ids(node.value(forKey: name)).first ?? NSNull() }
    }
    return NSIncrementalStoreNode(objectID: objectID, withValues: values, version: 1)
  }

  /// The objects of a node's relationship. Where the inverse is to-one the nodes at its other end say who they are.
  ///
  /// - Parameters:
  ///   - relationship: The relationship.
  ///   - objectID: The object at its source.
  ///   - context: The context whose objects are given.
  open override func newValue(
    forRelationship relationship: NSRelationshipDescription, forObjectWith objectID: NSManagedObjectID,
    with context: NSManagedObjectContext?
  ) throws -> Any {
    let own = ids(nodes[objectID]?.value(forKey: relationship.name))
    if !relationship.isToMany { return own.first ?? NSNull() }
    guard let inverse = relationship.inverseRelationship, !inverse.isToMany else { return own }
    let members = nodes.values.filter { ids($0.value(forKey: inverse.name)).contains(objectID) }.map(\.objectID)
    // The order is the node's own; who came since is the last.
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

  /// IDs of what the subclass has for new objects.
  open override func obtainPermanentIDs(for array: [NSManagedObject]) throws -> [NSManagedObjectID] {
    array.map { newObjectID(for: $0.entity, referenceObject: newReferenceObject(for: $0)) }
  }
}
