import ObjectModel

/// The names and numbers of tables, columns and entities in a store's file, assigned once at creation and stored in the metadata. Later
/// versions read the file by them.
struct TableLayout: Codable, Sendable, Hashable {
  /// How a column stores values.
  enum Kind: String, Codable, Sendable, Hashable {
    case integer, real, text, bytes, reference
  }

  /// The valid numbers in entity columns. Layouts with others were not written by this library.
  static let discriminators = 0..<(1 << 32)

  /// An entity of a tree and its number in the entity column.
  struct Entity: Codable, Sendable, Hashable {
    var name: String
    var discriminator: Int
    var historyID: Int?
  }

  /// The column of an attribute or to-one relationship.
  struct Column: Codable, Sendable, Hashable {
    /// The entity that declares the property.
    var entity: String
    var property: String
    var name: String
    var kind: Kind
    /// The column of the destination's entity, if the destination has subentities.
    var entityColumn: String?
    var historyID: Int?
  }

  /// The column in the members' table that orders the members of an ordered relationship with a to-one inverse.
  struct OrderColumn: Codable, Sendable, Hashable {
    var entity: String
    var property: String
    var name: String
    var historyID: Int?
  }

  /// The table of an inheritance tree.
  struct Table: Codable, Sendable, Hashable {
    /// The ID of its row in the table of key counters.
    var id: Int
    var name: String
    var keyColumn: String
    var versionColumn: String
    /// The column of the row's entity, or `nil` if the tree has one entity.
    var entityColumn: String?
    /// The entities in pre-order, with consecutive numbers.
    var entities: [Entity]
    var columns: [Column]
    var orderColumns: [OrderColumn]
    /// Unused columns that a migration left behind. Other columns cannot have their names.
    var leftovers: [String]?
  }

  /// The table of a to-many relationship, and of its inverse if that is to-many too.
  struct JoinTable: Codable, Sendable, Hashable {
    var entity: String
    var property: String
    var name: String
    var sourceColumn: String
    var sourceEntityColumn: String?
    var targetColumn: String
    var targetEntityColumn: String?
    /// The order of a source's targets.
    var targetOrderColumn: String?
    /// The order of a target's sources, if the inverse is ordered.
    var sourceOrderColumn: String?
    /// Unused columns that a migration left behind.
    var leftovers: [String]?
    /// The history IDs of the relationship and of its inverse, if that is to-many.
    var historyID: Int?
    var inverseHistoryID: Int?
  }

  var tables: [Table] = []
  var joinTables: [JoinTable] = []
  /// Tables that a migration left behind, to be dropped later.
  var leftoverTables: [String]?
  /// Tables with columns to be cleared later.
  var deferredTables: [String]?
  /// The state of the history's IDs apart from those above, or `nil` if the history was never switched on.
  var history: HistoryNumbering?
}

extension TableLayout {
  /// The names of all tables in the file, except the bookkeeping tables.
  var physicalTables: [String] { tables.map(\.name) + joinTables.map(\.name) + (leftoverTables ?? []) }
}

extension TableLayout.Table {
  /// The names of all columns of the table in the file.
  var physicalColumns: [String] {
    [keyColumn, versionColumn] + (entityColumn.map { [$0] } ?? []) + columns.flatMap { [$0.name] + ($0.entityColumn.map { [$0] } ?? []) }
      + orderColumns.map(\.name) + (leftovers ?? [])
  }
}

// MARK: - Assigning tables and columns

extension TableLayout {
  /// The version of the rules below. It determines whether a computed layout equals the one in a file.
  static let assignmentVersion = 1

  /// Assigns names and numbers for the entities of a new store.
  init(model: CompiledModel, entityNumbers: [Int]) {
    let storedRoots = Set(entityNumbers.map { model.entities[$0].root })
    var tableNames = NameAllocator(reserved: BookkeepingTables.reservedNames)
    let roots = model.entities.filter { $0.parent == nil && storedRoots.contains($0.number) }
    for root in roots {
      var table = TableLayout.table(of: root, in: model, id: tables.count + 1)
      table.name = tableNames.take(root.name)
      tables.append(table)
    }
    for relationship in model.relationships where storedRoots.contains(model.entities[relationship.sourceEntity].root) {
      guard Self.needsJoinTable(relationship, in: model) else { continue }
      let source = model.entities[relationship.sourceEntity]
      let target = model.entities[relationship.destinationEntity]
      let inverse = model.inverse(of: relationship)
      joinTables.append(
        JoinTable(
          entity: source.name, property: relationship.name, name: tableNames.take("\(source.name)_\(relationship.name)"),
          sourceColumn: "source", sourceEntityColumn: source.subtree.count > 1 ? "source_entity" : nil, targetColumn: "target",
          targetEntityColumn: target.subtree.count > 1 ? "target_entity" : nil,
          targetOrderColumn: relationship.isOrdered ? "target_order" : nil,
          sourceOrderColumn: inverse.map { $0.isOrdered && $0.id != relationship.id } ?? false ? "source_order" : nil))
    }
  }

