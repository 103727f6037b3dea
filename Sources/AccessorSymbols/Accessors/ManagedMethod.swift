// ManagedMethod: what a managed method does, by its name.

/// What a method with `@NSManaged` does to a to-many relationship. Core Data tells it by the method's name.
package enum ManagedMethod: Equatable, Sendable {
  /// `addToBooks(_:)`, with an object or a collection.
  case add(String)
  /// `removeFromBooks(_:)`, with an object or a collection.
  case remove(String)
  /// `insertIntoBooks(_:at:)`, with an object and its place, or with objects and their places.
  case insert(String)
  /// `removeFromBooks(at:)`, with a place or places.
  case removeAt(String)
  /// `replaceBooks(at:with:)`, with a place and an object, or with places and objects.
  case replace(String)

  /// Takes a method's name apart; nil for one that stands for nothing.
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
