public import ObjectStore

/// A description of how a migration creates the objects of the destination model from those of the source model.
///
/// ```swift
/// let mappings = MappingModel([
///   EntityMapping(.copy, from: "Author", to: "Author"),
///   EntityMapping(.transform, from: "Book", to: "Work", attributeMappings: [try PropertyMapping(name: "title", format: "$source.title")]),
/// ])
/// let stage = CustomMigrationStage(migratingFrom: version1, to: version2, mappingModel: mappings)
/// ```
///
/// Nothing else is inferred: a destination entity without a mapping is empty after the migration. Destination objects keep the keys, and
/// therefore the IDs, of their source objects if the entities match by name or renaming identifier.
public struct MappingModel: Sendable {
  /// The entity mappings, in execution order.
  public var entityMappings: [EntityMapping]
  /// The source model; nil for any model that the mappings fit.
  public var sourceModel: ManagedObjectModelReference?
  /// The destination model; nil for any model that the mappings fit.
  public var destinationModel: ManagedObjectModelReference?

  /// Creates a mapping model.
  ///
  /// - Parameters:
  ///   - entityMappings: The entity mappings, in execution order.
  ///   - sourceModel: The source model; nil for any model that the mappings fit.
  ///   - destinationModel: The destination model; nil for any model that the mappings fit.
  public init(
    _ entityMappings: [EntityMapping], from sourceModel: ManagedObjectModelReference? = nil,
    to destinationModel: ManagedObjectModelReference? = nil
  ) {
    self.entityMappings = entityMappings
    self.sourceModel = sourceModel
    self.destinationModel = destinationModel
  }

  /// The mappings by name. If several mappings have the same name, the first one is used.
  public var entityMappingsByName: [String: EntityMapping] {
    Dictionary(entityMappings.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }
}
