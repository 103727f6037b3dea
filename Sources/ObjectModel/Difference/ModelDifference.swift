// ModelDifference: what changed between two versions of a model, and whether stores can follow.

/// What changed between two versions of a model.
///
/// Entities and properties are the same in both when their names are, or when the newer one's renaming identifier is the older one's name or renaming
/// identifier. An entity whose version hash did not change keeps its properties under their names, whatever the renaming identifiers say: its rows stay as
/// they are. A relationship is also the same when its inverse is: where only one side of a pair was renamed, both keep their links. Parts of composites count
/// as attributes with dotted names. The layout of editors and other notes that mean nothing here are passed over.
public struct ModelDifference: Sendable {
  /// The changes: entities in the order of the newer model's numbers, then what is gone, then the rest of the model.
  public let changes: [ModelChange]
  /// What each entity of the newer model was in the older one, by number; nil for a new one.
  public let sources: [Int?]
  /// Whether the version hashes of both are equal: a store of the older version fits the newer one, and is not migrated. None of the ``changes`` is then an
  /// obstacle.
  public let hasEqualHashes: Bool
  private let matches: ModelMatches

  /// Compares two versions. The time is linear in their size, except for properties that moved.
  public init(from source: CompiledModel, to destination: CompiledModel) {
    var comparison = ModelComparison(from: source, to: destination)
    comparison.run()
    changes = comparison.changes
    matches = comparison.matches
    sources = comparison.matches.sources
    hasEqualHashes = source.versionHashes == destination.versionHashes
  }

  /// Whether nothing changed.
  public var isEmpty: Bool { changes.isEmpty }

  /// The changes that no store can follow by itself.
  public var obstacles: [ModelChange] {
    changes.filter { if case .notInferred = $0.effect { true } else { false } }
  }

  /// Whether a store of the older version can be brought in step without further word.
  public var canBeInferred: Bool { obstacles.isEmpty }

  /// The older name of a property of a newer entity, by the entity's number; nil for a new property and for one of a new entity.
  package func sourceName(ofProperty name: String, in entity: Int) -> String? { matches.olderNames[entity][name] }
}
