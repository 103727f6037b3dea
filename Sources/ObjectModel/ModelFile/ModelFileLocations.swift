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

/// The positions of a model file's elements, for errors about what the model means.
package struct ModelFileLocations: Sendable {
  private let root: XMLNode
  private let path: String?
  private let lines: [Substring]

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
  @_optimize(none) package init(_ data: Data, path: String? = nil) throws(ModelFileError) {
    root = try ModelFiles.tree(of: data, path: path)
    self.path = path
    lines = String(decoding: data, as: UTF8.self).split(omittingEmptySubsequences: false) { $0.isNewline }
  }

  /// The position of a property, else of its entity, else of the model.
  ///
  /// - Parameters:
  ///   - entity: An entity or a composite; nil for the model's configurations and templates.
  ///   - property: The name of a property, an index, a configuration or a template.
  @_optimize(none) package func location(entity: String?, property: String?) -> ModelFileLocation {
    var node = root
    if let entity {
      guard let found = root.children.first(where: { ["entity", "composite"].contains($0.name) && $0.attributes["name"] == entity }) else {
        return location(of: root)
      }
      node = found
    }
    guard let property else { return location(of: node) }
    // The parts of composites follow a dot.
    let names = [property, String(property.prefix { $0 != "." })]
    for name in names {
      if let found = node.children.first(where: { $0.attributes["name"] == name }) { return location(of: found) }
    }
    return location(of: node)
  }

  /// Whether the file describes an entity or a composite of this name.
  package func describes(_ entity: String) -> Bool { root.children.contains { $0.attributes["name"] == entity } }

  private func location(of node: XMLNode) -> ModelFileLocation {
    var column = 1
    if lines.indices.contains(node.line - 1) {
      let line = lines[node.line - 1]
      // A start tag of several lines has the number of its last one.
      let start = line.range(of: "<\(node.name)")?.lowerBound ?? line.firstIndex { !$0.isWhitespace }
      column = start.map { line.distance(from: line.startIndex, to: $0) + 1 } ?? 1
    }
    return ModelFileLocation(path: path, line: node.line, column: column)
  }
}
