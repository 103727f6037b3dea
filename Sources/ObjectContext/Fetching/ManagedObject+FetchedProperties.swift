// ManagedObject+FetchedProperties: properties whose values are the results of a fetch.
import ObjectModel
import ObjectQuery
import ObjectStore

extension ManagedObject {
  /// The objects of a fetched property. There are none when they cannot be read; the next save or fetch throws the error.
  ///
  /// They are fetched when somebody first asks for them, unsaved changes included, and stay what they were until the object is refreshed or becomes a fault;
  /// objects that are deleted since are left out. `$FETCH_SOURCE` in the property's predicate is this object, and `$FETCHED_PROPERTY` the property: its `name`
  /// and `userInfo.key`.
  ///
  /// - Parameters:
  ///   - name: The name of the property.
  ///   - type: The class of the objects.
  public final func _fetchedProperty<Object: ManagedObject>(_ name: String, as type: Object.Type = Object.self) -> [Object] {
    do { return try fetchedObjects(name).compactMap { $0 as? Object } } catch {
      managedObjectContext?.note(error)
      return []
    }
  }

  /// The objects of a fetched property.
  final func fetchedObjects(_ name: String) throws -> [ManagedObject] {
    guard case .fetched(let property) = compiledEntity.property(named: name) else {
      throw KeyValueError(.unknownKey, key: name, entityName: compiledEntity.name, detail: "it is no fetched property")
    }
    guard let context = managedObjectContext else { return [] }
    if let known = context.fetchedProperties.ids(name, of: self) {
      return known.map(context.object(with:)).filter { $0.flags.isDisjoint(with: [.isDeleted, .isGone]) }
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
    // New objects get other IDs when they are saved: until then the property is fetched each time.
    if !ids.contains(where: \.isTemporaryID) { context.fetchedProperties.keep(ids, name, of: self) }
    return objects
  }

  /// The value at the end of a path from this object, for a predicate.
  private func constant(_ path: [String]) throws -> FetchConstant {
    guard !path.isEmpty else { return .object(objectID) }
    switch try value(forKeyPath: path.joined(separator: ".")) {
    case nil: return .null
    case let object as ManagedObject: return .object(object.objectID)
    case let objects as Set<ManagedObject>: return .list(objects.map { .object($0.objectID) })
    case let objects as [ManagedObject]: return .list(objects.map { .object($0.objectID) })
    case let value as any FetchConstantConvertible: return value._fetchConstant
    default:
      throw FetchPredicateError.unsupported(
        part: "The value of $FETCH_SOURCE.\(path.joined(separator: "."))", advice: "Name an attribute that is no transformable.")
    }
  }
}

extension FetchedPropertyDescription {
  /// What a predicate may ask of the property.
  fileprivate func constant(_ path: [String]) -> FetchConstant? {
    switch path {
    case [], ["name"]: return .string(name)
    case _ where path.first == "userInfo" && path.count == 2: return userInfo[path[1]].map { .string($0) } ?? .null
    default: return nil
    }
  }
}
