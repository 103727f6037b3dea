/// A composite type: a named group of attributes, which can be composites themselves.
///
/// An attribute of the type ``AttributeType/composite`` refers to it by ``AttributeDescription/compositeName``. Each part has its own
/// column, and a name in key paths, such as `home.city`.
public struct CompositeDescription: Sendable, Hashable {
  /// The name, unique among the model's composites.
  public var name: String
  /// The parts.
  public var elements: [AttributeDescription]
  /// Application-defined values.
  public var userInfo: [String: String] = [:]
  /// Parts of the model file that the other properties do not represent.
  package var preserved = PreservedXML()

  /// Creates a composite type.
  public init(name: String, elements: [AttributeDescription] = []) {
    self.name = name
    self.elements = elements
  }
}
