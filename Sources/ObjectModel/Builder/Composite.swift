// Composite: a kind of composite value declared in Swift.

/// A kind of composite value in a model declared in Swift: a named bundle of attributes.
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

  /// Declares a kind of composite value.
  ///
  /// - Parameters:
  ///   - name: The name that attributes give.
  ///   - elements: The parts; they may be composites themselves.
  public init(_ name: String, @EntityBuilder _ elements: () -> [any EntityComponent]) {
    var holder = EntityDescription(name: name)
    for element in elements() { element._add(to: &holder) }
    composite = CompositeDescription(name: name, elements: holder.attributes)
  }

  /// Adds a note of the application.
  public func note(_ key: String, _ value: String) -> Composite {
    var copy = self
    copy.composite.userInfo[key] = value
    return copy
  }

  /// Adds the kind to a model.
  public func _add(to model: inout ManagedObjectModel) { model.composites.append(composite) }
}
