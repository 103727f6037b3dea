/// A composite type in a model declared in Swift: a named group of attributes.
///
/// ```swift
/// Composite("Address") {
///   Attribute("street", .string)
///   Attribute("city", .string).required()
/// }
/// Entity("Person") {
///   Attribute("home", composite: "Address")
/// }
/// ```
public struct Composite: ModelComponent {
  private var composite: CompositeDescription

  /// Declares a composite type.
  ///
  /// - Parameters:
  ///   - name: The name by which attributes refer to it.
  ///   - elements: The parts, which can be composites themselves.
  public init(_ name: String, @EntityBuilder _ elements: () -> [any EntityComponent]) {
    var holder = EntityDescription(name: name)
    for element in elements() { element.add(to: &holder) }
    composite = CompositeDescription(name: name, elements: holder.attributes)
  }

  /// Adds a user info entry.
  public func userInfo(_ key: String, _ value: String) -> Composite {
    var copy = self
    copy.composite.userInfo[key] = value
    return copy
  }

  /// Adds the composite type to a model.
  @_spi(Generated) public func add(to model: inout ManagedObjectModel) { model.composites.append(composite) }
}
