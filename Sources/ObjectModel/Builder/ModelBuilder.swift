/// A part of a model in ``ManagedObjectModel/init(version:_:)``: an ``Entity``, a ``Composite``, a ``Configuration``, a ``FetchTemplate``
/// or an ``EntityDescription``.
public protocol ModelComponent: Sendable {
  /// Adds the part to a model.
  @_spi(Generated) func add(to model: inout ManagedObjectModel)
}

extension ModelComponent {
  /// Adds nothing.
  @_spi(Generated) public func add(to model: inout ManagedObjectModel) {}
}

/// A part of an ``Entity``: an ``Attribute``, a ``Relationship``, a ``FetchedProperty``, an ``Index``, a ``Unique`` or a ``PropertyDescription``.
public protocol EntityComponent: Sendable {
  /// Adds the part to an entity.
  @_spi(Generated) func add(to entity: inout EntityDescription)
}

extension EntityComponent {
  /// Adds nothing.
  @_spi(Generated) public func add(to entity: inout EntityDescription) {}
}

/// A result builder for the parts of a model or an entity, with support for conditions and loops.
@resultBuilder public enum ComponentBuilder<Component> {
  /// Adds one part.
  public static func buildExpression(_ component: Component) -> [Component] { [component] }
  /// Adds an array of parts.
  public static func buildExpression(_ components: [Component]) -> [Component] { components }
  /// Combines several parts.
  public static func buildBlock(_ parts: [Component]...) -> [Component] { parts.flatMap { $0 } }
  /// Adds a conditional part.
  public static func buildOptional(_ part: [Component]?) -> [Component] { part ?? [] }
  /// Adds the first of two alternatives.
  public static func buildEither(first part: [Component]) -> [Component] { part }
  /// Adds the second of two alternatives.
  public static func buildEither(second part: [Component]) -> [Component] { part }
  /// Adds the parts of a loop.
  public static func buildArray(_ parts: [[Component]]) -> [Component] { parts.flatMap { $0 } }
}

/// A result builder for the parts of a model.
public typealias ModelBuilder = ComponentBuilder<any ModelComponent>

/// A result builder for the parts of an entity or a composite.
public typealias EntityBuilder = ComponentBuilder<any EntityComponent>

extension ManagedObjectModel {
  /// Declares a model in Swift:
  ///
  /// ```swift
  /// let model = ManagedObjectModel(version: "library-1") {
  ///   Entity("Author", class: "Author") {
  ///     Attribute("name", .string).required().length(1...200)
  ///     Relationship("books", toMany: "Book", inverse: "author").onDelete(.cascade)
  ///   }
  ///   Entity("Book", class: "Book") {
  ///     Attribute("title", .string).required()
  ///     Attribute("pages", .integer32).required().initially(0).range(0...)
  ///     Attribute("isbn", .string).matching("[0-9]{13}")
  ///     Relationship("author", to: "Author", inverse: "books")
  ///     Index("byTitle", on: "title")
  ///     Unique("isbn")
  ///   }
  /// }
  /// ```
  ///
  /// As in Core Data's editor, attributes and relationships are optional unless marked as `required()`. (In model files the default is the
  /// opposite: properties are required unless marked as optional.) Issues are reported when the model is compiled, or by
  /// ``validationIssues()``.
  ///
  /// - Parameters:
  ///   - version: The identifier of this version of the model; nil for none.
  ///   - components: The parts of the model.
  public init(version: String? = nil, @ModelBuilder _ components: () -> [any ModelComponent]) {
    self.init()
    if let version { versionIdentifiers = [version] }
    for component in components() { component.add(to: &self) }
  }
}

extension EntityDescription: ModelComponent {
  /// Adds the entity to a model.
  @_spi(Generated) public func add(to model: inout ManagedObjectModel) { model.entities.append(self) }
}

extension PropertyDescription: EntityComponent {
  /// Adds the property to an entity.
  @_spi(Generated) public func add(to entity: inout EntityDescription) { entity.properties.append(self) }
}

/// A named subset of entities in a model declared in Swift.
public struct Configuration: ModelComponent {
  private let configuration: ModelConfiguration

  /// Creates a configuration from entity names.
  public init(_ name: String, entities: String...) {
    configuration = ModelConfiguration(name: name, entityNames: entities)
  }

  /// Adds the configuration to a model.
  @_spi(Generated) public func add(to model: inout ManagedObjectModel) { model.configurations.append(configuration) }
}

/// A named fetch request in a model declared in Swift.
public struct FetchTemplate: ModelComponent {
  private var template: FetchRequestTemplate

  /// Creates a template for an entity. The predicate can contain `$VARIABLE` placeholders.
  ///
  /// - Parameters:
  ///   - name: The template's name.
  ///   - entity: The name of the entity to fetch.
  ///   - predicate: The predicate, in format language; nil for all objects.
  ///   - limit: The maximum number of results; 0 for no limit.
  ///   - batchSize: The number of objects to read together; 0 for all.
  public init(_ name: String, entity: String, where predicate: String? = nil, limit: Int = 0, batchSize: Int = 0) {
    template = FetchRequestTemplate(name: name, entityName: entity, predicateFormat: predicate)
    template.fetchLimit = limit
    template.fetchBatchSize = batchSize
  }

  /// Adds the template to a model.
  @_spi(Generated) public func add(to model: inout ManagedObjectModel) { model.fetchRequestTemplates.append(template) }
}

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
