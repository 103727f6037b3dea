// FetchedPropertyLists: what the fetched properties of a context's objects have found.
package import ObjectModel

/// The objects of fetched properties that were asked for, by the identity of their owners. An object that dies or is refreshed loses its lists.
package struct FetchedPropertyLists: ~Copyable {
  private var lists: [ObjectIdentifier: [String: [ManagedObjectID]]] = [:]

  /// No lists.
  package init() {}

  /// What a property of an object has found; nil when it was not asked for.
  package func ids(_ name: String, of owner: ManagedObject) -> [ManagedObjectID]? { lists[ObjectIdentifier(owner)]?[name] }

  /// Keeps what a property of an object has found.
  package mutating func keep(_ ids: [ManagedObjectID], _ name: String, of owner: ManagedObject) {
    lists[ObjectIdentifier(owner), default: [:]][name] = ids
  }

  /// What an object's properties have found is found anew when it is asked for.
  @inline(__always) package mutating func forget(_ owner: ManagedObject) {
    if !lists.isEmpty { lists.removeValue(forKey: ObjectIdentifier(owner)) }
  }

  /// Forgets what all objects' properties have found.
  package mutating func removeAll() { lists = [:] }
}
