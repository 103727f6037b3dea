/// The effect of an `@NSManaged` method on a to-many relationship. As in Core Data, the method's name determines it.
package enum ManagedMethod: Equatable, Sendable {
  /// `addToBooks(_:)`, with an object or a collection.
  case add(String)
  /// `removeFromBooks(_:)`, with an object or a collection.
  case remove(String)
  /// `insertIntoBooks(_:at:)`, with an object and its index, or with objects and their indexes.
  case insert(String)
  /// `removeFromBooks(at:)`, with an index or indexes.
  case removeAt(String)
  /// `replaceBooks(at:with:)`, with an index and an object, or with indexes and objects.
  case replace(String)

  /// Parses a method's name; `nil` if the name is not that of an accessor.
  package init?(name: String, labels: [String?]) {
    func key(_ prefix: String) -> String? {
      guard name.hasPrefix(prefix), name.utf8.count > prefix.utf8.count else { return nil }
      return String(name.dropFirst(prefix.count))
    }
    switch labels {
    case [nil]:
      if let key = key("addTo") { self = .add(key) } else if let key = key("removeFrom") { self = .remove(key) } else { return nil }
    case [nil, "at"]:
      guard let key = key("insertInto") else { return nil }
      self = .insert(key)
    case ["at"]:
      guard let key = key("removeFrom") else { return nil }
      self = .removeAt(key)
    case ["at", "with"]:
      guard let key = key("replace") else { return nil }
      self = .replace(key)
    default: return nil
    }
  }
}
