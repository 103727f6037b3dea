// ModelMatches: which entity and which property of one version of a model was which of the other.

/// Which entity and property of one version was which of the other.
struct ModelMatches: Sendable {
  /// The number of the source entity of each destination entity.
  private(set) var sources: [Int?]
  /// The number of the destination entity of each source entity.
  private(set) var destinations: [Int?]
  /// For each destination entity: the older names of its properties by the newer ones, inherited ones and parts of composites included.
  private(set) var olderNames: [[String: String]]
  /// The numbers of the source relationships that live on in a relationship of the destination.
  private(set) var keptRelationships: Set<Int> = []

  @_optimize(none) init(_ source: CompiledModel, _ destination: CompiledModel) {
    sources = Array(repeating: nil, count: destination.entities.count)
    destinations = Array(repeating: nil, count: source.entities.count)
    olderNames = Array(repeating: [:], count: destination.entities.count)
    matchEntities(source, destination)
    for entity in destination.entities {
      guard let number = sources[entity.number] else { continue }
      let before = ComparedProperty.all(of: source.entities[number])
      olderNames[entity.number] = ComparedProperty.sources(of: ComparedProperty.all(of: entity), in: before) { newer, older in
        sources[newer.declaringEntity] == older.declaringEntity
          && Self.isUnchanged(source.entities[older.declaringEntity], destination.entities[newer.declaringEntity], source, destination)
      }.mapValues { before[$0].name }
    }
    matchByInverses(source, destination)
    for entity in destination.entities {
      guard let number = sources[entity.number] else { continue }
      for name in olderNames[entity.number].values {
        if let relationship = source.entities[number].relationship(named: name) { keptRelationships.insert(relationship.id) }
      }
    }
  }

  private static func isUnchanged(
    _ older: CompiledEntity, _ newer: CompiledEntity, _ source: CompiledModel, _ destination: CompiledModel
  ) -> Bool {
    older.name == newer.name && source.versionHashes[older.name] == destination.versionHashes[newer.name]
  }

  // MARK: Entities

  @_optimize(none) private mutating func matchEntities(_ source: CompiledModel, _ destination: CompiledModel) {
    let olderNames = Self.numbers(source) { $0.name }
    let olderIdentifiers = Self.numbers(source) { $0.renamingIdentifier }
    for entity in destination.entities {
      guard let number = olderNames[entity.name] else { continue }
      let older = source.entities[number]
      // Rows of an entity with the same hash stay as they are. Identifiers that did not change are those of an earlier renaming.
      let identifier = entity.entityDescription.renamingIdentifier
      let isRenamedAlready = identifier != nil && identifier == older.entityDescription.renamingIdentifier
      if isRenamedAlready || Self.isUnchanged(older, entity, source, destination) { match(entity.number, number) }
    }
    // A renaming identifier says more than a name that another entity may have taken over.
    for entity in destination.entities {
      guard let identifier = entity.entityDescription.renamingIdentifier else { continue }
      match(entity.number, olderNames[identifier])
      match(entity.number, olderIdentifiers[identifier])
    }
    for entity in destination.entities { match(entity.number, olderNames[entity.name]) }
    for entity in destination.entities { match(entity.number, olderIdentifiers[entity.name]) }
  }

  private mutating func match(_ destination: Int, _ source: Int?) {
    guard let source, sources[destination] == nil, destinations[source] == nil else { return }
    sources[destination] = source
    destinations[source] = destination
  }

  private static func numbers(_ model: CompiledModel, _ name: (EntityDescription) -> String?) -> [String: Int] {
    var result: [String: Int] = [:]
    for entity in model.entities {
      if let name = name(entity.entityDescription), result[name] == nil { result[name] = entity.number }
    }
    return result
  }

  // MARK: Relationships

  /// Matches relationships that have no older one of their own with the older inverse of what their inverse was: links are shared by both sides, so they
  /// survive where one side was renamed.
  @_optimize(none) private mutating func matchByInverses(_ source: CompiledModel, _ destination: CompiledModel) {
    for entity in destination.entities {
      guard let number = sources[entity.number] else { continue }
      let older = source.entities[number]
      var taken = Set(olderNames[entity.number].values)
      for relationship in entity.relationships where !relationship.isTransient && olderNames[entity.number][relationship.name] == nil {
        guard let inverse = destination.inverse(of: relationship), inverse.id != relationship.id,
          let owner = sources[inverse.sourceEntity], let name = olderNames[inverse.sourceEntity][inverse.name],
          let olderInverse = source.entities[owner].relationship(named: name), let known = source.inverse(of: olderInverse),
          known.id != olderInverse.id, older.relationship(named: known.name)?.id == known.id, !known.isTransient,
          lostDestinations(of: known, as: relationship, source, destination).isEmpty, taken.insert(known.name).inserted
        else { continue }
        olderNames[entity.number][relationship.name] = known.name
      }
    }
  }

