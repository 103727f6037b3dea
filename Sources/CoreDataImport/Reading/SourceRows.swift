import ObjectModel
import ObjectStore
import SQLCipherConnection
import SQLCipherStore

/// Reads the rows of an entity tree in batches, in the order of their keys, with one statement.
final class SourceRows {
  /// A batch of rows, with the positions of members in ordered relationships.
  struct Batch {
    var rows = RowList()
    var places: [RowTransfer.Place] = []
  }

  private struct Reference {
    let column: Int32
    let slot: CompiledSlot
    let relationship: CompiledRelationship
    let target: SourceTable
    let offset: Int64
  }
  private struct Attribute {
    let column: Int32
    let slot: CompiledSlot
  }
  private struct Order {
    let column: Int32
    let relationship: CompiledRelationship
    let owner: CompiledRelationship
    let factor: Int64
  }
  private struct Plan {
    var attributes: [Attribute] = []
    var references: [Reference] = []
    var orders: [Order] = []
  }

  private let table: SourceTable
  private let layout: SourceLayout
  private let reader: ValueReader
  private let options: CoreDataImportOptions
  private let offset: Int64
  private let statement: Statement
  private var plans: [Plan] = []
  private var isAtEnd = false
  /// The number of rows read so far, by entity.
  private(set) var counts: [Int: Int] = [:]

  static let rowsPerBatch = 2_000
  static let bytesPerBatch = 4 << 20

  /// - Parameter offsets: The offset to add to the keys of each tree, by root entity number.
  init(
    _ table: SourceTable, layout: SourceLayout, reader: ValueReader, options: CoreDataImportOptions, offsets: [Int: Int64],
    connection: Connection
  ) throws {
    self.table = table
    self.layout = layout
    self.reader = reader
    self.options = options
    offset = offsets[table.root.number] ?? 0
    var columns = ["t.\(table.key)", table.entityColumn.map { "t.\($0)" } ?? "0"]
    var attributes: [Attribute] = []
    var references: [Reference] = []
    for column in table.columns {
      let index = Int32(columns.count)
      columns.append("t.\(column.name)")
      guard let relationship = column.slot.relationship else {
        attributes.append(Attribute(column: index, slot: column.slot))
        continue
      }
      guard let target = layout.table(of: relationship.destinationEntity) else {
        throw CoreDataImportError(
          .destinationNotHeld,
          entityName: layout.model.entities[relationship.sourceEntity].name, propertyName: relationship.name)
      }
      // The destination row contains its entity, so that a missing row is detected immediately.
      columns.append(SourceRows.entity(in: target, key: "t.\(column.name)"))
      references.append(
        Reference(
          column: index, slot: column.slot, relationship: relationship, target: target, offset: offsets[target.root.number] ?? 0))
    }
    var orders: [Order] = []
    for order in table.orders {
      orders.append(
        Order(
          column: Int32(columns.count), relationship: order.relationship, owner: order.inverse,
          factor: try PlaceScale.factor("t.\(order.name)", in: table.name, as: "t", connection)))
      columns.append("t.\(order.name)")
    }
    statement = try connection.statement(
      sql: "SELECT \(columns.joined(separator: ", ")) FROM \(table.name) AS t ORDER BY t.\(table.key)")
    for number in table.root.subtree {
      let entity = layout.model.entities[number]
      func has(_ declaring: Int) -> Bool { layout.model.entities[declaring].subtree.contains(number) }
      var plan = Plan()
      plan.attributes = attributes.filter { has($0.slot.declaringEntity) }
      plan.references = references.filter { has($0.slot.declaringEntity) }
      plan.orders = orders.filter { has($0.owner.sourceEntity) }
      plans.append(entity.isAbstract ? Plan() : plan)
    }
  }

  deinit { statement.reset() }

  /// Returns an SQL expression for the entity of a row; NULL if the row does not exist.
  static func entity(in table: SourceTable, key: String) -> String {
    "(SELECT \(table.entityColumn.map { "d.\($0)" } ?? "0") FROM \(table.name) AS d WHERE d.\(table.key) = \(key))"
  }

