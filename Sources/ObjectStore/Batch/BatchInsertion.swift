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
