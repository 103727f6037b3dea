// ModelFileLocations: where a model file describes an entity or a property.
package import Foundation

/// A position in a model file.
package struct ModelFileLocation: Sendable, Hashable, CustomStringConvertible {
  /// The file; nil if the bytes came from memory.
  package let path: String?
  /// The line, from 1.
  package let line: Int
  /// The column, from 1.
  package let column: Int

  /// `path:line:column`, which Xcode and `swift build` read.
  package var description: String { "\(path.map { "\($0):" } ?? "")\(line):\(column)" }
}

/// The positions of a model file's elements by the names that they declare, for errors and warnings about what the model means.
package struct ModelFileLocations: Sendable {
  /// The name of an entity or composite, nil for the model, and of what it contains, nil for itself.
  private struct Key: Hashable {
    let owner: String?
    let name: String?
  }

  private var locations: [Key: ModelFileLocation] = [:]
  private let root: ModelFileLocation

  /// Reads a model file; of a bundle of versions the current one.
  ///
  /// - Parameter url: An `.xcdatamodeld` or `.xcdatamodel` bundle, or the `contents` of one.
  /// - Throws: ``ModelFileError`` if the file cannot be read.
  package init(ofModelAt url: URL) throws(ModelFileError) {
    let file = try ModelFiles.contents(ofModelAt: url)
    try self.init(ModelFiles.data(at: file), path: file.path)
  }

  /// Reads the bytes of a `contents` file.
  ///
  /// - Throws: ``ModelFileError`` if they are not XML.
  package init(_ data: Data, path: String? = nil) throws(ModelFileError) {
    self.init(try ModelFiles.tree(of: data, path: path), path: path)
  }

  /// The positions of the elements of a tree.
  @_optimize(none) init(_ tree: XMLNode, path: String?) {
    root = ModelFileLocation(path: path, line: tree.line, column: tree.column)
    for node in tree.children {
      let isOwner = node.name == "entity" || node.name == "composite"
      // An element without the name that it needs is reported by an empty one.
      guard let name = node.attributes["name"] ?? (isOwner ? "" : nil) else { continue }
      add(node, isOwner ? Key(owner: name, name: nil) : Key(owner: nil, name: name))
      guard isOwner else { continue }
      for child in node.children {
        let isProperty = ["attribute", "relationship", "fetchedProperty"].contains(child.name)
        if let part = child.attributes["name"] ?? (isProperty ? "" : nil) { add(child, Key(owner: name, name: part)) }
      }
    }
  }

  private mutating func add(_ node: XMLNode, _ key: Key) {
    // The model reports two elements of a name; the first one keeps its position.
    guard locations[key] == nil else { return }
    locations[key] = ModelFileLocation(path: root.path, line: node.line, column: node.column)
  }

  /// The position of a property, else of its entity, else of the model.
  ///
  /// - Parameters:
  ///   - entity: An entity or a composite; nil for the model's configurations and templates.
  ///   - property: The name of a property, an index, a configuration or a template.
  @_optimize(none) package func location(entity: String?, property: String?) -> ModelFileLocation {
    if let property {
      // The parts of composites follow a dot.
      for name in [property, String(property.prefix { $0 != "." })] {
        if let found = locations[Key(owner: entity, name: name)] { return found }
      }
      // Mistakes of composites have no entity.
      if entity == nil, let found = locations[Key(owner: property, name: nil)] { return found }
    }
    return entity.flatMap { locations[Key(owner: $0, name: nil)] } ?? root
  }

  /// Whether the file describes an entity or a composite of this name.
  package func describes(_ entity: String) -> Bool { locations[Key(owner: entity, name: nil)] != nil }
}
