import ObjectModel
import ObjectStore
import SQLCipherConnection

extension BatchTransaction {
  /// The links by which the rows that a batch's table notes refer to others.
  ///
  /// - Parameters:
  ///   - column: The column of a to-one relationship.
  ///   - table: The rows' table, of which the column is.
  /// - Returns: nil where a row refers to something that cannot be an object: who changes or deletes the row need not know.
  func links(by column: TableColumn, of table: EntityTable, in noted: BatchTable) throws -> [LinkChanges.Link]? {
    let statement = try statement(table.destinations(by: column, in: noted), [])
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
