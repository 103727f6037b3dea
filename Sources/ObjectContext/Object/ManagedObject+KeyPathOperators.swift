import ObjectModel
import ObjectQuery

extension ManagedObject {
  /// Returns the value of a key path that starts with a to-many relationship, such as `books.title` or `books.@sum.pages`: the values of
  /// the members as one flat collection, or the result of a collection operator.
  func collectionValue(_ path: String) throws -> Any? {
    let keys = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard let name = keys.first else { return nil }
    let members: [Any] =
      switch try value(forKey: name) {
      case let objects as [ManagedObject]: objects
      case let objects as Set<ManagedObject>: Array(objects)
      default: []
      }
    return try value(of: members, keys.dropFirst(), path)
  }

  private func value(of members: [Any], _ keys: ArraySlice<String>, _ path: String) throws -> Any? {
    guard let index = keys.firstIndex(where: { $0.hasPrefix("@") }) else { return try values(of: members, keys, path).compactMap { $0 } }
    // The keys before an operator select the collection that it applies to.
    let members = index == keys.startIndex ? members : try values(of: members, keys[..<index], path).compactMap { $0 }
    let (key, rest) = (keys[index], keys[(index + 1)...])
    if key == "@count" {
      if rest.isEmpty { return AttributeConversion.untyped(members.count) }
      throw rejection(key, path, "nothing stands behind @count")
    }
    if CollectionOperator.isKnown(key) {
      if rest.isEmpty { throw rejection(key, path, "the property that \(key) is computed of stands behind it") }
      do {
        return try CollectionOperator.value(of: key, try values(of: members, rest, path), keyPath: path).map(AttributeConversion.untyped)
      } catch let error as FetchPredicateError {
        throw rejection(key, path, error.description)
      }
    }
    let values = rest.isEmpty ? members.map { $0 as Any? } : try values(of: members, rest, path)
    let found = values.compactMap { $0 }
    switch key {
    case "@unionOfObjects", "@unionOfArrays", "@unionOfSets": return found
    case "@distinctUnionOfObjects", "@distinctUnionOfArrays", "@distinctUnionOfSets":
      var seen: Set<AnyHashable> = []
      return found.filter { value in (value as? AnyHashable).map { seen.insert($0).inserted } ?? true }
    default:
      throw rejection(
        key, path,
        "there are @count, @sum, @avg, @min, @max, and @unionOfObjects and @distinctUnionOfObjects with their like for arrays and sets")
    }
  }

  /// Returns the value of each member, nil for a missing one. Flattens collections.
  private func values(of members: [Any], _ keys: ArraySlice<String>, _ path: String) throws -> [Any?] {
    let rest = keys.joined(separator: ".")
    var values: [Any?] = []
    for case let member as ManagedObject in members {
      switch try member.value(forKeyPath: rest) {
      case let list as [Any]: values += list.map { $0 }
      case let objects as Set<ManagedObject>: values += Array(objects).map { $0 }
      case let value: values.append(value)
      }
    }
    return values
  }

  private func rejection(_ key: String, _ path: String, _ detail: String) -> KeyValueError {
    KeyValueError(.notAnObject, key: path, entityName: compiledEntity.name, detail: detail)
  }
}
