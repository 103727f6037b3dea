public import ObjectModel
public import ObjectQuery

/// A chunk of a batch insert, as passed to a store: rows of one entity, in order.
public struct BatchInsertion: Sendable {
  /// The name of the entity.
  public let entityName: String
  /// The rows to insert, with permanent keys, the first version, and default values for omitted properties.
  public package(set) var rows: RowList
  /// The slots of each row for which the request provides values.
  public let given: [SlotMask]
  /// The index of the chunk's first row in the whole request, for errors.
  public let firstRow: Int
  /// The handling of rows whose unique values are taken.
  public let onConflict: BatchConflictPolicy

  /// Creates a chunk.
  ///
  /// - Parameters:
  ///   - entityName: The name of the entity.
  ///   - rows: The rows, with permanent keys.
  ///   - given: The slots of each row for which the request provides values.
  ///   - firstRow: The index of the chunk's first row in the request.
  ///   - onConflict: The handling of rows whose unique values are taken.
  public init(entityName: String, rows: RowList, given: [SlotMask], firstRow: Int, onConflict: BatchConflictPolicy) {
    self.entityName = entityName
    self.rows = rows
    self.given = given
    self.firstRow = firstRow
    self.onConflict = onConflict
  }
}

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

/// A request to set properties of all objects that match a predicate, in the store and without instantiating them.
///
/// ```swift
/// let request = BatchUpdateRequest(
///   entityName: "Book", predicate: try FetchPredicate(format: "author.name == %@", "Ada"),
///   propertiesToUpdate: ["isOnSale": true, "price": try FetchExpression(format: "price * 0.8")])
/// let count = try context.execute(request).count
/// ```
///
/// All values are computed from the rows as they were before the request, then converted and validated as in a save. The versions of the
/// rows are incremented, so that contexts with older values detect a conflict and do not overwrite the new ones. The request reads saved
/// rows only; unsaved changes are unaffected.
///
/// The encrypted store needs about the same memory for ten million rows as for one million: beyond a million rows it keeps about one bit for
/// each of many neighboring keys, at most two bytes for any other. Only if values are computed from properties of other objects that
/// the same request sets, it keeps the new values of all rows. A request for more than a million rows in a transaction of several requests
/// cannot fail on its own: its error rolls back the whole transaction.
public struct BatchUpdateRequest: Sendable {
  /// The name of the entity.
  public var entityName: String
  /// The predicate that selects the objects, or nil for all.
  public var predicate: FetchPredicate?
  /// The new values, by property name.
  ///
  /// Values are of the attributes' types, `nil`, ``ManagedObjectID``s of saved objects for to-one relationships, or ``FetchExpression``s
  /// that are computed for each object. The inverse of a relationship is updated, except a named inverse that does not lead back: set that one
  /// in objects.
  public var propertiesToUpdate: [String: (any Sendable)?]
  /// Whether objects of subentities are included.
  public var includesSubentities = true
  /// The kind of result to return.
  public var resultType = BatchResultType.statusOnly
  /// The identifiers of the stores to update, or nil for all.
  public var affectedStores: [String]?
  /// Whether the coordinator notifies observers of the changes, as after a save.
  public var publishesChanges = true
  /// Whether the executing context merges the changes before the call returns.
  public var mergesChanges = true

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - entityName: The name of the entity.
  ///   - predicate: The predicate that selects the objects, or nil for all.
  ///   - propertiesToUpdate: The new values by property name: constants or ``FetchExpression``s.
  public init(entityName: String, predicate: FetchPredicate? = nil, propertiesToUpdate: [String: (any Sendable)?]) {
    self.entityName = entityName
    self.predicate = predicate
    self.propertiesToUpdate = propertiesToUpdate
  }
}

/// A request to delete many objects in the store without instantiating them.
///
/// ```swift
/// let request = BatchDeleteRequest(entityName: "Book", predicate: try FetchPredicate(format: "author == nil"))
/// let count = try context.execute(request).count
/// ```
///
/// Delete rules apply as for objects: deletions cascade, references from other rows are set to nil, and links and positions in ordered
/// relationships are removed. The request throws ``BatchError`` and deletes nothing if a relationship with the rule `deny` leads to an
/// object that is not deleted, or if a required relationship would become empty. Methods of managed objects are not called.
public struct BatchDeleteRequest: Sendable {
  /// The fetch whose results are deleted, with its order, limit, and offset. Nil if ``objectIDs`` specifies the objects.
  public let fetch: FetchSpecification?
  /// The objects to delete if ``fetch`` is nil. Objects that are already deleted are skipped.
  public let objectIDs: [ManagedObjectID]
  /// The kind of result to return.
  public var resultType = BatchResultType.statusOnly
  /// The identifiers of the stores to delete from, or nil for all.
  public var affectedStores: [String]?
  /// Whether the coordinator notifies observers of the changes, as after a save.
  public var publishesChanges = true
  /// Whether the executing context merges the changes before the call returns.
  public var mergesChanges = true

  /// Creates a request to delete the results of a fetch.
  public init<Result>(fetchRequest: FetchRequest<Result>) { self.init(fetchRequest.specification) }

  /// Creates a request to delete the objects of an entity and its subentities that match a predicate.
  public init(entityName: String, predicate: FetchPredicate? = nil) {
    self.init(FetchSpecification(entityName: entityName, predicate: predicate))
  }

  /// Creates a request to delete the given objects.
  public init(objectIDs: some Sequence<ManagedObjectID>) {
    fetch = nil
    self.objectIDs = Array(objectIDs)
  }

  private init(_ specification: FetchSpecification) {
    fetch = specification
    objectIDs = []
    affectedStores = specification.affectedStores
  }
}