  /// Returns whether a relationship declares a join table. Of two inverse to-many relationships, the one with the lower number declares it.
  static func needsJoinTable(_ relationship: CompiledRelationship, in model: CompiledModel) -> Bool {
    guard relationship.isToMany, !relationship.isTransient else { return false }
    guard let inverse = model.inverse(of: relationship), !inverse.isTransient else { return true }
    return inverse.isToMany && relationship.id <= inverse.id
  }

  /// Returns whether the members' table stores their order.
  static func needsOrderColumn(_ relationship: CompiledRelationship, in model: CompiledModel) -> Bool {
    guard relationship.isToMany, relationship.isOrdered, !relationship.isTransient else { return false }
    guard let inverse = model.inverse(of: relationship), !inverse.isTransient else { return false }
    return !inverse.isToMany
  }

  private static func table(of root: CompiledEntity, in model: CompiledModel, id: Int) -> Table {
    let isTree = root.subtree.count > 1
    // Columns with these names would hide SQLite's own.
    var names = NameAllocator(reserved: ["rowid", "oid", "_rowid_"])
    var table = Table(
      id: id, name: "", keyColumn: names.take("_pk"), versionColumn: names.take("_version"),
      entityColumn: isTree ? names.take("_entity") : nil, entities: [], columns: [], orderColumns: [])
    for number in root.subtree {
      let entity = model.entities[number]
      table.entities.append(Entity(name: entity.name, discriminator: number - root.number + 1))
      for slot in entity.slots where slot.declaringEntity == number && !slot.isTransient {
        guard let kind = Kind(slot.kind) else { continue }
        table.columns.append(Column(entity: entity.name, property: slot.name, name: names.take(slot.name), kind: kind))
      }
    }
    // All properties have their names; now name the columns that accompany them.
    for index in table.columns.indices where table.columns[index].kind == .reference {
      let column = table.columns[index]
      guard let relationship = model.entity(named: column.entity)?.property(named: column.property)?.toOne,
        model.entities[relationship.destinationEntity].subtree.count > 1
      else { continue }
      table.columns[index].entityColumn = names.take("\(column.name)_entity")
    }
    for relationship in model.relationships where needsOrderColumn(relationship, in: model) {
      guard let inverse = model.inverse(of: relationship), root.subtree.contains(inverse.sourceEntity) else { continue }
      table.orderColumns.append(
        OrderColumn(
          entity: model.entities[relationship.sourceEntity].name, property: relationship.name, name: names.take("\(inverse.name)_order")))
    }
    return table
  }
}

extension TableLayout.Kind {
  /// Creates the kind of a slot's column, or `nil` if nothing is stored.
  init?(_ kind: SlotKind) {
    switch kind {
    case .int: self = .integer
    case .real: self = .real
    case .text: self = .text
    case .bytes: self = .bytes
    case .reference: self = .reference
    case .none: return nil
    }
  }

  var sqlType: String {
    switch self {
    case .integer, .reference: "INTEGER"
    case .real: "REAL"
    case .text: "TEXT"
    case .bytes: "BLOB"
    }
  }
}

extension CompiledProperty {
  var toOne: CompiledRelationship? {
    if case .toOne(let relationship) = self { relationship } else { nil }
  }
}

/// Assigns unique names to tables and columns.
///
/// A name is used as it is if possible, and gets a suffix if it is taken. Names that differ only in the case of ASCII letters clash, as in
/// SQLite.
struct NameAllocator {
  private var taken: Set<[UInt8]> = []

  /// Creates a namespace with reserved names.
  init(reserved: [String]) {
    for name in reserved { taken.insert(Self.folded(name)) }
  }

  /// Returns the requested name, changed as little as needed to make it valid and unique.
  mutating func take(_ preferred: String) -> String {
    var base = String(String.UnicodeScalarView(preferred.unicodeScalars.map { $0 == "\0" ? "_" : $0 }))
    if base.isEmpty { base = "_" }
    if Self.folded(base).starts(with: Array("sqlite_".utf8)) { base = "_" + base }
    var name = base
    var number = 2
    while !taken.insert(Self.folded(name)).inserted {
      name = "\(base)_\(number)"
      number += 1
    }
    return name
  }

  private static func folded(_ name: String) -> [UInt8] {
    name.utf8.map { $0 >= 0x41 && $0 <= 0x5A ? $0 + 0x20 : $0 }
  }
}
