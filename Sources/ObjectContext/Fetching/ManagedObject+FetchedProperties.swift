package import ObjectModel
@_spi(Generated) import ObjectQuery
import ObjectStore

extension ManagedObject {
  /// Returns the objects of a fetched property.
  ///
  /// The first access fetches the objects, including unsaved changes. The result is cached until the object is refreshed or turned into a
  /// fault, unless it contains unsaved new objects. Objects deleted since are omitted. In the property's predicate, `$FETCH_SOURCE` is this
  /// object, and `$FETCHED_PROPERTY` is the property with its `name` and `userInfo.key`.
  ///
  /// If the fetch fails, the result is empty, and the next save or fetch throws the error.
  ///
  /// - Parameters:
  ///   - name: The name of the property.
  ///   - type: The class of the objects.
  /// - Returns: The objects.
  package final func fetchedProperty<Object: ManagedObject>(_ name: String, as type: Object.Type = Object.self) -> [Object] {
    do { return try fetchedObjects(name).compactMap { $0 as? Object } } catch {
      managedObjectContext?.record(error)
      return []
    }
  }

  /// Returns the objects of a fetched property, from the cache if possible.
  final func fetchedObjects(_ name: String) throws -> [ManagedObject] {
    guard case .fetched(let property) = compiledEntity.property(named: name) else {
      throw KeyValueError(.unknownKey, key: name, entityName: compiledEntity.name, detail: "it is no fetched property")
    }
    guard let context = managedObjectContext else { return [] }
    if let known = context.fetchedProperties.ids(name, of: self) {
      return known.map(context.object(with:)).filter { $0.flags.isDisjoint(with: [.isDeleted, .isRemoved]) }
    }
    var request = FetchRequest<ManagedObject>(entityName: property.destinationEntityName)
    if let format = property.predicateFormat {
      request.predicate = try FetchPredicate(format: format).substituting { variable, path in
        switch variable {
        case "FETCH_SOURCE": .constant(try constant(path))
        case "FETCHED_PROPERTY": property.constant(path).map { .constant($0) }
        default: nil
        }
      }
    }
    let objects = try context.fetch(request)
    let ids = objects.map(\.currentID)
    // A save replaces the temporary IDs of inserted objects. Until then, do not cache the result.
    if !ids.contains(where: \.isTemporaryID) { context.fetchedProperties.keep(ids, name, of: self) }
    return objects
  }

  private func constant(_ path: [String]) throws -> FetchConstant {
    guard !path.isEmpty else { return .object(objectID) }
    switch try value(forKeyPath: path.joined(separator: ".")) {
    case nil: return .null
    case let object as ManagedObject: return .object(object.objectID)
    case let objects as Set<ManagedObject>: return .list(objects.map { .object($0.objectID) })
    case let objects as [ManagedObject]: return .list(objects.map { .object($0.objectID) })
    case let value as any FetchConstantConvertible: return value.fetchConstant
    default:
      throw FetchPredicateError.unsupported(
        part: "The value of $FETCH_SOURCE.\(path.joined(separator: "."))", advice: "Name an attribute that is no transformable.")
    }
  }
}

extension FetchedPropertyDescription {
  /// Returns the value of a key path of `$FETCHED_PROPERTY`; nil if the predicate cannot use it.
  fileprivate func constant(_ path: [String]) -> FetchConstant? {
    switch path {
    case [], ["name"]: return .string(name)
    case _ where path.first == "userInfo" && path.count == 2: return userInfo[path[1]].map { .string($0) } ?? .null
    default: return nil
    }
  }
}

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
