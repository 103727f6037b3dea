// NSEntityMapping: what becomes of the objects of an entity in a migration, and where their values come from, as objects.
public import Foundation
package import ObjectContext
import ObjectQuery

/// The kind of an entity mapping.
public enum NSEntityMappingType: UInt, Sendable {
  /// None was said: objects are made by the property mappings.
  case undefinedEntityMappingType = 0
  /// Objects are made by the mapping's policy.
  case customEntityMappingType
  /// A new entity, without objects at first.
  case addEntityMappingType
  /// An entity that is gone, with its objects.
  case removeEntityMappingType
  /// Objects are taken over: every property that both entities have under one name, then the property mappings.
  case copyEntityMappingType
  /// Objects are made anew: their default values, then the property mappings.
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

/// What becomes of the objects of an entity in a migration by an ``NSMappingModel``.
open class NSEntityMapping: NSObject {
  /// The mapping's name, unique in its model; where it is nil it is made of the entities' names, such as `BookToBook`.
  public var name: String!
  /// The kind.
  public var mappingType = NSEntityMappingType.undefinedEntityMappingType
  /// The name of the older entity; nil for a mapping that adds one.
  public var sourceEntityName: String?
  /// The version hash of the older entity; nil for any.
  public var sourceEntityVersionHash: Data?
  /// The name of the newer entity; nil for a mapping that removes one.
  public var destinationEntityName: String?
  /// The version hash of the newer entity; nil for any.
  public var destinationEntityVersionHash: Data?
  /// The attributes of the newer objects.
  public var attributeMappings: [NSPropertyMapping]?
  /// The relationships of the newer objects; they are set when all objects have been made.
  public var relationshipMappings: [NSPropertyMapping]?
  /// Which older objects are mapped; nil for all of the entity. It is
  /// `FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "Book", "pages > 10")`, alone or as what `FETCH` is asked with; another one stops
  /// the migration.
  public var sourceExpression: NSExpression?
  /// Notes of the application, for its policies.
  public var userInfo: [AnyHashable: Any]?
  /// The name of the class of the policy, with its module before it: what `NSStringFromClass` gives. Nil for ``NSEntityMigrationPolicy`` itself.
  public var entityMigrationPolicyClassName: String?

  /// A mapping that names nothing yet.
  public override init() {}

  package init(_ mapping: EntityMapping) {
    name = mapping.name
    mappingType = NSEntityMappingType(mapping.mappingType)
    (sourceEntityName, destinationEntityName) = (mapping.sourceEntityName, mapping.destinationEntityName)
    attributeMappings = mapping.attributeMappings.map(NSPropertyMapping.init)
    relationshipMappings = mapping.relationshipMappings.map(NSPropertyMapping.init)
    userInfo = mapping.userInfo.isEmpty ? nil : mapping.userInfo
  }

  /// The name, also where none was given.
  final var knownName: String { name ?? [sourceEntityName, destinationEntityName].compactMap { $0 }.joined(separator: "To") }

  /// What the mapping consists of, to tell whether it was changed.
  final var contents: [String] {
    func text(_ property: NSPropertyMapping) -> String { "\(property.name ?? "") \(property.isAsInferred)" }
    return [
      knownName, "\(mappingType)", sourceEntityName ?? "", destinationEntityName ?? "", entityMigrationPolicyClassName ?? "",
      sourceExpression?.description ?? "",
    ] + (attributeMappings ?? []).map(text) + [""] + (relationshipMappings ?? []).map(text)
  }

  /// The mapping as a value, without its policy.
  ///
  /// - Throws: ``MappingModelError`` for an expression that is none.
  final func value() throws -> EntityMapping {
    var mapping = EntityMapping(
      name: knownName, mappingType.value, from: sourceEntityName, to: destinationEntityName,
      attributeMappings: try (attributeMappings ?? []).compactMap { try $0.value(in: knownName) },
      relationshipMappings: try (relationshipMappings ?? []).compactMap { try $0.value(in: knownName) })
    mapping.sourcePredicate = try sourceExpression.flatMap { try sourceCondition($0) }
    return mapping
  }

  /// The condition of a source expression.
  private func sourceCondition(_ expression: NSExpression) throws -> FetchPredicate? {
    var value = try expression.outcome.get()
    // `FETCH` is asked with the request, a context, and whether objects are counted.
    if case .function(let name, let arguments) = value, name.lowercased().hasPrefix("fetch"), name != Self.requestFunction,
      let request = arguments.first
    {
      value = request
    }
    guard case .function(Self.requestFunction, let arguments) = value, arguments.count == 3, arguments[0] == .variable("manager"),
      let format = NSExpression(arguments[2]).constantValue as? String
    else { throw MappingModelError.sourceExpression(mapping: knownName) }
    return try NSPredicate(checking: format).outcome.get()
  }

  private static let requestFunction = "fetchRequestForSourceEntityNamed:predicateString:"
}

/// Where the value of a property of a newer object comes from.
///
/// Its expression knows `$source`, the older object, `$manager` and `$entityPolicy`: `FUNCTION($entityPolicy, "name", …)` is what
/// ``NSEntityMigrationPolicy/value(ofFunction:arguments:manager:)`` answers, and
/// `FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "BookToBook", $source.books)` what a mapping made of objects.
open class NSPropertyMapping: NSObject {
  /// The name of the property in the newer entity.
  public var name: String?
  /// What computes the value; nil leaves the property as it is, unless inference has found where its value comes from.
  public var valueExpression: NSExpression? {
    didSet { inferred = nil }
  }
  /// Notes of the application.
  public var userInfo: [AnyHashable: Any]?
  /// What inference has found, which need not be an expression.
  private var inferred: PropertyMapping?

  /// A mapping that names nothing yet.
  public override init() {}

  package init(_ mapping: PropertyMapping) {
    name = mapping.name
    valueExpression = mapping.expression.map(NSExpression.init)
    inferred = mapping
  }

  /// Whether inference has made the mapping, and nothing has changed it.
  final var isAsInferred: Bool { inferred.map { $0.name == name } ?? false }

  /// The mapping as a value; nil where nothing is to be set.
  func value(in mapping: String) throws -> PropertyMapping? {
    if let inferred, inferred.name == name { return inferred }
    guard let valueExpression else { return nil }
    guard let name else { throw MappingModelError.propertyWithoutName(mapping: mapping) }
    return PropertyMapping(name: name, valueExpression: try valueExpression.outcome.get())
  }
}

/// What is wrong with a mapping model.
enum MappingModelError: LocalizedError, NumberedError {
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
      "the source expression of the entity mapping “\(mapping)” is none that chooses objects; write FUNCTION($manager, \"fetchRequestForSourceEntityNamed:predicateString:\", entity, condition)"
    case .propertyWithoutName(let mapping): "a property mapping of the entity mapping “\(mapping)” has no name; set it"
    case .policy(let name, let mapping):
      "there is no class \(name) below NSEntityMigrationPolicy, which the entity mapping “\(mapping)” names; write the module before it, as NSStringFromClass does"
    case .otherSourceModel(let path):
      "the store \(path) was not written with the source model of the migration manager; make the manager with the store's own model"
    case .notMigrating: "no migration is under way; ask the manager in the functions of an NSEntityMigrationPolicy"
    }
  }
}
