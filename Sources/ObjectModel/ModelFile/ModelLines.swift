// ModelLines: where the entities and properties of a model stand in its file.

/// The lines of a model file's elements by the names that they declare.
struct ModelLines {
  /// The name of an entity or composite, nil for the model, and of what it contains, nil for itself.
  private struct Place: Hashable {
    let owner: String?
    let name: String?
  }

  private var lines: [Place: Int] = [:]

  @_optimize(none) init(_ root: XMLNode) {
    for node in root.children {
      guard let name = node.attributes["name"] else { continue }
      // Two elements of a name are reported by the model, and the first stands here.
      let isOwner = node.name == "entity" || node.name == "composite"
      add(isOwner ? Place(owner: name, name: nil) : Place(owner: nil, name: name), node.line)
      guard isOwner else { continue }
      for child in node.children {
        if let part = child.attributes["name"] { add(Place(owner: name, name: part), child.line) }
      }
    }
  }

  private mutating func add(_ place: Place, _ line: Int) {
    if lines[place] == nil { lines[place] = line }
  }

  /// The line of a property, index or other part of an entity, or, without an entity, of the model; that of the entity where the part is not known.
  func line(of entity: String?, _ name: String?) -> Int? {
    lines[Place(owner: entity, name: name)] ?? lines[Place(owner: entity, name: nil)]
  }
}
