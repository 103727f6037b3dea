/// An attribute whose transformer is not registered.
public struct MissingTransformer: Sendable, Hashable, CustomStringConvertible {
  /// The entity that declares the attribute.
  public let entityName: String
  /// The name of the attribute. Attributes of composites have dotted names.
  public let attributeName: String
  /// The name under which to register a transformer.
  public let transformerName: String

  /// A message that names the attribute and the transformer.
  public var description: String { "“\(entityName).\(attributeName)” needs the transformer “\(transformerName)”" }
}
