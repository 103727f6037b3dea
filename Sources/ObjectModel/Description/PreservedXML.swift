// PreservedXML: what a model file said that the library has no meaning for, kept so that writing it loses nothing.

/// Attributes and child elements of a model file's element that have no meaning here, kept in order for writing.
public struct PreservedXML: Sendable, Hashable {
  /// An element kept as it was read.
  public struct Element: Sendable, Hashable {
    /// The element's name.
    public var name: String
    /// Its attributes.
    public var attributes: [String: String]
    /// Its child elements.
    public var children: [Element]
    /// Its text, trimmed of white space.
    public var text: String

    /// Makes an element.
    ///
    /// - Parameters:
    ///   - name: The element's name.
    ///   - attributes: Its attributes.
    ///   - children: The elements inside it.
    ///   - text: The text inside it.
    public init(name: String, attributes: [String: String] = [:], children: [Element] = [], text: String = "") {
      self.name = name
      self.attributes = attributes
      self.children = children
      self.text = text
    }
  }
  /// Attributes by name.
  public var attributes: [String: String] = [:]
  /// Child elements in file order.
  public var elements: [Element] = []

  /// Nothing preserved.
  public init() {}
}
