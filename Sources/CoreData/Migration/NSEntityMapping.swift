public import Foundation
package import ObjectContext
import ObjectQuery

/// The kind of an entity mapping.
public enum NSEntityMappingType: UInt, Sendable {
  /// Unspecified: the property mappings create the objects.
  case undefinedEntityMappingType = 0
  /// The mapping's policy creates the objects.
  case customEntityMappingType
  /// The entity is new and has no source objects.
  case addEntityMappingType
  /// The entity and its objects are removed.
  case removeEntityMappingType
  /// Objects are copied: properties with equal names in both entities first, then the property mappings.
  case copyEntityMappingType
  /// Objects are recreated: default values first, then the property mappings.
  case transformEntityMappingType

  init(_ type: EntityMapping.MappingType) {
    self =
      switch type {
      case .add: .addEntityMappingType
      case .remove: .removeEntityMappingType
      case .copy: .copyEntityMappingType
      case .transform: .transformEntityMappingType
      case .custom: .customEntityMappingType
      }
  }

  var value: EntityMapping.MappingType {
    switch self {
    case .addEntityMappingType: .add
    case .removeEntityMappingType: .remove
    case .copyEntityMappingType: .copy
    case .customEntityMappingType: .custom
    case .undefinedEntityMappingType, .transformEntityMappingType: .transform
    }
  }
}

/// A mapping of one entity in a migration by an ``NSMappingModel``.
open class NSEntityMapping: NSObject {
  /// The mapping's name, unique in its model. If it is nil, the name consists of the entities' names, such as `BookToBook`.
  public var name: String!
  /// The kind of the mapping.
  public var mappingType = NSEntityMappingType.undefinedEntityMappingType
  /// The name of the source entity; nil for a mapping that adds one.
  public var sourceEntityName: String?
  /// The version hash of the source entity; nil for any.
  public var sourceEntityVersionHash: Data?
  /// The name of the destination entity; nil for a mapping that removes one.
  public var destinationEntityName: String?
  /// The version hash of the destination entity; nil for any.
  public var destinationEntityVersionHash: Data?
  /// The mappings of the destination's attributes.
  public var attributeMappings: [NSPropertyMapping]?
  /// The mappings of the destination's relationships. They are set after all objects have been created.
  public var relationshipMappings: [NSPropertyMapping]?
  /// The source objects to map; nil for all objects of the entity.
  ///
  /// The expression is `FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "Book", "pages > 10")`, alone or as the
  /// argument of `FETCH`. Any other expression stops the migration.
  public var sourceExpression: NSExpression?
  /// The application's own information, for its policies.
  public var userInfo: [AnyHashable: Any]?
  /// The name of the policy's class including its module, as returned by `NSStringFromClass`; nil for ``NSEntityMigrationPolicy`` itself.
  public var entityMigrationPolicyClassName: String?

  /// Creates an empty mapping.
  public override init() {}

  package init(_ mapping: EntityMapping) {
    name = mapping.name
    mappingType = NSEntityMappingType(mapping.mappingType)
    (sourceEntityName, destinationEntityName) = (mapping.sourceEntityName, mapping.destinationEntityName)
    attributeMappings = mapping.attributeMappings.map(NSPropertyMapping.init)
    relationshipMappings = mapping.relationshipMappings.map(NSPropertyMapping.init)
    userInfo = mapping.userInfo.isEmpty ? nil : mapping.userInfo
  }

  /// The name, or the default name if none is set.
  final var effectiveName: String { name ?? [sourceEntityName, destinationEntityName].compactMap { $0 }.joined(separator: "To") }

  /// A description of the mapping, used to detect modifications.
  final var contents: [String] {
    func text(_ property: NSPropertyMapping) -> String { "\(property.name ?? "") \(property.isAsInferred)" }
    return [
      effectiveName, "\(mappingType)", sourceEntityName ?? "", destinationEntityName ?? "", entityMigrationPolicyClassName ?? "",
      sourceExpression?.description ?? "",
    ] + (attributeMappings ?? []).map(text) + [""] + (relationshipMappings ?? []).map(text)
  }

