public import ObjectQuery

/// The rules by which a ``MappingModel`` migrates the objects of an entity.
///
/// ```swift
/// let mapping = EntityMapping(
///   .copy, from: "Person", to: "Customer",
///   attributeMappings: [try PropertyMapping(name: "title", format: "uppercase($source.name)")],
///   relationshipMappings: [PropertyMapping(name: "orders", destinationInstancesOf: "OrderToOrder", sourceKeyPath: "orders")])
/// ```
///
/// If a mapping uses a name that the models do not have, the migration throws ``StoreError`` with ``StoreError/Code/mappingModelInvalid``
/// before it changes anything. Objects are read and saved in batches, so that memory use does not grow with their number.
public struct EntityMapping: Sendable {
  /// The kind of a mapping.
  public enum MappingType: Sendable, Hashable {
    /// Adds an entity without objects.
    case add
    /// Removes an entity and its objects.
    case remove
    /// Copies objects: first all properties with the same name in both entities, then the property mappings.
    case copy
    /// Creates objects with their default values, then applies the property mappings.
    case transform
    /// Creates objects through the mapping's policy.
    case custom
  }

  /// The name by which other mappings refer to this mapping; unique in the mapping model.
  public var name: String
  /// The kind of the mapping.
  public var mappingType: MappingType
  /// The name of the source entity; nil for ``MappingType/add``.
  public var sourceEntityName: String?
  /// The name of the destination entity; nil for ``MappingType/remove``.
  public var destinationEntityName: String?
  /// The condition for source objects to map; nil for all objects.
  public var sourcePredicate: FetchPredicate?
  /// Whether objects of subentities of the source entity are mapped, too.
  public var includesSubentities = false
  /// The mappings of the destination objects' attributes.
  public var attributeMappings: [PropertyMapping]
  /// The mappings of the destination objects' relationships, applied after all objects are created.
  public var relationshipMappings: [PropertyMapping]
  /// The class of the policy; nil for ``EntityMigrationPolicy``.
  public var entityMigrationPolicy: EntityMigrationPolicy.Type?
  /// Creates the policy instead of `entityMigrationPolicy`.
  package var makePolicy: (@Sendable () -> EntityMigrationPolicy)?
  /// Application-defined values for policies.
  public var userInfo: [String: String] = [:]

  /// Creates a mapping.
  ///
  /// - Parameters:
  ///   - name: The mapping's name; nil to derive it from the entities, as in `PersonToCustomer`.
  ///   - mappingType: The kind of the mapping.
  ///   - sourceEntityName: The name of the source entity.
  ///   - destinationEntityName: The name of the destination entity.
  ///   - attributeMappings: The mappings of the destination objects' attributes.
  ///   - relationshipMappings: The mappings of the destination objects' relationships.
  ///   - policy: The class of the policy.
  public init(
    name: String? = nil, _ mappingType: MappingType, from sourceEntityName: String? = nil, to destinationEntityName: String? = nil,
    attributeMappings: [PropertyMapping] = [], relationshipMappings: [PropertyMapping] = [], policy: EntityMigrationPolicy.Type? = nil
  ) {
    self.name = name ?? [sourceEntityName, destinationEntityName].compactMap { $0 }.joined(separator: "To")
    self.mappingType = mappingType
    self.sourceEntityName = sourceEntityName
    self.destinationEntityName = destinationEntityName
    self.attributeMappings = attributeMappings
    self.relationshipMappings = relationshipMappings
    entityMigrationPolicy = policy
  }

  /// Whether the mapping creates destination objects from source objects.
  var makesObjects: Bool { mappingType != .add && mappingType != .remove && sourceEntityName != nil }
}
