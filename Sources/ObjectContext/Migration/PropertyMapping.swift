public import ObjectQuery
import ObjectStore

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
