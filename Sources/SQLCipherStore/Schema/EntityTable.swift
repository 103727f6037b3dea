import ObjectModel
import ObjectStore
import SQLCipherConnection

/// A column of an attribute or to-one relationship.
struct TableColumn: Sendable {
  /// The quoted name.
  let name: String
  let slot: CompiledSlot
  /// How the destination's entity is determined, for a to-one relationship.
  let destination: EntityEncoding
  /// The quoted name of the column that holds the destination's entity.
  let entityColumn: String?
  /// Whether values can be in files, whatever the current model says: true for binary and transformable attributes.
  let isLarge: Bool
  /// Whether large values are written to files.
  let keepsExternals: Bool
  /// The column's position in ``EntityTable/readColumns(alias:)``. The entity column follows it.
  let readIndex: Int32
}

/// How the entity of a reference is determined.
enum EntityEncoding: Sendable {
  /// The only possible entity, by its number in the model.
  case fixed(Int)
  /// A column holds the entity's number in its tree. Adding the offset gives its number in the model, which must be in the range.
  case stored(offset: Int, within: Range<Int>)
  /// The store does not contain the destination. The entity is taken from the model, and keys have no meaning in this store.
  case none

  /// Returns the object that a statement's columns identify, or `nil` if they are invalid.
  ///
  /// - Parameters:
  ///   - key: The column of the object's key.
  ///   - entity: The column of its entity's number, if that is stored.
  func object(of statement: Statement, key: Int32, entity: Int32) -> ObjectReference? {
    let key = statement.int64(key)
    guard RowKey.isKey(key) else { return nil }
    switch self {
    case .fixed(let number): return ObjectReference(entity: number, key: key)
    case .stored(let offset, let numbers):
      let number = statement.int(entity) &+ offset
      return numbers.contains(number) ? ObjectReference(entity: number, key: key) : nil
    case .none: return nil
    }
  }
}

/// The table of an inheritance tree, with quoted names and the columns of each entity.
final class EntityTable: Sendable {
  let index: Int
  /// The ID of its row in the table of key counters.
  let id: Int
  let root: CompiledEntity
  let name: String
  let plainName: String
  let key: String
  let version: String
  /// The quoted entity column, or `nil` if the tree has one entity.
  let entity: String?
  /// The offset from a number in the entity column to the entity's number in the model.
  let entityOffset: Int
  let columns: [TableColumn]
  /// The index of each slot's column, by the entity's position in the tree and the slot; -1 if nothing is stored.
  private let slotColumns: [[Int]]
  /// The plan for each entity that reads rows from a statement with all columns.
  let readPlans: [RowReadPlan]
  /// Rows up to this size in bytes have no overflow pages, whatever the page size.
  let safeRowSize: Int

