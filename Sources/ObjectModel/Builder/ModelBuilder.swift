// ModelBuilder: models declared in Swift.

/// A part of a model in ``ManagedObjectModel/init(version:_:)``: an ``Entity``, a ``Configuration``, a ``FetchTemplate`` or an ``EntityDescription``.
public protocol ModelComponent: Sendable {
  /// Adds the part to a model.
  func _add(to model: inout ManagedObjectModel)
}

/// A part of an ``Entity``: an ``Attribute``, a ``Relationship``, a ``FetchedProperty``, an ``Index``, a ``Unique`` or a ``PropertyDescription``.
public protocol EntityComponent: Sendable {
  /// Adds the part to an entity.
  func _add(to entity: inout EntityDescription)
}

/// Collects the parts of a model or of an entity; conditions and loops are allowed.
@resultBuilder public enum ComponentBuilder<Component> {
  /// One part.
  public static func buildExpression(_ component: Component) -> [Component] { [component] }
  /// Parts made elsewhere.
  public static func buildExpression(_ components: [Component]) -> [Component] { components }
  /// Several parts.
  public static func buildBlock(_ parts: [Component]...) -> [Component] { parts.flatMap { $0 } }
  /// A part under a condition.
  public static func buildOptional(_ part: [Component]?) -> [Component] { part ?? [] }
  /// One of two parts.
  public static func buildEither(first part: [Component]) -> [Component] { part }
  /// The other of two parts.
  public static func buildEither(second part: [Component]) -> [Component] { part }
  /// The parts of a loop.
  public static func buildArray(_ parts: [[Component]]) -> [Component] { parts.flatMap { $0 } }
}

/// Collects the parts of a model.
public typealias ModelBuilder = ComponentBuilder<any ModelComponent>

/// Collects the parts of an entity or of a composite.
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
  /// As in Core Data's editor, attributes and relationships are optional until `required()` says otherwise (in model files it is the other way round: what is
  /// not marked optional is required). Mistakes are reported when the model is compiled, or by ``validationIssues()``.
  ///
  /// - Parameters:
  ///   - version: What the application calls this version of the model; nil for nothing.
  ///   - components: The parts of the model.
  public init(version: String? = nil, @ModelBuilder _ components: () -> [any ModelComponent]) {
    self.init()
    if let version { versionIdentifiers = [version] }
    for component in components() { component._add(to: &self) }
  }
}

extension EntityDescription: ModelComponent {
  /// Adds the entity to a model.
  public func _add(to model: inout ManagedObjectModel) { model.entities.append(self) }
}

extension PropertyDescription: EntityComponent {
  /// Adds the property to an entity.
  public func _add(to entity: inout EntityDescription) { entity.properties.append(self) }
}

/// A named subset of entities in a model declared in Swift.
public struct Configuration: ModelComponent {
  private let configuration: ModelConfiguration

  /// A configuration of entities.
  public init(_ name: String, entities: String...) {
    configuration = ModelConfiguration(name: name, entityNames: entities)
  }

  /// Adds the configuration to a model.
  public func _add(to model: inout ManagedObjectModel) { model.configurations.append(configuration) }
}

/// A named fetch request in a model declared in Swift.
public struct FetchTemplate: ModelComponent {
  private var template: FetchRequestTemplate

  /// A template for an entity; the predicate, in format language, may have `$VARIABLE` holes.
  ///
  /// - Parameters:
  ///   - name: The template's name.
  ///   - entity: The entity of the objects.
  ///   - predicate: Which objects are fetched, in format language; nil for all.
  ///   - limit: How many results there are at most; 0 for all.
  ///   - batchSize: How many objects are read together; 0 for all.
  public init(_ name: String, entity: String, where predicate: String? = nil, limit: Int = 0, batchSize: Int = 0) {
    template = FetchRequestTemplate(name: name, entityName: entity, predicateFormat: predicate)
    template.fetchLimit = limit
    template.fetchBatchSize = batchSize
  }

  /// Adds the template to a model.
  public func _add(to model: inout ManagedObjectModel) { model.fetchRequestTemplates.append(template) }
}
