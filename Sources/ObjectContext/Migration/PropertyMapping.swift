// PropertyMapping: where the value of a property of a newer object comes from.
public import ObjectQuery
import ObjectStore

/// Where the value of a property of a newer object comes from: an expression, or Swift code.
///
/// ```swift
/// let name = try PropertyMapping(name: "name", format: "uppercase($source.name)")
/// let pages = PropertyMapping(name: "pages") { source, manager in (source["sheets"] as? Int ?? 0) * 2 }
/// let books = PropertyMapping(name: "books", destinationInstancesOf: "BookToBook", sourceKeyPath: "books")
/// ```
///
/// Expressions are those of fetches, with these variables:
///
/// - `$source` is the older object: `$source.name`, `uppercase($source.name)`, `$source.things.@count`.
/// - `FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "BookToBook", $source.books)` is what a mapping made of objects.
/// - `FUNCTION($entityPolicy, "name", ...)` is what ``EntityMigrationPolicy/value(ofFunction:arguments:manager:)`` answers.
public struct PropertyMapping: Sendable {
  /// What computes a value.
  public typealias Block = @Sendable (_ source: ManagedObject, _ manager: MigrationManager) throws -> Any?

  enum Value: Sendable {
    case expression(FetchExpression)
    case block(Block)
    case instances(mapping: String?, keyPath: String)
  }

  /// The name of the property in the newer entity.
  public let name: String
  let value: Value

  /// The expression that computes the value; nil for Swift code.
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

  /// A property whose value is computed by an expression.
  public init(name: String, valueExpression: FetchExpression) { self.init(name: name, .expression(valueExpression)) }

  /// A property whose value is computed by an expression in the format language, such as `$source.price * $source.quantity`.
  ///
  /// - Throws: ``PredicateFormatError`` with the place and what was expected.
  public init(name: String, format: String) throws(PredicateFormatError) {
    self.init(name: name, .expression(try FetchExpression(format: format)))
  }

  /// A property that has the value at a path of the older object. Older objects at its end become the newer ones that were made of them.
  public init(name: String, sourceKeyPath: String) { self.init(name: name, .instances(mapping: nil, keyPath: sourceKeyPath)) }

  /// A relationship to what a mapping made of the older objects at a path.
  ///
  /// - Parameters:
  ///   - name: The name of the relationship.
  ///   - mappingName: The name of the entity mapping that made the newer objects.
  ///   - sourceKeyPath: The path from the older object to those that the mapping made them of; empty for the older object itself.
  public init(name: String, destinationInstancesOf mappingName: String, sourceKeyPath: String) {
    self.init(name: name, .instances(mapping: mappingName, keyPath: sourceKeyPath))
  }

  /// A property whose value is computed by Swift code.
  public init(name: String, value: @escaping Block) { self.init(name: name, .block(value)) }
}
