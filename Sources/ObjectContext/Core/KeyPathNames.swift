import ObjectModel

/// The names of generated properties by Swift key path, for the classes of one model. Generated code fills the table.
public struct KeyPathNames: Sendable {
  // Key paths of plain properties capture nothing and are safe to share; in Swift 5 mode the compiler does not treat them as `Sendable`.
  private struct Property: @unchecked Sendable {
    let name: String
    let keyPath: AnyKeyPath
    /// The property of an optional object, with which a path through a to-one relationship continues.
    let continued: AnyKeyPath
  }
  /// The properties by the root types of their key paths.
  private var starting: [ObjectIdentifier: [Property]] = [:]
  /// The properties by the root types of their continued key paths.
  private var continuing: [ObjectIdentifier: [Property]] = [:]

  /// Creates an empty table.
  public init() {}

  /// Adds a property of a class, or a part of a composite: `names.add(\Book.title, \Book?.?.title, "title")`.
  ///
  /// - Parameters:
  ///   - keyPath: The key path from an object. It must consist of properties only: a subscript could capture a value that is not
  ///     `Sendable`.
  ///   - continued: The key path from an optional object.
  ///   - name: The property's name in the model.
  public mutating func add(_ keyPath: AnyKeyPath, _ continued: AnyKeyPath, _ name: String) {
    let property = Property(name: name, keyPath: keyPath, continued: continued)
    starting[ObjectIdentifier(type(of: keyPath).rootType), default: []].append(property)
    continuing[ObjectIdentifier(type(of: continued).rootType), default: []].append(property)
  }

  /// Adds the `id` of a class that declares its entity, if `id` is the object's ID and not a property of the class itself.
  public mutating func addIdentity(_ keyPath: AnyKeyPath, _ continued: AnyKeyPath) {
    guard type(of: keyPath).valueType == ManagedObjectID.self else { return }
    add(keyPath, continued, "objectID")
  }

  /// The maximum length of a path, and the maximum number of paths to try.
  private static let (maximumLength, maximumCount) = (4, 20_000)

  /// Returns the keys of a key path, or `nil` if a component is not a generated property.
  package func keys(of keyPath: AnyKeyPath) -> [String]? {
    guard let properties = starting[ObjectIdentifier(type(of: keyPath).rootType)] else { return nil }
    if let property = properties.first(where: { $0.keyPath == keyPath }) { return [property.name] }
    // The components of a key path cannot be inspected, so all paths are constructed until one matches. Appended paths are not equal to
    // literal ones, but have the same hash value.
    let (hash, value) = (keyPath.hashValue, ObjectIdentifier(type(of: keyPath).valueType))
    var ends = properties.map { (keyPath: $0.keyPath, keys: [$0.name]) }
    var count = 0
    for _ in 1..<KeyPathNames.maximumLength {
      var longer: [(keyPath: AnyKeyPath, keys: [String])] = []
      for end in ends {
        let reached = ObjectIdentifier(type(of: end.keyPath).valueType)
        // A required composite attribute is not optional.
        let next = continuing[reached]?.map { ($0, $0.continued) } ?? starting[reached]?.map { ($0, $0.keyPath) } ?? []
        for (property, step) in next {
          count += 1
          guard count <= KeyPathNames.maximumCount, let path = end.keyPath.appending(path: step) else { return nil }
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
