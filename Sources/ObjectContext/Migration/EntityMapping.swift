import Foundation
@_spi(Generated) import ObjectModel
public import ObjectQuery
import ObjectStore

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

/// The source of the value of a destination object's property: an expression or a closure.
///
/// ```swift
/// let name = try PropertyMapping(name: "name", format: "uppercase($source.name)")
/// let pages = PropertyMapping(name: "pages") { source, manager in (source["sheets"] as? Int ?? 0) * 2 }
/// let books = PropertyMapping(name: "books", destinationInstancesOf: "BookToBook", sourceKeyPath: "books")
/// ```
///
/// Expressions have the syntax of fetch expressions, with these variables:
///
/// - `$source` is the source object: `$source.name`, `uppercase($source.name)`, `$source.things.@count`.
/// - `FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "BookToBook", $source.books)` returns the objects
///   that a mapping created from source objects.
/// - `FUNCTION($entityPolicy, "name", ...)` returns the result of ``EntityMigrationPolicy/value(ofFunction:arguments:manager:)``.
public struct PropertyMapping: Sendable {
  /// A closure that computes a value.
  public typealias Block = @Sendable (_ source: ManagedObject, _ manager: MigrationManager) throws -> Any?

  enum Value: Sendable {
    case expression(FetchExpression)
    case block(Block)
    case instances(mapping: String?, keyPath: String)
  }

  /// The name of the property in the destination entity.
  public let name: String
  let value: Value

  /// The expression that computes the value; nil for a closure.
  package var expression: FetchExpression? {
    switch value {
    case .expression(let expression): expression
    case .block: nil
    case .instances(let mapping, let keyPath):
      if let mapping {
        .function(MappingExpressions.instancesFunction, [.variable("manager"), .constant(.string(mapping)), Self.source(keyPath)])
      } else {
        Self.source(keyPath)
      }
    }
  }

  private static func source(_ keyPath: String) -> FetchExpression {
    keyPath.isEmpty ? .variable("source") : .path(.variable("source"), keyPath.split(separator: ".").map(String.init))
  }

  private init(name: String, _ value: Value) {
    self.name = name
    self.value = value
  }

  /// Creates a mapping whose value is computed by an expression.
  public init(name: String, valueExpression: FetchExpression) { self.init(name: name, .expression(valueExpression)) }

  /// Creates a mapping whose value is computed by an expression in the format language, such as `$source.price * $source.quantity`.
  ///
  /// - Throws: ``PredicateFormatError`` with the position and the expected syntax.
  public init(name: String, format: String) throws(PredicateFormatError) {
    self.init(name: name, .expression(try FetchExpression(format: format)))
  }

  /// Creates a mapping to the value at a key path of the source object. Source objects in the value are replaced by their destination
  /// objects.
  public init(name: String, sourceKeyPath: String) { self.init(name: name, .instances(mapping: nil, keyPath: sourceKeyPath)) }

  /// Creates a mapping of a relationship to the objects that a mapping created from source objects.
  ///
  /// - Parameters:
  ///   - name: The name of the relationship.
  ///   - mappingName: The name of the entity mapping that created the destination objects.
  ///   - sourceKeyPath: The key path from the source object to the source objects of that mapping; empty for the source object itself.
  public init(name: String, destinationInstancesOf mappingName: String, sourceKeyPath: String) {
    self.init(name: name, .instances(mapping: mappingName, keyPath: sourceKeyPath))
  }

  /// Creates a mapping whose value is computed by a closure.
  public init(name: String, value: @escaping Block) { self.init(name: name, .block(value)) }
}

/// An evaluator of the expressions of a mapping model.
final class MappingExpressions {
  static let instancesFunction = "destinationInstancesForEntityMappingNamed:sourceInstances:"

  private struct Key: Hashable {
    let expression: FetchExpression
    let entity: Int
  }
  private struct Resolved {
    let value: ResolvedValue
    let evaluator: PredicateEvaluator<ManagedObjectResolver>
  }
  /// Expressions that are already resolved against an entity.
  private var resolved: [Key: Resolved] = [:]
  private let model: CompiledModel

  init(model: CompiledModel) { self.model = model }

  /// Returns the value of an expression: a Swift value, an object, or an array or set of objects.
  func value(
    of expression: FetchExpression, source: ManagedObject, policy: EntityMigrationPolicy, manager: MigrationManager
  ) throws -> Any? {
    func value(_ expression: FetchExpression) throws -> Any? {
      try self.value(of: expression, source: source, policy: policy, manager: manager)
    }
    switch expression {
    case .variable("source"): return source
    case .path(.variable("source"), let names) where !names.contains { $0.hasPrefix("@") }:
      return try source.value(forKeyPath: names.joined(separator: "."))
    case .constant(let constant): return constant.swiftValue
    case .function(let name, let arguments) where arguments.first == .variable("entityPolicy"):
      return try policy.value(ofFunction: name, arguments: try arguments.dropFirst().map(value), manager: manager)
    case .function(let name, let arguments) where arguments.first == .variable("manager"):
      guard name == Self.instancesFunction, arguments.count == 3, let mapping = try value(arguments[1]) as? String else {
        throw StoreError(.noManagerFunction(name, known: Self.instancesFunction), operation: .migrate)
      }
      return try manager.destinationInstances(forEntityMappingName: mapping, sourceInstances: Self.objects(in: try value(arguments[2])))
    default: return try evaluate(expression, source)
    }
  }

  static func objects(in value: Any?) -> [ManagedObject] {
    switch AttributeConversion.unwrapped(value) {
    case let object as ManagedObject: [object]
    case let objects as [ManagedObject]: objects
    case let objects as Set<ManagedObject>: objects.sorted { $0.objectID.key < $1.objectID.key }
    default: []
    }
  }

  private func evaluate(_ expression: FetchExpression, _ source: ManagedObject) throws -> Any? {
    let entity = source.compiledEntity
    let key = Key(expression: expression, entity: entity.number)
    let resolved: Resolved
    if let known = self.resolved[key] {
      resolved = known
    } else {
      let aboutSource = expression.substituting { name, path in
        name == "source" ? (path.isEmpty ? .evaluatedObject : .keyPath(path)) : nil
      }
      let (fetch, values) = try FetchResolver(model: model, transientKeys: .allowed)
        .resolve(nil, values: [aboutSource], entity: entity, includesSubentities: true)
      resolved = Resolved(value: values[0], evaluator: PredicateEvaluator(fetch, resolver: ManagedObjectResolver()))
      self.resolved[key] = resolved
    }
    switch resolved.value {
    case .constant(let slot, let type): return type.swiftValue(slot)
    case .object(let objectID): return source.managedObjectContext?.object(with: objectID)
    case .expression(let expression) where expression.type == .object:
      return try resolved.evaluator.objectID(of: expression, for: source).flatMap { source.managedObjectContext?.object(with: $0) }
    case .expression(let expression): return expression.type.swiftValue(try resolved.evaluator.value(of: expression, for: source))
    }
  }
}

extension ResolvedType {
  /// Returns a slot's value as a Swift value of the type.
  fileprivate func swiftValue(_ slot: Slot) -> Any? {
    if self == .entity { return Int64(slot: slot) }
    return AttributeType(self)?.traits.value(of: slot)
  }
}

extension StoreError.Reason {
  static func noManagerFunction(_ name: String, known: String) -> Self {
    Self(.mappingModelInvalid, "The manager has no function “\(name)” with these arguments; available: \(known).")
  }
}