  /// Returns the next batch of rows; nil at the end.
  func next() throws -> Batch? {
    let writer = RowWriter(rowCapacity: 64)
    var batch = Batch()
    var bytes = 0
    let before = reader.fileBytes
    while writer.count < Self.rowsPerBatch, bytes + reader.fileBytes - before < Self.bytesPerBatch, !isAtEnd {
      guard try statement.step() else {
        isAtEnd = true
        break
      }
      if layout.unknownEntities.contains(statement.int64(1)) { continue }
      bytes += try readRow(into: writer, &batch.places)
    }
    guard writer.count > 0 else { return nil }
    batch.rows = writer.finish()
    return batch
  }

  private func readRow(into writer: RowWriter, _ places: inout [RowTransfer.Place]) throws -> Int {
    let sourceKey = statement.int64(0)
    let root = table.root.name
    guard let number = table.entity(of: statement.int64(1)), !layout.model.entities[number].isAbstract else {
      throw CoreDataImportError(.unknownEntity(number: statement.int64(1)), entityName: root, key: sourceKey)
    }
    let key = sourceKey &+ offset
    guard statement.type(0) == .integer, sourceKey > 0, key > 0, key < Int64(1) << 46 else {
      throw CoreDataImportError(.invalidKey, entityName: root, key: sourceKey)
    }
    counts[number, default: 0] += 1
    let plan = plans[number - table.root.number]
    writer.beginRow(entityNumber: number, slotCount: layout.model.entities[number].slots.count, key: key, version: RowImage.firstVersion)
    for attribute in plan.attributes { try reader.read(statement, attribute.column, attribute.slot, into: writer, key: sourceKey) }
    for reference in plan.references where !statement.isNull(reference.column) {
      if let found = try destination(of: reference, sourceKey) { writer.setReference(found, at: reference.slot.index) }
    }
    for order in plan.orders where statement.type(order.column) == .integer {
      places.append(
        RowTransfer.Place(
          relationship: order.relationship.id, key: key, place: statement.int64(order.column) &* order.factor))
    }
    return writer.endRow().size
  }

  private func destination(of reference: Reference, _ sourceKey: Int64) throws -> ObjectReference? {
    let key = statement.int64(reference.column)
    guard !statement.isNull(reference.column + 1), statement.type(reference.column) == .integer,
      let number = reference.target.entity(of: statement.int64(reference.column + 1)),
      layout.model.entities[reference.relationship.destinationEntity].subtree.contains(number)
    else {
      if options.skipsMissing {
        reader.note(reference.slot, "references lead to no object of the right entity and were left out")
        return nil
      }
      throw CoreDataImportError(
        .danglingReference,
        entityName: layout.model.entities[reference.slot.declaringEntity].name, propertyName: reference.slot.name, key: sourceKey)
    }
    return ObjectReference(entity: number, key: key &+ reference.offset)
  }

  /// Returns the number of rows of a table, by entity.
  static func counts(_ table: SourceTable, layout: SourceLayout, connection: Connection) throws -> [Int: Int] {
    var counts: [Int: Int] = [:]
    let statement = try connection.statement(
      sql: "SELECT \(table.entityColumn.map { "t.\($0)" } ?? "0"), count(*) FROM \(table.name) AS t GROUP BY 1")
    defer { statement.reset() }
    while try statement.step() {
      if layout.unknownEntities.contains(statement.int64(0)) { continue }
      guard let number = table.entity(of: statement.int64(0)) else {
        throw CoreDataImportError(.unknownEntities(number: statement.int64(0), rows: statement.int(1)), entityName: table.root.name)
      }
      counts[number, default: 0] += statement.int(1)
    }
    return counts
  }

  static func maximumKey(_ table: SourceTable, connection: Connection) throws -> Int64 {
    let statement = try connection.statement(sql: "SELECT max(t.\(table.key)) FROM \(table.name) AS t")
    defer { statement.reset() }
    return try statement.step() ? statement.int64(0) : 0
  }
}

/// The factor by which positions in an order are spread, so that later moves find numbers between them.
enum PlaceScale {
  static func factor(_ expression: String, in table: String, as alias: String, _ connection: Connection) throws -> Int64 {
    let statement = try connection.statement(sql: "SELECT min(\(expression)), max(\(expression)) FROM \(table) AS \(alias)")
    defer { statement.reset() }
    guard try statement.step() else { return 1 }
    let maximum = max(statement.int64(0).magnitude, statement.int64(1).magnitude)
    return maximum < 1 << 40 ? 1 << 20 : 1
  }
}
