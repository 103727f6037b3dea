public import ObjectModel

/// An error in a row, a value, or an object of a batch request. Nothing was written. The error never contains values.
///
/// ```swift
/// do {
///   try context.execute(BatchInsertRequest(entityName: "Book", objects: rows))
/// } catch let error as BatchError where error.code == .missingValue {
///   print("row \(error.row ?? 0) has no \(error.key)")
/// }
/// ```
///
/// `context.execute(_:)` throws this error. ``row`` is the zero-based index of the row in the request, and ``key`` is the name of the
/// property.
public struct BatchError: Error, Sendable, CustomStringConvertible {
  /// The kind of an error.
  public enum Code: Sendable, Hashable, CaseIterable {
    /// The entity has no such property.
    case unknownKey
    /// Batch requests cannot write the property.
    case notSettable
    /// The value is not of the property's type.
    case wrongType
    /// The attribute's type cannot represent the number.
    case numberOutOfRange
    /// A required property has no value.
    case missingValue
    /// The value violates a validation rule of the model.
    case invalidValue
    /// A relationship refers to an object that does not exist.
    case objectNotFound
    /// A relationship with the rule `deny` leads to objects that are not deleted.
    case deletionDenied
    /// A required relationship would become empty.
    case requiredRelationship
  }

  /// The kind of the error.
  public let code: Code
  /// The name of the entity.
  public let entityName: String
  /// The name of the property.
  public let key: String
  /// The zero-based index of the row in a batch insert, or nil for other requests.
  public let row: Int?
  /// A message that says what is wrong and what to do. It follows the name of the property.
  public let reason: String
  /// What to do, if the library and the tool word it differently.
  package var remedy: Remedy?
  /// Up to 100 of the objects concerned, for ``Code/deletionDenied`` and ``Code/requiredRelationship``.
  public let objectIDs: [ManagedObjectID]

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - code: The kind of the error.
  ///   - entityName: The name of the entity.
  ///   - key: The name of the property.
  ///   - row: The zero-based index of the row in the request, or nil if no row is concerned.
  ///   - objectIDs: The objects concerned.
  ///   - reason: The error message, worded to follow the property's name.
  public init(_ code: Code, entityName: String, key: String, row: Int? = nil, objectIDs: [ManagedObjectID] = [], reason: String) {
    self.code = code
    self.entityName = entityName
    self.key = key
    self.row = row
    self.objectIDs = objectIDs
    self.reason = reason
  }

  /// The row, the property, and the reason.
  public var description: String { description(\.text) }

  package func description(_ words: (Remedy) -> String) -> String {
    (row.map { "row \($0): " } ?? "") + "“\(entityName).\(key)” \(reason)" + (remedy.map { " " + words($0) } ?? "")
  }
}
