// MissingTransformer: what a model needs and nobody has registered.

/// An attribute whose transformer is not registered.
public struct MissingTransformer: Sendable, Hashable, CustomStringConvertible {
  /// The entity that declares the attribute.
  public let entityName: String
  /// The attribute; a part of a composite has a dotted name.
  public let attributeName: String
  /// The name to register a transformer under.
  public let transformerName: String

  /// The attribute and the name, in words.
  public var description: String { "“\(entityName).\(attributeName)” needs the transformer “\(transformerName)”" }
}
