import ObjectModel
import ObjectStore
import SQLCipherConnection

extension BatchTransaction {
  /// Returns the links from the rows in a batch table to their destinations.
  ///
  /// - Parameters:
  ///   - column: The column of a to-one relationship.
  ///   - table: The table of the rows and the column.
  /// - Returns: The links, or `nil` if a row refers to an invalid object. Such a row can still be changed or deleted.
  func links(by column: TableColumn, of table: EntityTable, in batchTable: BatchTable) throws -> [LinkChanges.Link]? {
    let statement = try statement(table.destinations(by: column, in: batchTable), [])
    defer { statement.reset() }
    var found: [LinkChanges.Link] = []
    while try statement.step() {
      let key = statement.int64(2)
      let entity: Int
      switch column.destination {
      case .fixed(let number): entity = number
      case .stored(let offset, let numbers):
        entity = statement.int(3) &+ offset
        guard numbers.contains(entity) else { return nil }
      case .none: return nil
      }
      guard RowKey.isKey(key) else { return nil }
      let source = try schema.reference(key: statement.int64(0), entity: statement.int(1))
      found.append(LinkChanges.Link(source: source, destination: ObjectReference(entity: entity, key: key)))
    }
    return found
  }
}
