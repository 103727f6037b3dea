package import ObjectModel

/// The cached results of fetched properties, by the identity of their owners. The results of an object are removed when it is deallocated
/// or refreshed.
package struct FetchedPropertyCache: ~Copyable {
  private var lists: [ObjectIdentifier: [String: [ManagedObjectID]]] = [:]

  package init() {}

  /// Returns the result of an object's fetched property, or `nil` if it is not cached.
  package func ids(_ name: String, of owner: ManagedObject) -> [ManagedObjectID]? { lists[ObjectIdentifier(owner)]?[name] }

  /// Caches the result of an object's fetched property.
  package mutating func keep(_ ids: [ManagedObjectID], _ name: String, of owner: ManagedObject) {
    lists[ObjectIdentifier(owner), default: [:]][name] = ids
  }

  /// Removes the results of an object, so that its fetched properties are fetched again.
  @inline(__always) package mutating func forget(_ owner: ManagedObject) {
    if !lists.isEmpty { lists.removeValue(forKey: ObjectIdentifier(owner)) }
  }

  package mutating func removeAll() { lists = [:] }
}
