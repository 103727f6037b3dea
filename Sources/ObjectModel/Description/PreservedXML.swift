// PreservedXML: what a model file said that the library has no meaning for, kept so that writing it loses nothing.

/// Attributes and child elements of a model file's element that have no meaning here, kept in order for writing.
package struct PreservedXML: Sendable, Hashable {
  /// An element kept as it was read.
  package struct Element: Sendable, Hashable {
    /// The element's name.
    package var name: String
    /// Its attributes.
    package var attributes: [String: String]
    /// Its child elements.
    package var children: [Element]
    /// Its text, trimmed of white space.
    package var text: String

    /// Makes an element.
    ///
    /// - Parameters:
    ///   - name: The element's name.
    ///   - attributes: Its attributes.
    ///   - children: The elements inside it.
    ///   - text: The text inside it.
    package init(name: String, attributes: [String: String] = [:], children: [Element] = [], text: String = "") {
      self.name = name
      self.attributes = attributes
      self.children = children
      self.text = text
    }
  }
  /// Attributes by name.
  package var attributes: [String: String] = [:]
  /// Child elements in file order.
  package var elements: [Element] = []

  /// Nothing preserved.
  package init() {}
}