  init(_ table: TableLayout.Table, index: Int, model: CompiledModel) throws {
    guard let first = table.entities.first, let root = model.entity(named: first.name), root.subtree.count == table.entities.count,
      TableLayout.discriminators.contains(first.discriminator)
    else {
      throw EntityTable.mismatch(table.name)
    }
    for (position, entity) in table.entities.enumerated() {
      guard model.entities[root.number + position].name == entity.name, entity.discriminator == first.discriminator &+ position else {
        throw EntityTable.mismatch(table.name)
      }
    }
    self.index = index
    id = table.id
    self.root = root
    plainName = table.name
    name = try Identifier.quoted(table.name)
    key = try Identifier.quoted(table.keyColumn)
    version = try Identifier.quoted(table.versionColumn)
    entity = try table.entityColumn.map(Identifier.quoted)
    entityOffset = root.number &- first.discriminator
    // Values that an index or constraint compares must be in the rows.
    let indexed = Set(
      root.subtree.flatMap { number in
        let description = model.entities[number].entityDescription
        return description.uniquenessConstraints.flatMap { $0 } + description.indexes.flatMap { $0.elements.compactMap(\.propertyName) }
      })
    var columns: [TableColumn] = []
    var positions: [SlotKey: Int] = [:]
    var readIndex: Int32 = entity == nil ? 2 : 3
    for column in table.columns {
      guard let declaring = model.entity(named: column.entity), let property = declaring.property(named: column.property) else {
        throw EntityTable.mismatch(table.name)
      }
      let slot: CompiledSlot
      var destination = EntityEncoding.none
      switch property {
      case .attribute(let attribute): slot = attribute
      case .toOne(let relationship):
        slot = declaring.slots[relationship.index]
        let target = model.entities[relationship.destinationEntity]
        destination =
          column.entityColumn == nil
          ? .fixed(target.number) : .stored(offset: model.entities[target.root].number - 1, within: target.subtree)
      default: throw EntityTable.mismatch(table.name)
      }
      positions[SlotKey(entity: slot.declaringEntity, slot: slot.index)] = columns.count
      let isLarge = slot.canBeLarge
      columns.append(
        TableColumn(
          name: try Identifier.quoted(column.name), slot: slot, destination: destination,
          entityColumn: try column.entityColumn.map(Identifier.quoted), isLarge: isLarge,
          keepsExternals: isLarge && slot.attribute?.allowsExternalBinaryDataStorage == true && !indexed.contains(slot.name),
          readIndex: readIndex))
      readIndex += column.entityColumn == nil ? 1 : 2
    }
    self.columns = columns
    slotColumns = root.subtree.map { number in
      model.entities[number].slots.map { positions[SlotKey(entity: $0.declaringEntity, slot: $0.index)] ?? -1 }
    }
    let slotPositions = slotColumns
    readPlans = root.subtree.map { number in
      RowReadPlan(entity: model.entities[number], columns: slotPositions[number - root.number].compactMap { $0 < 0 ? nil : columns[$0] })
    }
    safeRowSize = columns.count > 60 ? 0 : 500
  }

  private struct SlotKey: Hashable {
    let entity: Int
    let slot: Int
  }

  /// Returns the column of a slot of an entity in the tree, or `nil` if nothing is stored.
  func column(entity number: Int, slot: Int) -> TableColumn? {
    let position = slotColumns[number - root.number][slot]
    return position < 0 ? nil : columns[position]
  }

  func columns(of number: Int) -> [TableColumn] { readPlans[number - root.number].columns }

  /// Returns the condition that selects the rows of an entity, with or without its subentities, or `nil` if all rows match.
  ///
  /// The condition contains literals, since SQLite does not use partial indexes with bound values.
  func entityCondition(_ number: Int, includesSubentities: Bool, model: CompiledModel, alias: String) -> String? {
    guard let entity else { return nil }
    let subtree = includesSubentities ? model.entities[number].subtree : number..<(number + 1)
    if subtree == root.subtree { return nil }
    let first = subtree.lowerBound - entityOffset
    let last = subtree.upperBound - 1 - entityOffset
    return first == last ? "\(alias).\(entity) = \(first)" : "\(alias).\(entity) BETWEEN \(first) AND \(last)"
  }

  /// Returns the list of the key, the version, the entity and all columns, as ``readPlans`` expect it.
  func readColumns(alias: String) -> String {
    var names = ["\(alias).\(key)", "\(alias).\(version)"]
    if let entity { names.append("\(alias).\(entity)") }
    for column in columns {
      names.append("\(alias).\(column.name)")
      if let entityColumn = column.entityColumn { names.append("\(alias).\(entityColumn)") }
    }
    return names.joined(separator: ", ")
  }

  /// The number of columns in ``readColumns(alias:)``.
  var readColumnCount: Int32 { columns.last.map { $0.readIndex + ($0.entityColumn == nil ? 1 : 2) } ?? (entity == nil ? 2 : 3) }

  private static func mismatch(_ table: String) -> StoreError {
    StoreError(.layoutMismatch(table: table), operation: .open)
  }
}
