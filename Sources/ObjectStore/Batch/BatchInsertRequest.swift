// BatchInsertRequest: many new rows, written without making an object of each.
import ObjectModel

/// What happens to a row of a batch insertion when a stored row already has its values under a uniqueness constraint.
///
/// All constraints of the entity count, inherited ones too. Rows are taken in order: a row may meet one that the same batch has inserted.
public enum BatchConflictPolicy: Sendable, Hashable {
  /// The whole batch fails and nothing is written.
  case error
  /// The new row is passed over.
  case ignore
  /// The stored object keeps its ID and its relationships, and takes the new row's values. Attributes that the new row does not give get their default values,
  /// relationships that it does not give stay.
  case replace
  /// The stored object takes the values that the new row gives, or those of them that are named; all else stays as it is.
  case update(only: [String]? = nil)
}

/// What a batch request is asked to return.
public enum BatchResultType: Sendable, Hashable {
  /// That it succeeded.
  case statusOnly
  /// How many objects it concerned.
  case count
  /// Which objects it concerned.
  case objectIDs
}

/// A request to insert many rows without making an object of each.
///
/// ```swift
/// var request = BatchInsertRequest(entityName: "Book", objects: rows, onConflict: .update())
/// let result = try context.execute(request)
/// ```
///
/// A row gives values by the names of attributes and of to-one relationships, the latter as the ``ManagedObjectID``s of saved objects. What a row does not
/// give gets its default value. Values are converted and checked by the model's rules as a save does it; methods of the objects are not called. All
/// rows take effect or none.
public struct BatchInsertRequest {
  /// Fills one row; false when there is none any more.
  package typealias Source = (BatchRowBuilder) throws -> Bool

  /// The entity's name; nil where the class of the objects says it.
  public let entityName: String?
  /// What happens to rows whose unique values are taken.
  public var onConflict: BatchConflictPolicy
  /// What is returned.
  public var resultType = BatchResultType.statusOnly
  /// The identifiers of the stores that the rows may go to; nil for all. The first one that holds the entity gets them.
  public var affectedStores: [String]?
  /// Whether the coordinator tells others what changed, as after a save.
  public var publishesChanges = true
  /// Whether the context that executes the request brings its objects in step before the call returns.
  public var mergesChanges = true
  /// The class of the objects that the rows are filled by.
  package var objectType: AnyObject.Type?
  /// Begins with the first row: a request may be executed again.
  package let makeSource: () -> Source

  /// Inserts rows given as dictionaries.
  ///
  /// - Parameters:
  ///   - entityName: The name of the entity.
  ///   - objects: The rows: values by property name. `nil` and `NSNull` mean no value.
  ///   - onConflict: What happens to rows whose unique values are taken.
  public init(entityName: String, objects: [[String: Any]], onConflict: BatchConflictPolicy = .error) {
    self.init(entityName: entityName, onConflict: onConflict) {
      var rest = objects[...]
      return { builder in
        guard let row = rest.popFirst() else { return false }
        try builder.set(row)
        return true
      }
    }
  }

  /// Inserts rows that a closure fills one after the other, so that they are never in memory together.
  ///
  /// - Parameters:
  ///   - entityName: The name of the entity.
  ///   - onConflict: What happens to rows whose unique values are taken.
  ///   - dictionaryHandler: Fills an empty dictionary with a row and returns false; returns true, which adds no row, when there are no more.
  public init(
    entityName: String, onConflict: BatchConflictPolicy = .error, dictionaryHandler: @escaping (inout [String: Any]) throws -> Bool
  ) {
    self.init(entityName: entityName, onConflict: onConflict) {
      { builder in
        var row: [String: Any] = [:]
        if try dictionaryHandler(&row) { return false }
        try builder.set(row)
        return true
      }
    }
  }

  package init(entityName: String?, onConflict: BatchConflictPolicy, makeSource: @escaping () -> Source) {
    self.entityName = entityName
    self.onConflict = onConflict
    self.makeSource = makeSource
  }
}
