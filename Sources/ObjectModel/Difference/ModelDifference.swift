// ModelDifference: what changed between two versions of a model, and whether stores can follow.

/// What changed between two versions of a model.
///
/// Entities and properties are the same in both when their names are, or when the newer one's renaming identifier is the older one's name or renaming
/// identifier. Parts of composites count as attributes with dotted names. The layout of editors and other notes that mean nothing here are passed over.
public struct ModelDifference: Sendable {
  /// The changes: entities in the order of the newer model's numbers, then what is gone, then the rest of the model.
  public let changes: [ModelChange]
  /// What each entity of the newer model was in the older one, by number; nil for a new one.
  public let sources: [Int?]

  /// Compares two versions. The time is linear in their size, except for properties that moved.
  public init(from source: CompiledModel, to destination: CompiledModel) {
    var comparison = ModelComparison(from: source, to: destination)
    comparison.run()
    changes = comparison.changes
    sources = comparison.matches.sources
  }

  /// Whether nothing changed.
  public var isEmpty: Bool { changes.isEmpty }

  /// The changes that no store can follow by itself.
  public var obstacles: [ModelChange] {
    changes.filter { if case .notInferred = $0.effect { true } else { false } }
  }

  /// Whether a store of the older version can be brought in step without further word.
  public var canBeInferred: Bool { obstacles.isEmpty }
}

extension CompiledEntity {
  /// The name of the property of an older entity that a property of this one was, by its name or renaming identifiers; nil for a new one.
  package func sourceName(ofProperty name: String, in older: CompiledEntity) -> String? {
    PropertyMatches(from: older, to: self).olderNames[name]
  }
}

/// Which entity and property of one version was which of the other.
struct ModelMatches {
  /// The number of the source entity of each destination entity.
  private(set) var sources: [Int?]
  /// The number of the destination entity of each source entity.
  private(set) var destinations: [Int?]

  @_optimize(none) init(_ source: CompiledModel, _ destination: CompiledModel) {
    sources = Array(repeating: nil, count: destination.entities.count)
    destinations = Array(repeating: nil, count: source.entities.count)
    // A renaming identifier says more than a name that somebody else may have taken over.
    let olderNames = Self.numbers(source) { $0.name }
    let olderIdentifiers = Self.numbers(source) { $0.renamingIdentifier }
    for entity in destination.entities {
      guard let identifier = entity.entityDescription.renamingIdentifier else { continue }
      match(entity.number, olderNames[identifier] ?? olderIdentifiers[identifier])
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
  @_optimize(none) static func sources(of newer: [ComparedProperty], in older: [ComparedProperty]) -> [String: Int] {
    var result: [String: Int] = [:]
    var taken: Set<Int> = []
    func match(_ property: ComparedProperty, _ isSame: (ComparedProperty) -> Bool) {
      guard result[property.name] == nil, let index = older.indices.first(where: { !taken.contains($0) && isSame(older[$0]) }) else {
        return
      }
      taken.insert(index)
      result[property.name] = index
    }
    // A renaming identifier says more than a name that somebody else may have taken over.
    for property in newer {
      guard let identifier = property.renamingIdentifier else { continue }
      match(property) { $0.name == identifier }
      match(property) { $0.renamingIdentifier == identifier }
    }
    for property in newer { match(property) { $0.name == property.name } }
    for property in newer { match(property) { $0.renamingIdentifier == property.name } }
    return result
  }
}

/// Which property of an older entity each property of a newer one was, inherited ones and parts of composites included.
package struct PropertyMatches {
  /// The older names by the newer ones.
  package let olderNames: [String: String]

  /// Matches the properties of what was the same entity.
  package init(from older: CompiledEntity, to newer: CompiledEntity) {
    let before = ComparedProperty.all(of: older)
    olderNames = ComparedProperty.sources(of: ComparedProperty.all(of: newer), in: before).mapValues { before[$0].name }
  }
}
