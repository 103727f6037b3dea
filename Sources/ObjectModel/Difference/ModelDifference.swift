/// The differences between two versions of a model.
///
/// Entities and properties match if their names are equal, or if the destination's renaming identifier equals the source's name or renaming
/// identifier. An entity with an unchanged version hash keeps its properties by name, regardless of renaming identifiers, so that its rows
/// stay unchanged. A relationship also matches if its inverse does: if only one side of a pair was renamed, both keep their links. Parts of
/// composites are compared as attributes with dotted names. Editor layout and other irrelevant information is ignored.
public struct ModelDifference: Sendable {
  /// The changes: entities in the order of the destination model's numbers, then removed entities, then other parts of the model.
  public let changes: [ModelChange]
  /// The number of each destination entity's source entity, by number; nil for a new entity.
  public let sources: [Int?]
  /// Whether the version hashes are equal. A store of the source version is then compatible with the destination model and is not migrated,
  /// and none of the ``changes`` is an obstacle.
  public let hasEqualHashes: Bool
  private let matches: ModelMatches

  /// Compares two versions.
  ///
  /// - Complexity: Linear in the size of the models, except for properties that were moved.
  public init(from source: CompiledModel, to destination: CompiledModel) {
    var comparison = ModelComparison(from: source, to: destination)
    comparison.run()
    changes = comparison.changes
    matches = comparison.matches
    sources = comparison.matches.sources
    hasEqualHashes = source.versionHashes == destination.versionHashes
  }

  /// Whether there are no changes.
  public var isEmpty: Bool { changes.isEmpty }

  /// The changes that cannot be inferred.
  public var obstacles: [ModelChange] {
    changes.filter { if case .notInferred = $0.effect { true } else { false } }
  }

  /// Whether a store of the source version can be migrated by inference.
  public var canBeInferred: Bool { obstacles.isEmpty }

  /// Returns the source name of a property of a destination entity, given by number; nil for a new property or entity.
  package func sourceName(ofProperty name: String, in entity: Int) -> String? { matches.olderNames[entity][name] }
}

/// A change between two versions of a model, and its effect on stores.
///
/// ```swift
/// let file = try await SQLCipherStoreFile.unlock(at: url, key: key)
/// for change in try await file.migrationPlan(to: model).changes {
///   if case .notInferred(let reason, let advice) = change.effect { print(change, reason, advice) }
/// }
/// ```
///
/// A change contains names only, never data of a store. A change that cannot be inferred makes a migration throw ``StoreError`` with
/// ``StoreError/Code/mappingNotInferred``, unless a ``CustomMigrationStage`` handles it.
public struct ModelChange: Sendable, Hashable, CustomStringConvertible {
  /// The effect of a change on a store of the source version.
  public enum Effect: Sendable, Hashable {
    /// Stored rows stay unchanged.
    case none
    /// The store can be migrated by inference.
    case inferred
    /// The store can be migrated by inference if its data meets the condition.
    case conditional(condition: String)
    /// The store cannot be migrated by inference.
    case notInferred(reason: String, advice: String)
  }

  /// The entity's name, or its former name if it was removed; nil for a change of the whole model.
  public let entityName: String?
  /// The name of the property, index or constraint; its former name if it was removed.
  public let name: String?
  /// A description of the change, such as `renamed from title`.
  public let change: String
  /// The effect on stores.
  public let effect: Effect
  /// Whether the change drops stored values or objects.
  package let dropsValues: Bool

  init(_ entityName: String?, _ name: String? = nil, _ change: String, _ effect: Effect = .none, dropsValues: Bool = false) {
    self.dropsValues = dropsValues
    self.entityName = entityName
    self.name = name
    self.change = change
    self.effect = effect
  }

  /// The change in one line, with its condition, or with the reason and advice.
  public var description: String {
    let location = [entityName, name].compactMap { $0 }.joined(separator: ".")
    let text = location.isEmpty ? change : "\(location): \(change)"
    switch effect {
    case .none, .inferred: return text
    case .conditional(let condition): return "\(text) (if \(condition))"
    case .notInferred(let reason, let advice): return "\(text). It cannot be inferred: \(reason). \(advice)"
    }
  }
}

/// The matching entities and properties of two versions of a model.
struct ModelMatches: Sendable {
  /// The number of the source entity of each destination entity.
  private(set) var sources: [Int?]
  /// The number of the destination entity of each source entity.
  private(set) var destinations: [Int?]
  /// For each destination entity, the source names of its properties by their destination names, including inherited ones and parts of
  /// composites.
  private(set) var olderNames: [[String: String]]
  /// The numbers of the source relationships that have a destination relationship.
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
      // Rows of an entity with an unchanged hash stay unchanged. Unchanged identifiers refer to an earlier renaming.
      let identifier = entity.entityDescription.renamingIdentifier
      let isRenamedAlready = identifier != nil && identifier == older.entityDescription.renamingIdentifier
      if isRenamedAlready || Self.isUnchanged(older, entity, source, destination) { match(entity.number, number) }
    }
    // A renaming identifier takes precedence over a name, which another entity may have taken.
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

  /// Matches unmatched relationships through their inverses. Both sides share their links, which therefore persist if one side was renamed.
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

  /// Returns the source entities that a relationship could refer to and that still exist, but that the destination relationship cannot
  /// refer to.
  func lostDestinations(
    of older: CompiledRelationship, as newer: CompiledRelationship, _ source: CompiledModel, _ destination: CompiledModel
  ) -> [CompiledEntity] {
    let target = destination.entities[newer.destinationEntity]
    return source.entities[source.entities[older.destinationEntity].subtree].filter { candidate in
      guard let number = destinations[candidate.number] else { return false }
      return !destination.entities[number].isKind(of: target)
    }
  }

  /// Returns the source of a destination relationship, in its declaring entity; nil if there is none, or if it was an attribute.
  func source(of relationship: CompiledRelationship, _ source: CompiledModel) -> CompiledRelationship? {
    guard let number = sources[relationship.sourceEntity], let name = olderNames[relationship.sourceEntity][relationship.name] else {
      return nil
    }
    return source.entities[number].relationship(named: name)
  }
}

extension CompiledEntity {
  /// Returns the relationship with a name; nil if the property does not exist or is not a relationship.
  fileprivate func relationship(named name: String) -> CompiledRelationship? {
    switch property(named: name) {
    case .toOne(let relationship), .toMany(let relationship): relationship
    default: nil
    }
  }
}

/// A stored attribute or relationship for the comparison of versions.
struct ComparedProperty {
  let name: String
  let renamingIdentifier: String?
  let declaringEntity: Int
  let attribute: AttributeDescription?
  let relationship: CompiledRelationship?

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

  /// Returns the positions of the source properties, by destination name. No source property matches twice.
  ///
  /// - Parameter isUnchanged: Whether two properties of the same name are declared by matching entities with equal hashes.
  @_optimize(none) static func sources(
    of newer: [ComparedProperty], in older: [ComparedProperty],
    isUnchanged: (ComparedProperty, ComparedProperty) -> Bool = { _, _ in false }
  ) -> [String: Int] {
    // Entities in different branches of a tree may declare the same name.
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
      // An unchanged identifier refers to an earlier renaming.
      match(property, names[property.name]) {
        property.renamingIdentifier != nil && $0.renamingIdentifier == property.renamingIdentifier || isUnchanged(property, $0)
      }
    }
    // A renaming identifier takes precedence over a name, which another property may have taken.
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
