// CompositeDescription: a named bundle of attributes.

/// A kind of composite value: a named bundle of attributes, some of which may be composites again.
///
/// An attribute of the type ``AttributeType/composite`` names one by ``AttributeDescription/compositeName``. Every part has a column of its own, and a
/// name in key paths, such as `home.city`.
public struct CompositeDescription: Sendable, Hashable {
  /// The name, unique among the model's composites.
  public var name: String
  /// The parts.
  public var elements: [AttributeDescription]
  /// Notes of the application.
  public var userInfo: [String: String] = [:]
  /// What a model file says beyond the other properties.
  package var preserved = PreservedXML()

  /// Makes a kind of composite value.
  public init(name: String, elements: [AttributeDescription] = []) {
    self.name = name
    self.elements = elements
  }
}
