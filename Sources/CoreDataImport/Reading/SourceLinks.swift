import ObjectModel
import ObjectStore
import SQLCipherConnection
import SQLCipherStore

/// Reads the links of a many-to-many relationship in batches, with one statement.
final class SourceLinks {
  private let join: SourceJoin
  private let layout: SourceLayout
  private let reader: ValueReader
  private let options: CoreDataImportOptions
  private let near: SourceTable
  private let far: SourceTable
  private let nearOffset: Int64
  private let farOffset: Int64
  private let nearFactor: Int64
  private let farFactor: Int64
  private let statement: Statement
  private var isAtEnd = false

  init(
    _ join: SourceJoin, layout: SourceLayout, reader: ValueReader, options: CoreDataImportOptions, offsets: [Int: Int64],
    connection: Connection
  ) throws {
    self.join = join
    self.layout = layout
    self.reader = reader
    self.options = options
    guard let near = layout.table(of: join.relationship.sourceEntity), let far = layout.table(of: join.relationship.destinationEntity)
    else {
      throw CoreDataImportError(
        .destinationNotHeld,
        entityName: layout.model.entities[join.relationship.sourceEntity].name, propertyName: join.relationship.name)
    }
    self.near = near
    self.far = far
    nearOffset = offsets[near.root.number] ?? 0
    farOffset = offsets[far.root.number] ?? 0
    nearFactor = try join.nearOrder.map { try PlaceScale.factor($0, in: join.name, as: "j", connection) } ?? 1
    farFactor = try join.farOrder.map { try PlaceScale.factor($0, in: join.name, as: "j", connection) } ?? 1
    let columns = [
      "j.\(join.near)", SourceRows.entity(in: near, key: "j.\(join.near)"), "j.\(join.far)",
      SourceRows.entity(in: far, key: "j.\(join.far)"),
      join.nearOrder ?? "NULL", join.farOrder ?? "NULL",
    ]
    statement = try connection.statement(sql: "SELECT \(columns.joined(separator: ", ")) FROM \(join.name) AS j")
  }

  deinit { statement.reset() }

  /// Returns the next batch of links; nil at the end.
  func next() throws -> [RowTransfer.Link]? {
    var links: [RowTransfer.Link] = []
    while links.count < SourceRows.rowsPerBatch, !isAtEnd {
      guard try statement.step() else {
        isAtEnd = true
        break
      }
      guard let from = end(near, 0, join.relationship.sourceEntity), let to = end(far, 2, join.relationship.destinationEntity) else {
        let source = layout.model.entities[join.relationship.sourceEntity]
        if options.skipsMissing {
          reader.note(source.number, join.relationship.name, "links lead to no object of the right entity and were left out")
          continue
        }
        throw CoreDataImportError(.danglingLink, entityName: source.name, propertyName: join.relationship.name, key: statement.int64(0))
      }
      links.append(
        RowTransfer.Link(
          near: ObjectReference(entity: from, key: statement.int64(0) &+ nearOffset),
          far: ObjectReference(entity: to, key: statement.int64(2) &+ farOffset), nearPosition: place(4, nearFactor),
          farPosition: place(5, farFactor)))
    }
    return links.isEmpty ? nil : links
  }

  /// Returns the entity at one end of a link; nil if the object does not exist.
  private func end(_ table: SourceTable, _ column: Int32, _ expected: Int) -> Int? {
    guard statement.type(column) == .integer, !statement.isNull(column + 1), let number = table.entity(of: statement.int64(column + 1)),
      layout.model.entities[expected].subtree.contains(number)
    else { return nil }
    return number
  }

  private func place(_ column: Int32, _ factor: Int64) -> Int64? {
    statement.type(column) == .integer ? statement.int64(column) &* factor : nil
  }

  static func count(_ join: SourceJoin, connection: Connection) throws -> Int {
    let statement = try connection.statement(sql: "SELECT count(*) FROM \(join.name)")
    defer { statement.reset() }
    return try statement.step() ? statement.int(0) : 0
  }
}
