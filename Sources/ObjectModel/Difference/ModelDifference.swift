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

  /// Compares two versions. Linear in their size but for properties that moved.
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
    ComparedProperty.all(of: self).first { $0.name == name }?.source(in: ComparedProperty.all(of: older))?.name
  }
}

/// Which entity and property of one version was which of the other.
struct ModelMatches {
  /// The number of the source entity of each destination entity.
  private(set) var sources: [Int?]
  /// The number of the destination entity of each source entity.
  private(set) var destinations: [Int?]

  init(_ source: CompiledModel, _ destination: CompiledModel) {
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
  static func all(of entity: CompiledEntity) -> [ComparedProperty] {
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

  /// The one of several older properties that this one was.
  func source(in older: [ComparedProperty]) -> ComparedProperty? {
    if let renamingIdentifier {
      if let found = older.first(where: { $0.name == renamingIdentifier }) { return found }
      if let found = older.first(where: { $0.renamingIdentifier == renamingIdentifier }) { return found }
    }
    return older.first { $0.name == name } ?? older.first { $0.renamingIdentifier == name }
  }
}
