// EntityMapping: what becomes of the objects of an entity.
public import ObjectQuery

/// What becomes of the objects of an entity in a migration by a ``MappingModel``.
///
/// ```swift
/// let mapping = EntityMapping(
///   .copy, from: "Person", to: "Customer",
///   attributeMappings: [try PropertyMapping(name: "title", format: "uppercase($source.name)")],
///   relationshipMappings: [PropertyMapping(name: "orders", destinationInstancesOf: "OrderToOrder", sourceKeyPath: "orders")])
/// ```
///
/// Where the models do not have a name, the migration throws ``StoreError`` with ``StoreError/Code/mappingModelInvalid`` before anything is changed. Objects
/// are read and saved in batches, so that memory does not grow with their number.
public struct EntityMapping: Sendable {
  /// The kind of a mapping.
  public enum MappingType: Sendable, Hashable {
    /// A new entity, without objects at first.
    case add
    /// An entity that is gone, with its objects.
    case remove
    /// Objects are taken over: every property that both entities have under one name, then the property mappings.
    case copy
    /// Objects are made anew: their default values, then the property mappings.
    case transform
    /// Objects are made by the mapping's policy.
    case custom
  }

  /// The mapping's name, unique in its model; what other mappings refer to it by.
  public var name: String
  /// The kind.
  public var mappingType: MappingType
  /// The name of the older entity; nil for ``MappingType/add``.
  public var sourceEntityName: String?
  /// The name of the newer entity; nil for ``MappingType/remove``.
  public var destinationEntityName: String?
  /// Which older objects are mapped; nil for all.
  public var sourcePredicate: FetchPredicate?
  /// Whether objects of the older entity's subentities are mapped too.
  public var includesSubentities = false
  /// The attributes of the newer objects.
  public var attributeMappings: [PropertyMapping]
  /// The relationships of the newer objects; they are set when all objects have been made.
  public var relationshipMappings: [PropertyMapping]
  /// The class of the policy; nil for ``EntityMigrationPolicy`` itself.
  public var entityMigrationPolicy: EntityMigrationPolicy.Type?
  /// Makes the policy, in place of its class.
  package var makePolicy: (@Sendable () -> EntityMigrationPolicy)?
  /// Notes of the application, for its policies.
  public var userInfo: [String: String] = [:]

  /// Makes a mapping.
  ///
  /// - Parameters:
  ///   - name: The mapping's name; nil makes one of the entities' names, such as `PersonToCustomer`.
  ///   - mappingType: The kind.
  ///   - sourceEntityName: The name of the older entity.
  ///   - destinationEntityName: The name of the newer entity.
  ///   - attributeMappings: The attributes of the newer objects.
  ///   - relationshipMappings: The relationships of the newer objects.
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

  /// Whether the mapping makes objects of others.
  var makesObjects: Bool { mappingType != .add && mappingType != .remove && sourceEntityName != nil }
}
