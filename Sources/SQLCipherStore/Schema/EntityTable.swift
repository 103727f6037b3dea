import ObjectModel
import ObjectStore
import SQLCipherConnection

/// A column of an attribute or to-one relationship.
struct TableColumn: Sendable {
  /// The column's quoted name.
  let name: String
  let slot: CompiledSlot
  /// How the destination's entity is known, for a to-one relationship.
  let destination: EntityEncoding
  /// The quoted name of the column of the destination's entity.
  let entityColumn: String?
  /// Whether its values may be outside the row, whatever the model says now: binary and transformable attributes.
  let isLarge: Bool
  /// Whether large values are kept outside the row.
  let keepsExternals: Bool
  /// The column's position in a row that is read as a whole, without alias prefixes; the entity column follows it.
  let readIndex: Int32
}

/// How the entity of a reference is known.
enum EntityEncoding: Sendable {
  /// It can be one only: its number in the model.
  case fixed(Int)
  /// A column holds its number in its tree; this is added to get the model's, which has to be one of a few.
  case stored(offset: Int, within: Range<Int>)
  /// The store does not hold the destination: the entity is taken from the model, and keys mean nothing here.
  case none
}

/// The table of an inheritance tree.
final class EntityTable: Sendable {
  let index: Int
  /// The row of the key counter.
  let id: Int
  let root: CompiledEntity
  /// The quoted name.
  let name: String
  let plainName: String
  let key: String
  let version: String
  /// The quoted entity column; nil where the tree has one entity only.
  let entity: String?
  /// What is added to a number in the entity column to get the model's number.
  let entityOffset: Int
  let columns: [TableColumn]
  /// The columns by the slots of each entity of the tree; the entity's position in the tree comes first. -1 where nothing is stored.
  private let slotColumns: [[Int]]
  /// The plan to read each entity's rows from a statement that selects all columns.
  let readPlans: [RowReadPlan]
  /// Rows up to this size have no overflow pages, whatever the page size (see `FaultLoader`).
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
    // What an index or constraint compares stays in the rows.
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
      let isLarge = slot.kind == .bytes && (slot.attributeType == .binary || slot.attributeType == .transformable)
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

  /// The column of a slot of an entity of the tree; nil where nothing is stored.
  func column(entity number: Int, slot: Int) -> TableColumn? {
    let position = slotColumns[number - root.number][slot]
    return position < 0 ? nil : columns[position]
  }

  /// The columns of an entity's own and inherited slots.
  func columns(of number: Int) -> [TableColumn] { readPlans[number - root.number].columns }

  /// The condition, if one is needed, that rows are of an entity or, with subentities, below it. Literals: with a bound value SQLite would ignore
  /// partial indexes.
  func entityCondition(_ number: Int, includesSubentities: Bool, model: CompiledModel, alias: String) -> String? {
    guard let entity else { return nil }
    let subtree = includesSubentities ? model.entities[number].subtree : number..<(number + 1)
    if subtree == root.subtree { return nil }
    let first = subtree.lowerBound - entityOffset
    let last = subtree.upperBound - 1 - entityOffset
    return first == last ? "\(alias).\(entity) = \(first)" : "\(alias).\(entity) BETWEEN \(first) AND \(last)"
  }

  /// Key, version, entity and all columns, for `readPlans`.
  func readColumns(alias: String) -> String {
    var names = ["\(alias).\(key)", "\(alias).\(version)"]
    if let entity { names.append("\(alias).\(entity)") }
    for column in columns {
      names.append("\(alias).\(column.name)")
      if let entityColumn = column.entityColumn { names.append("\(alias).\(entityColumn)") }
    }
    return names.joined(separator: ", ")
  }

  /// How many columns ``readColumns(alias:)`` names.
  var readColumnCount: Int32 { columns.last.map { $0.readIndex + ($0.entityColumn == nil ? 1 : 2) } ?? (entity == nil ? 2 : 3) }

  private static func mismatch(_ table: String) -> StoreError {
    StoreError(.strangeLayout(table: table), operation: .open)
  }
}
