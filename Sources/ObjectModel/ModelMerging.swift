// ModelMerging: several models as one, and one configuration of a model as a model.
public import Foundation

/// Why models cannot be merged.
public enum ModelMergeError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Two models have entities of one name that are not equal.
  case differentEntities([String])
  /// Two models have fetch request templates of one name that are not equal.
  case differentTemplates([String])

  /// Which names clash, and what to do.
  public var description: String {
    switch self {
    case .differentEntities(let names):
      "entities of the same name differ between the models: \(names.joined(separator: ", ")); make them equal or rename one"
    case .differentTemplates(let names):
      "fetch request templates of the same name differ between the models: \(names.joined(separator: ", ")); rename one"
    }
  }
}

extension ManagedObjectModel {
  /// Merges models: their entities, configurations of the same name joined, templates, version identifiers and notes.
  ///
  /// What model files said beyond the descriptions does not make entities different; the first model's is kept.
  ///
  /// - Throws: ``ModelMergeError`` with all names at once, unless entities and templates of the same name are equal.
  public init(merging models: [ManagedObjectModel]) throws(ModelMergeError) {
    var merged = ManagedObjectModel()
    var entities: [String: EntityDescription] = [:]
    var templates: [String: FetchRequestTemplate] = [:]
    var clashes: [String] = []
    var templateClashes: [String] = []
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
        var bare = template
        bare.preserved = PreservedXML()
        guard let known = templates[template.name] else {
          templates[template.name] = bare
          merged.fetchRequestTemplates.append(template)
          continue
        }
        if known != bare, !templateClashes.contains(template.name) { templateClashes.append(template.name) }
      }
      for configuration in model.configurations { merged.join(configuration) }
      merged.versionIdentifiers.formUnion(model.versionIdentifiers)
      merged.userInfo.merge(model.userInfo) { first, _ in first }
      merged.preserved.join(model.preserved)
    }
    guard clashes.isEmpty else { throw .differentEntities(clashes) }
    guard templateClashes.isEmpty else { throw .differentTemplates(templateClashes) }
    self = merged
  }

  /// Merges those entities of models that a store was written with.
  ///
  /// - Parameters:
  ///   - models: The models, such as all versions of a bundle.
  ///   - hashes: The version hashes by entity name that the store keeps.
  /// - Returns: A model of exactly the store's entities; nil when an entity of the store is in none of the models with its hash.
  public init?(merging models: [ManagedObjectModel], forStoreMetadata hashes: [String: Data]) {
    // A model that fits as a whole brings its configurations and templates too.
    if let whole = models.first(where: { $0.isConfiguration(withName: nil, compatibleWithStoreMetadata: hashes) }) {
      self = whole
      return
    }
    var found: [String: EntityDescription] = [:]
    var order: [String] = []
    var identifiers: Set<String> = []
    for model in models {
      for entity in model.entities where found[entity.name] == nil && hashes[entity.name] != nil {
        guard ModelVersionHash.hash(of: entity) == hashes[entity.name] else { continue }
        found[entity.name] = entity
        order.append(entity.name)
        identifiers.formUnion(model.versionIdentifiers)
      }
    }
    guard found.count == hashes.count else { return nil }
    self.init(entities: order.compactMap { found[$0] })
    versionIdentifiers = identifiers
  }

  /// The model of one configuration: its entities with the superentities they need, without relationships to entities outside it and without
  /// the indexes, constraints and templates that those leave without a subject.
  ///
  /// - Returns: The whole model when the name is nil; nil when there is no configuration of the name.
  public func restricted(toConfiguration name: String?) -> ManagedObjectModel? {
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
    // Dropped relationships may be inherited, so what uses them is looked for once all are gone.
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
  /// Adds another file's unknown parts; attributes that are there already stay.
  fileprivate mutating func join(_ other: PreservedXML) {
    attributes.merge(other.attributes) { first, _ in first }
    elements += other.elements.filter { !elements.contains($0) }
  }
}

extension EntityDescription {
  /// The entity without what a file said beyond the descriptions, for comparing.
  var withoutPreserved: EntityDescription {
    var entity = self
    entity.preserved = PreservedXML()
    entity.properties = properties.map { property in
      switch property {
      case .attribute(var attribute):
        attribute.preserved = PreservedXML()
        return .attribute(attribute)
      case .relationship(var relationship):
        relationship.preserved = PreservedXML()
        return .relationship(relationship)
      case .fetchedProperty(var fetched):
        fetched.preserved = PreservedXML()
        return .fetchedProperty(fetched)
      }
    }
    entity.indexes = indexes.map { index in
      var index = index
      index.preserved = PreservedXML()
      for position in index.elements.indices { index.elements[position].preserved = PreservedXML() }
      return index
    }
    return entity
  }

  fileprivate func restricted(to kept: Set<String>) -> EntityDescription {
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

  /// Removes indexes and constraints over properties that are not there.
  fileprivate mutating func dropUses(in entities: [String: EntityDescription]) {
    var names = Set(properties.map(\.name))
    var visited: Set<String> = [name]
    var next = superentityName
    while let parent = next.flatMap({ entities[$0] }), visited.insert(parent.name).inserted {
      names.formUnion(parent.properties.map(\.name))
      next = parent.superentityName
    }
    indexes.removeAll { $0.elements.contains { element in element.propertyName.map { !names.contains($0) } ?? false } }
    uniquenessConstraints.removeAll { !names.isSuperset(of: $0) }
  }
}
