public import Foundation

extension ManagedObjectModel {
  /// Merges models: their entities, composites, configurations (joined by name), templates, version identifiers and user info.
  ///
  /// Unknown parts of model files are ignored when entities are compared. The merged model has those of the first model.
  ///
  /// - Throws: ``ModelMergeError`` with all conflicting names if entities, templates or composites of the same name differ.
  @_optimize(none) public init(merging models: [ManagedObjectModel]) throws(ModelMergeError) {
    var merged = ManagedObjectModel()
    var entities: [String: EntityDescription] = [:]
    var templates: [String: FetchRequestTemplate] = [:]
    var clashes: [String] = []
    var templateClashes: [String] = []
    var compositeClashes: [String] = []
    for model in models {
      for entity in model.entities {
        let bare = entity.withoutPreserved
        guard let known = entities[entity.name] else {
          entities[entity.name] = bare
          merged.entities.append(entity)
          continue
        }
        if known != bare, !clashes.contains(entity.name) { clashes.append(entity.name) }
      }
      for template in model.fetchRequestTemplates {
        let bare = template.withoutPreserved
        guard let known = templates[template.name] else {
          templates[template.name] = bare
          merged.fetchRequestTemplates.append(template)
          continue
        }
        if known != bare, !templateClashes.contains(template.name) { templateClashes.append(template.name) }
      }
      for composite in model.composites {
        guard let known = merged.composite(named: composite.name) else {
          merged.composites.append(composite)
          continue
        }
        if known.withoutPreserved != composite.withoutPreserved, !compositeClashes.contains(composite.name) {
          compositeClashes.append(composite.name)
        }
      }
      for configuration in model.configurations { merged.join(configuration) }
      merged.versionIdentifiers.formUnion(model.versionIdentifiers)
      merged.userInfo.merge(model.userInfo) { first, _ in first }
      merged.preserved.join(model.preserved)
    }
    guard clashes.isEmpty else { throw .differentEntities(clashes) }
    guard templateClashes.isEmpty else { throw .differentTemplates(templateClashes) }
    guard compositeClashes.isEmpty else { throw .differentComposites(compositeClashes) }
    self = merged
  }

  /// Merges the entities of models with which a store was written.
  ///
  /// - Parameters:
  ///   - models: The models, such as all versions of a bundle.
  ///   - hashes: The store's version hashes by entity name.
  /// - Returns: A model with exactly the store's entities; nil if no model has one of these entities with its hash.
  @_optimize(none) public init?(merging models: [ManagedObjectModel], forStoreMetadata hashes: [String: Data]) {
    // A model that is compatible as a whole also contributes its configurations and templates.
    if let whole = models.first(where: { $0.isConfiguration(withName: nil, compatibleWithStoreMetadata: hashes) }) {
      self = whole
      return
    }
    self.init()
    for (number, model) in models.enumerated() {
      let fitting = model.entities.filter { candidate in
        hashes[candidate.name] != nil && entity(named: candidate.name) == nil
          && ModelVersionHash.hash(of: candidate, in: model) == hashes[candidate.name]
      }
      guard !fitting.isEmpty else { continue }
      let names = adopt(model.composites, of: number)
      for var entity in fitting {
        entity.properties = entity.properties.map { property in
          guard case .attribute(let attribute) = property else { return property }
          return .attribute(attribute.renamingComposite(names))
        }
        entities.append(entity)
      }
      versionIdentifiers.formUnion(model.versionIdentifiers)
    }
    guard entities.count == hashes.count else { return nil }
  }

  /// Adds the composites of another model. Composites that conflict by name are renamed, which does not affect hashes.
  ///
  /// - Returns: The new names by the old ones.
  @_optimize(none) private mutating func adopt(_ others: [CompositeDescription], of number: Int) -> [String: String] {
    var names: [String: String] = [:]
    let differ = others.contains { other in
      composite(named: other.name).map { $0.withoutPreserved != other.withoutPreserved } ?? false
    }
    for composite in others {
      names[composite.name] = differ ? "\(composite.name) \(number + 1)" : composite.name
    }
    for var composite in others where differ || self.composite(named: composite.name) == nil {
      composite.elements = composite.elements.map { $0.renamingComposite(names) }
      composite.name = names[composite.name] ?? composite.name
      composites.append(composite)
    }
    return names
  }

