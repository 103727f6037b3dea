package import Foundation

/// A position in a model file.
package struct ModelFileLocation: Sendable, Hashable, CustomStringConvertible {
  /// The path of the file; nil for data in memory.
  package let path: String?
  /// The line, from 1.
  package let line: Int
  /// The column, from 1.
  package let column: Int

  /// The position as `path:line:column`, which Xcode and `swift build` recognize.
  package var description: String { "\(path.map { "\($0):" } ?? "")\(line):\(column)" }
}

/// The positions of a model file's elements by the names that they declare, for errors and warnings about the model.
package struct ModelFileLocations: Sendable {
  /// The name of an entity or composite (nil for the model), and the name of its part (nil for the owner itself).
  private struct Key: Hashable {
    let owner: String?
    let name: String?
  }

  private var locations: [Key: ModelFileLocation] = [:]
  private let root: ModelFileLocation

  /// Reads a model file, or the current version in a bundle of versions.
  ///
  /// - Parameter url: An `.xcdatamodeld` or `.xcdatamodel` bundle, or the `contents` file of one.
  /// - Throws: ``ModelFileError`` if the file cannot be read.
  package init(ofModelAt url: URL) throws(ModelFileError) {
    let file = try ModelFiles.contents(ofModelAt: url)
    try self.init(ModelFiles.data(at: file), path: file.path)
  }

  /// Reads the data of a `contents` file.
  ///
  /// - Throws: ``ModelFileError`` if the data is not XML.
  package init(_ data: Data, path: String? = nil) throws(ModelFileError) {
    self.init(try ModelFiles.tree(of: data, path: path), path: path)
  }

  /// Collects the positions of the elements of a tree.
  @_optimize(none) init(_ tree: XMLNode, path: String?) {
    root = ModelFileLocation(path: path, line: tree.line, column: tree.column)
    for node in tree.children {
      let isOwner = node.name == "entity" || node.name == "composite"
      // Issues refer to an element with a missing name by the empty name.
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
    // Duplicate names are reported by the model's validation; the first element keeps its position.
    guard locations[key] == nil else { return }
    locations[key] = ModelFileLocation(path: root.path, line: node.line, column: node.column)
  }

  /// Returns the position of a property, else of its entity, else of the model.
  ///
  /// - Parameters:
  ///   - entity: An entity or a composite; nil for the model's configurations and templates.
  ///   - property: The name of a property, an index, a configuration or a template.
  @_optimize(none) package func location(entity: String?, property: String?) -> ModelFileLocation {
    if let property {
      // Parts of composites have dotted names.
      for name in [property, String(property.prefix { $0 != "." })] {
        if let found = locations[Key(owner: entity, name: name)] { return found }
      }
      // Issues of composites have no entity.
      if entity == nil, let found = locations[Key(owner: property, name: nil)] { return found }
    }
    return entity.flatMap { locations[Key(owner: $0, name: nil)] } ?? root
  }

  /// Returns whether the file contains an entity or a composite with a name.
  package func describes(_ entity: String) -> Bool { locations[Key(owner: entity, name: nil)] != nil }
}
