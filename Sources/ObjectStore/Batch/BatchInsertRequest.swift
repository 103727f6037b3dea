import ObjectModel

/// The handling of a row in a batch insert if a stored row has the same values under a uniqueness constraint.
///
/// All constraints of the entity apply, including inherited ones. Rows are processed in order, and a row can conflict with an earlier row
/// of the same batch.
public enum BatchConflictPolicy: Sendable, Hashable {
  /// The whole batch fails, and nothing is written.
  case error
  /// The new row is skipped.
  case ignore
  /// The stored object takes the values of the new row and keeps its ID. Attributes that the new row omits are reset to their default
  /// values; relationships that it omits are unchanged.
  case replace
  /// The stored object takes the values of the new row, or only those of the named properties. All other properties are unchanged.
  case update(only: [String]? = nil)
}

/// The kind of result that a batch request returns.
public enum BatchResultType: Sendable, Hashable {
  /// Only success or failure.
  case statusOnly
  /// The number of affected objects.
  case count
  /// The IDs of the affected objects.
  case objectIDs
}

/// A request to insert many rows without instantiating objects.
///
/// ```swift
/// var request = BatchInsertRequest(entityName: "Book", objects: rows, onConflict: .update())
/// let result = try context.execute(request)
/// ```
///
/// A row contains values by the names of attributes and to-one relationships; the values of relationships are the ``ManagedObjectID``s of
/// saved objects. Properties that a row omits get their default values. Values are converted and validated as in a save, but methods of
/// managed objects are not called. Either all rows take effect or none.
public struct BatchInsertRequest {
  /// Fills one row. Returns false if there are no more rows.
  package typealias Source = (BatchRowBuilder) throws -> Bool

  /// The name of the entity, or nil if the class of the objects determines it.
  public let entityName: String?
  /// The handling of rows whose unique values are taken.
  public var onConflict: BatchConflictPolicy
  /// The kind of result to return.
  public var resultType = BatchResultType.statusOnly
  /// The identifiers of the candidate stores, or nil for all. Rows are inserted into the first one that contains the entity.
  public var affectedStores: [String]?
  /// Whether the coordinator notifies observers of the changes, as after a save.
  public var publishesChanges = true
  /// Whether the executing context merges the changes before the call returns.
  public var mergesChanges = true
  /// The class of the objects that fill the rows.
  package var objectType: AnyObject.Type?
  /// Returns a source that starts with the first row. Called for each execution of the request.
  package let makeSource: () -> Source

  /// Creates a request to insert rows given as dictionaries.
  ///
  /// - Parameters:
  ///   - entityName: The name of the entity.
  ///   - objects: The rows, as values by property name. `nil` and `NSNull` represent null.
  ///   - onConflict: The handling of rows whose unique values are taken.
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

  /// Creates a request to insert rows that a closure fills one at a time, so that they need not be in memory together.
  ///
  /// - Parameters:
  ///   - entityName: The name of the entity.
  ///   - onConflict: The handling of rows whose unique values are taken.
  ///   - dictionaryHandler: Fills an empty dictionary with the values of a row and returns false. Returns true if there are no more rows;
  ///     that call adds no row.
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
