import Foundation
@_spi(Generated) import ObjectModel
import ObjectQuery
import ObjectStore

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