  /// Returns the model of one configuration: its entities and their superentities, without relationships to other entities, and without the
  /// indexes, constraints and templates that depend on removed parts.
  ///
  /// - Returns: The whole model if the name is nil; nil if there is no such configuration.
  @_optimize(none) public func restricted(toConfiguration name: String?) -> ManagedObjectModel? {
    guard let name else { return self }
    guard let configuration = configurations.first(where: { $0.name == name }) else { return nil }
    let byName = entitiesByName
    var kept: Set<String> = []
    for member in configuration.entityNames {
      var next: String? = member
      while let entity = next.flatMap({ byName[$0] }), kept.insert(entity.name).inserted { next = entity.superentityName }
    }
    var result = self
    result.entities = entities.filter { kept.contains($0.name) }.map { $0.restricted(to: kept) }
    result.configurations = [configuration]
    result.fetchRequestTemplates.removeAll { !kept.contains($0.entityName) }
    // Removed relationships may be inherited, so their uses are removed after all entities are restricted.
    let remaining = result.entitiesByName
    for position in result.entities.indices { result.entities[position].dropUses(in: remaining) }
    return result
  }

  private mutating func join(_ configuration: ModelConfiguration) {
    guard let position = configurations.firstIndex(where: { $0.name == configuration.name }) else {
      configurations.append(configuration)
      return
    }
    let known = Set(configurations[position].entityNames)
    configurations[position].entityNames += configuration.entityNames.filter { !known.contains($0) }
    configurations[position].usedWithCloudKit = configurations[position].usedWithCloudKit || configuration.usedWithCloudKit
  }
}

extension PreservedXML {
  /// Adds the unknown parts of another file; existing attributes take precedence.
  fileprivate mutating func join(_ other: PreservedXML) {
    attributes.merge(other.attributes) { first, _ in first }
    elements += other.elements.filter { !elements.contains($0) }
  }
}

extension AttributeDescription {
  fileprivate func renamingComposite(_ names: [String: String]) -> AttributeDescription {
    var attribute = self
    attribute.compositeName = compositeName.map { names[$0] ?? $0 }
    return attribute
  }
}

extension EntityDescription {
  @_optimize(none) fileprivate func restricted(to kept: Set<String>) -> EntityDescription {
    var entity = self
    entity.properties.removeAll { property in
      switch property {
      case .attribute: false
      case .relationship(let relationship): !kept.contains(relationship.destinationEntityName)
      case .fetchedProperty(let fetched): !kept.contains(fetched.destinationEntityName)
      }
    }
    return entity
  }

  /// Removes indexes and constraints over missing properties.
  @_optimize(none) fileprivate mutating func dropUses(in entities: [String: EntityDescription]) {
    var names = Set(properties.map(\.name))
    var visited: Set<String> = [name]
    var next = superentityName
    while let parent = next.flatMap({ entities[$0] }), visited.insert(parent.name).inserted {
      names.formUnion(parent.properties.map(\.name))
      next = parent.superentityName
    }
    // The part of a composite exists if the composite does.
    func exists(_ path: String) -> Bool { names.contains(String(path.prefix { $0 != "." })) }
    indexes.removeAll { $0.elements.contains { element in element.propertyName.map { !exists($0) } ?? false } }
    uniquenessConstraints.removeAll { !$0.allSatisfy(exists) }
  }
}

/// The reason why models cannot be merged.
public enum ModelMergeError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Two models have different entities of the same name.
  case differentEntities([String])
  /// Two models have different fetch request templates of the same name.
  case differentTemplates([String])
  /// Two models have different composites of the same name.
  case differentComposites([String])

  /// A message with the conflicting names and the solution.
  @_optimize(none) public var description: String {
    switch self {
    case .differentEntities(let names):
      "entities of the same name differ between the models: \(names.joined(separator: ", ")); make them equal or rename one"
    case .differentTemplates(let names):
      "fetch request templates of the same name differ between the models: \(names.joined(separator: ", ")); rename one"
    case .differentComposites(let names):
      "composites of the same name differ between the models: \(names.joined(separator: ", ")); rename one"
    }
  }
}

// MARK: - Advice

extension ModelMergeError: LocalizedError {}

extension ModelMergeError: AdvisedError {
  /// The messages for the user and the developer of an application.
  @_optimize(none) package var advice: ErrorAdvice {
    switch self {
    case .differentEntities:
      ErrorAdvice(
        user: "The application is configured incorrectly.",
        developer: "Make entities with the same name equal in all models, or rename one.")
    case .differentTemplates:
      ErrorAdvice(user: "The application is configured incorrectly.", developer: "Rename one of the fetch request templates.")
    case .differentComposites: ErrorAdvice(user: "The application is configured incorrectly.", developer: "Rename one of the composites.")
    }
  }
}
