// BatchError: what is wrong with a row, a value or an object of a batch request.
public import ObjectModel

/// What is wrong with a row, a value or an object of a batch request. Nothing was written. The error never holds a value.
///
/// ```swift
/// do {
///   try context.execute(BatchInsertRequest(entityName: "Book", objects: rows))
/// } catch let error as BatchError where error.code == .missingValue {
///   print("row \(error.row ?? 0) has no \(error.key)")
/// }
/// ```
///
/// `context.execute(_:)` throws it. ``row`` counts the rows of the request from 0, and ``key`` is the property.
public struct BatchError: Error, Sendable, CustomStringConvertible {
  /// The kinds of errors.
  public enum Code: Sendable, Hashable, CaseIterable {
    /// The entity has no such property.
    case unknownKey
    /// The property cannot be written by a batch request.
    case notSettable
    /// The value has another type than the property.
    case wrongType
    /// The number does not fit into the attribute's type.
    case numberOutOfRange
    /// A required property has no value.
    case missingValue
    /// The value is outside the bounds that the model sets.
    case invalidValue
    /// A relationship refers to an object that does not exist.
    case objectNotFound
    /// A relationship with the rule `deny` leads to objects that stay.
    case deletionDenied
    /// A required relationship would become empty.
    case requiredRelationship
  }

  /// The kind.
  public let code: Code
  /// The entity's name.
  public let entityName: String
  /// The property.
  public let key: String
  /// The number of the row in the insertion, from 0; nil for other requests.
  public let row: Int?
  /// What is wrong and what to do.
  public let reason: String
  /// Some of the objects concerned, for ``Code/deletionDenied`` and ``Code/requiredRelationship``: at most 100.
  public let objectIDs: [ManagedObjectID]

  /// Makes an error.
  ///
  /// - Parameters:
  ///   - code: What is wrong.
  ///   - entityName: The entity of the row.
  ///   - key: The property's name.
  ///   - row: The number of the row in the request; nil where it is of none.
  ///   - objectIDs: The objects concerned.
  ///   - reason: A sentence that says what is wrong.
  public init(_ code: Code, entityName: String, key: String, row: Int? = nil, objectIDs: [ManagedObjectID] = [], reason: String) {
    self.code = code
    self.entityName = entityName
    self.key = key
    self.row = row
    self.objectIDs = objectIDs
    self.reason = reason
  }

  /// What is wrong, in a sentence.
  public var description: String {
    (row.map { "row \($0): " } ?? "") + "“\(entityName).\(key)” \(reason)"
  }
}
