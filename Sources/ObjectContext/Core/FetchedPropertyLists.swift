// FetchedPropertyLists: what the fetched properties of a context's objects have found.
import ObjectModel

/// The objects of fetched properties that were asked for, by the identity of their owners. An object that dies or is refreshed loses its lists.
struct FetchedPropertyLists: ~Copyable {
  private var lists: [ObjectIdentifier: [String: [ManagedObjectID]]] = [:]

  /// What a property of an object has found; nil when it was not asked for.
  func ids(_ name: String, of owner: ManagedObject) -> [ManagedObjectID]? { lists[ObjectIdentifier(owner)]?[name] }

  /// Keeps what a property of an object has found.
  mutating func keep(_ ids: [ManagedObjectID], _ name: String, of owner: ManagedObject) {
    lists[ObjectIdentifier(owner), default: [:]][name] = ids
  }

  /// What an object's properties have found is found anew when it is asked for.
  @inline(__always) mutating func forget(_ owner: ManagedObject) {
    if !lists.isEmpty { lists.removeValue(forKey: ObjectIdentifier(owner)) }
  }

  /// Forgets what all objects' properties have found.
  mutating func removeAll() { lists = [:] }
}
