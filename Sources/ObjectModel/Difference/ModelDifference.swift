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
