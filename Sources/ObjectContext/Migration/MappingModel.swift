// MappingModel: what becomes of the objects of a model.
public import ObjectStore

/// What becomes of the objects of a model: how the newer objects of a migration are made of the older ones.
///
/// ```swift
/// let mappings = MappingModel([
///   EntityMapping(.copy, from: "Author", to: "Author"),
///   EntityMapping(.transform, from: "Book", to: "Work", attributeMappings: [try PropertyMapping(name: "title", format: "$source.title")]),
/// ])
/// let stage = CustomMigrationStage(migratingFrom: version1, to: version2, mappingModel: mappings)
/// ```
///
/// Nothing is inferred beside it: an entity that no mapping leads to is empty afterwards. Newer objects keep the keys, and so the IDs, of the older ones
/// that they were made of where both entities are the same by their names or renaming identifiers.
public struct MappingModel: Sendable {
  /// The mappings, in the order in which they are run.
  public var entityMappings: [EntityMapping]
  /// The older model; nil where the mapping model is for every model that it fits.
  public var sourceModel: ManagedObjectModelReference?
  /// The newer model; nil where the mapping model is for every model that it fits.
  public var destinationModel: ManagedObjectModelReference?

  /// Makes a mapping model.
  ///
  /// - Parameters:
  ///   - entityMappings: What becomes of each entity, in the order of the work.
  ///   - sourceModel: The older model; nil for any that the mappings fit.
  ///   - destinationModel: The newer model; nil for any that the mappings fit.
  public init(
    _ entityMappings: [EntityMapping], from sourceModel: ManagedObjectModelReference? = nil,
    to destinationModel: ManagedObjectModelReference? = nil
  ) {
    self.entityMappings = entityMappings
    self.sourceModel = sourceModel
    self.destinationModel = destinationModel
  }

  /// The mappings by their names; of several with one name the first.
  public var entityMappingsByName: [String: EntityMapping] {
    Dictionary(entityMappings.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }
}
