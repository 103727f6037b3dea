// BatchInsertion: a portion of a batch insertion as a store gets it: whole rows, and which of their values were given.

/// A portion of a batch insertion: rows of one entity, in order.
public struct BatchInsertion: Sendable {
  /// The name of the entity.
  public let entityName: String
  /// The rows as they are to be inserted: with permanent keys, the first version, and default values for what was not given.
  public package(set) var rows: RowList
  /// The slots that each row gives values for.
  public let given: [SlotMask]
  /// The number of the first row in the whole insertion, for errors.
  public let firstRow: Int
  /// What happens to rows whose unique values are taken.
  public let onConflict: BatchConflictPolicy

  /// Makes a portion.
  ///
  /// - Parameters:
  ///   - entityName: The entity of the rows.
  ///   - rows: The rows, with permanent keys.
  ///   - given: For each row the slots that the request gave.
  ///   - firstRow: The number of the first row in the request.
  ///   - onConflict: What is done about unique values that are taken.
  public init(entityName: String, rows: RowList, given: [SlotMask], firstRow: Int, onConflict: BatchConflictPolicy) {
    self.entityName = entityName
    self.rows = rows
    self.given = given
    self.firstRow = firstRow
    self.onConflict = onConflict
  }
}
