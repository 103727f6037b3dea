// KeyPathNames: which properties of the model Swift key paths lead to.

import ObjectModel

/// The names of the generated properties by their key paths, for the classes of a model; generated code fills it.
public struct _KeyPathNames: Sendable {
  // Key paths of properties capture nothing, so that they may go anywhere; the compiler does not say so in the Swift 5 language mode.
  private struct Property: @unchecked Sendable {
    let name: String
    /// The property of an object.
    let keyPath: AnyKeyPath
    /// The property of an optional object: what a path through a to-one relationship goes on with.
    let continued: AnyKeyPath
  }
  /// The properties by what their key paths start from.
  private var starting: [ObjectIdentifier: [Property]] = [:]
  /// The properties by what the continued key paths start from.
  private var continuing: [ObjectIdentifier: [Property]] = [:]

  /// An empty table.
  public init() {}

  /// Adds a property of a class, or a part of a composite: `names.add(\Book.title, \Book?.?.title, "title")`.
  ///
  /// - Parameters:
  ///   - keyPath: Its key path from an object, of properties only: one with a subscript could capture what is not `Sendable`.
  ///   - continued: Its key path from an optional object.
  ///   - name: Its name in the model.
  public mutating func add(_ keyPath: AnyKeyPath, _ continued: AnyKeyPath, _ name: String) {
    let property = Property(name: name, keyPath: keyPath, continued: continued)
    starting[ObjectIdentifier(type(of: keyPath).rootType), default: []].append(property)
    continuing[ObjectIdentifier(type(of: continued).rootType), default: []].append(property)
  }

  /// Adds the `id` of a class that declares its entity, if it is the object's ID and no property of the class itself.
  public mutating func addIdentity(_ keyPath: AnyKeyPath, _ continued: AnyKeyPath) {
    guard type(of: keyPath).valueType == ManagedObjectID.self else { return }
    add(keyPath, continued, "objectID")
  }

  /// The longest path that is looked for, and how many are tried.
  private static let (greatestLength, greatestCount) = (4, 20_000)

  /// The keys that a key path leads through; nil when a step is no generated property.
  package func keys(of keyPath: AnyKeyPath) -> [String]? {
    guard let properties = starting[ObjectIdentifier(type(of: keyPath).rootType)] else { return nil }
    if let property = properties.first(where: { $0.keyPath == keyPath }) { return [property.name] }
    // A path of several steps does not tell them: all paths are made until one is it. Paths that were put together differ from those that were written
    // by ==, but have their hash.
    let (hash, value) = (keyPath.hashValue, ObjectIdentifier(type(of: keyPath).valueType))
    var ends = properties.map { (keyPath: $0.keyPath, keys: [$0.name]) }
    var count = 0
    for _ in 1..<_KeyPathNames.greatestLength {
      var longer: [(keyPath: AnyKeyPath, keys: [String])] = []
      for end in ends {
        let reached = ObjectIdentifier(type(of: end.keyPath).valueType)
        // A required composite attribute is no optional.
        let next = continuing[reached]?.map { ($0, $0.continued) } ?? starting[reached]?.map { ($0, $0.keyPath) } ?? []
        for (property, step) in next {
          count += 1
          guard count <= _KeyPathNames.greatestCount, let path = end.keyPath.appending(path: step) else { return nil }
          let keys = end.keys + [property.name]
          if path.hashValue == hash, ObjectIdentifier(type(of: path).valueType) == value { return keys }
          longer.append((path, keys))
        }
      }
      ends = longer
    }
    return nil
  }
}