  /// The older entities that a relationship could refer to and that the newer one cannot, though they live on.
  func lostDestinations(
    of older: CompiledRelationship, as newer: CompiledRelationship, _ source: CompiledModel, _ destination: CompiledModel
  ) -> [CompiledEntity] {
    let target = destination.entities[newer.destinationEntity]
    return source.entities[source.entities[older.destinationEntity].subtree].filter { candidate in
      guard let number = destinations[candidate.number] else { return false }
      return !destination.entities[number].isKind(of: target)
    }
  }

  /// The older relationship that a newer one was, by the entity that declares it; nil where there was none, or an attribute.
  func source(of relationship: CompiledRelationship, _ source: CompiledModel) -> CompiledRelationship? {
    guard let number = sources[relationship.sourceEntity], let name = olderNames[relationship.sourceEntity][relationship.name] else {
      return nil
    }
    return source.entities[number].relationship(named: name)
  }
}

extension CompiledEntity {
  /// The relationship with a name; nil where the name is another property's or none.
  fileprivate func relationship(named name: String) -> CompiledRelationship? {
    switch property(named: name) {
    case .toOne(let relationship), .toMany(let relationship): relationship
    default: nil
    }
  }
}

/// A property with a column or a relationship, as versions are compared by it.
struct ComparedProperty {
  let name: String
  let renamingIdentifier: String?
  /// The number of the entity that declares it.
  let declaringEntity: Int
  let attribute: AttributeDescription?
  let relationship: CompiledRelationship?

  /// The properties of an entity, inherited ones included.
  @_optimize(none) static func all(of entity: CompiledEntity) -> [ComparedProperty] {
    let slots = entity.slots.map {
      ComparedProperty(
        name: $0.name, renamingIdentifier: $0.attribute?.renamingIdentifier ?? $0.relationship?.relationshipDescription.renamingIdentifier,
        declaringEntity: $0.declaringEntity, attribute: $0.attribute, relationship: $0.relationship)
    }
    let toMany = entity.toManyRelationships.map {
      ComparedProperty(
        name: $0.name, renamingIdentifier: $0.relationshipDescription.renamingIdentifier, declaringEntity: $0.sourceEntity, attribute: nil,
        relationship: $0)
    }
    return slots + toMany
  }

  /// The position of the older property that each newer one was, by the newer one's name. No older one stands for two.
  ///
  /// - Parameter isUnchanged: Whether two properties of one name are declared by what is the same entity with the same hash.
  @_optimize(none) static func sources(
    of newer: [ComparedProperty], in older: [ComparedProperty],
    isUnchanged: (ComparedProperty, ComparedProperty) -> Bool = { _, _ in false }
  ) -> [String: Int] {
    // Entities far apart in a tree may declare the same name.
    let names = Dictionary(grouping: older.indices) { older[$0].name }
    let identifiers = Dictionary(grouping: older.indices.filter { older[$0].renamingIdentifier != nil }) {
      older[$0].renamingIdentifier ?? ""
    }
    var result: [String: Int] = [:]
    var taken: Set<Int> = []
    func match(_ property: ComparedProperty, _ candidates: [Int]?, _ isSame: (ComparedProperty) -> Bool = { _ in true }) {
      guard result[property.name] == nil, let index = candidates?.first(where: { !taken.contains($0) && isSame(older[$0]) }) else { return }
      taken.insert(index)
      result[property.name] = index
    }
    for property in newer {
      // An identifier that did not change is that of an earlier renaming.
      match(property, names[property.name]) {
        property.renamingIdentifier != nil && $0.renamingIdentifier == property.renamingIdentifier || isUnchanged(property, $0)
      }
    }
    // A renaming identifier says more than a name that another property may have taken over.
    for property in newer {
      guard let identifier = property.renamingIdentifier else { continue }
      match(property, names[identifier])
      match(property, identifiers[identifier])
    }
    for property in newer { match(property, names[property.name]) }
    for property in newer { match(property, identifiers[property.name]) }
    return result
  }
}