  /// Returns the mapping as a value, without its policy.
  ///
  /// - Throws: ``MappingModelError`` if an expression is invalid.
  final func value() throws -> EntityMapping {
    var mapping = EntityMapping(
      name: effectiveName, mappingType.value, from: sourceEntityName, to: destinationEntityName,
      attributeMappings: try (attributeMappings ?? []).compactMap { try $0.value(in: effectiveName) },
      relationshipMappings: try (relationshipMappings ?? []).compactMap { try $0.value(in: effectiveName) })
    mapping.sourcePredicate = try sourceExpression.flatMap { try sourceCondition($0) }
    return mapping
  }

  /// Returns the predicate of a source expression.
  private func sourceCondition(_ expression: NSExpression) throws -> FetchPredicate? {
    var value = try expression.outcome.get()
    // The arguments of `FETCH` are the request, a context, and whether to count the objects.
    if case .function(let name, let arguments) = value, name.lowercased().hasPrefix("fetch"), name != Self.requestFunction,
      let request = arguments.first
    {
      value = request
    }
    guard case .function(Self.requestFunction, let arguments) = value, arguments.count == 3, arguments[0] == .variable("manager"),
      let format = NSExpression(arguments[2]).constantValue as? String
    else { throw MappingModelError.sourceExpression(mapping: effectiveName) }
    return try NSPredicate(checking: format).outcome.get()
  }

  private static let requestFunction = "fetchRequestForSourceEntityNamed:predicateString:"
}

/// A mapping of one property of the destination objects.
///
/// Its expression can use the variables `$source` (the source object), `$manager` and `$entityPolicy`. `FUNCTION($entityPolicy, "name", …)`
/// calls ``NSEntityMigrationPolicy/value(ofFunction:arguments:manager:)``. `FUNCTION($manager,
/// "destinationInstancesForEntityMappingNamed:sourceInstances:", "BookToBook", $source.books)` returns the objects that a mapping created.
open class NSPropertyMapping: NSObject {
  /// The name of the destination property.
  public var name: String?
  /// The expression for the value. If it is nil, the property is left unchanged, unless inference found its source.
  public var valueExpression: NSExpression? {
    didSet { inferred = nil }
  }
  /// The application's own information.
  public var userInfo: [AnyHashable: Any]?
  /// The inferred mapping, which need not be an expression.
  private var inferred: PropertyMapping?

  /// Creates an empty mapping.
  public override init() {}

  package init(_ mapping: PropertyMapping) {
    name = mapping.name
    valueExpression = mapping.expression.map(NSExpression.init)
    inferred = mapping
  }

  /// Whether the mapping was inferred and not modified.
  final var isAsInferred: Bool { inferred.map { $0.name == name } ?? false }

  /// Returns the mapping as a value; nil if it sets nothing.
  func value(in mapping: String) throws -> PropertyMapping? {
    if let inferred, inferred.name == name { return inferred }
    guard let valueExpression else { return nil }
    guard let name else { throw MappingModelError.propertyWithoutName(mapping: mapping) }
    return PropertyMapping(name: name, valueExpression: try valueExpression.outcome.get())
  }
}

/// The errors of an invalid mapping model.
enum MappingModelError: LocalizedError, CodedError {
  case sourceExpression(mapping: String)
  case propertyWithoutName(mapping: String)
  case policy(name: String, mapping: String)
  case otherSourceModel(path: String)
  case notMigrating

  var number: Int {
    switch self {
    case .sourceExpression, .propertyWithoutName: NSMigrationMissingMappingModelError
    case .policy: NSEntityMigrationPolicyError
    case .otherSourceModel: NSMigrationMissingSourceModelError
    case .notMigrating: NSMigrationError
    }
  }

  var errorDescription: String? {
    switch self {
    case .sourceExpression(let mapping):
      "the source expression of the entity mapping “\(mapping)” does not select objects; write FUNCTION($manager, \"fetchRequestForSourceEntityNamed:predicateString:\", entity, condition)"
    case .propertyWithoutName(let mapping): "a property mapping of the entity mapping “\(mapping)” has no name; set one"
    case .policy(let name, let mapping):
      "the entity mapping “\(mapping)” names \(name), which is not a subclass of NSEntityMigrationPolicy; prefix the module, as NSStringFromClass does"
    case .otherSourceModel(let path):
      "the store \(path) was not written with the source model of the migration manager; create the manager with the store's own model"
    case .notMigrating: "no migration is in progress; use the manager in methods of an NSEntityMigrationPolicy"
    }
  }
}
