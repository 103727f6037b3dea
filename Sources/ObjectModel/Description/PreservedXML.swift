/// Unknown attributes and child elements of an element in a model file, preserved in order, so that writing the file loses nothing.
package struct PreservedXML: Sendable, Hashable {
  /// An unchanged element.
  package struct Element: Sendable, Hashable {
    /// The element's name.
    package var name: String
    /// Its attributes.
    package var attributes: [String: String]
    /// Its child elements.
    package var children: [Element]
    /// Its text, without surrounding white space.
    package var text: String

    /// Creates an element.
    ///
    /// - Parameters:
    ///   - name: The element's name.
    ///   - attributes: Its attributes.
    ///   - children: Its child elements.
    ///   - text: Its text.
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

  /// Creates an empty value.
  package init() {}
}
