/// The names and numbers of a store's file, by the names of the model: what a later version needs in order to read it.
struct TableLayout: Codable, Sendable, Hashable {
  /// How a column's values are held.
  enum Kind: String, Codable, Sendable, Hashable {
    case integer, real, text, bytes, reference
  }

  /// The numbers that entity columns may have; a layout with others was not made by this library.
  static let discriminators = 0..<(1 << 32)

  /// An entity of a tree and its number in the entity column.
  struct Entity: Codable, Sendable, Hashable {
    var name: String
    var discriminator: Int
    /// What the history calls it.
    var historyID: Int?
  }

  /// The column of an attribute or to-one relationship.
  struct Column: Codable, Sendable, Hashable {
    /// The entity that declares the property.
    var entity: String
    var property: String
    var name: String
    var kind: Kind
    /// The column of the destination's entity, where the destination has subentities.
    var entityColumn: String?
    /// What the history calls the property.
    var historyID: Int?
  }

  /// The column that orders the members of an ordered relationship whose inverse is to-one; it stands in the members' table.
  struct OrderColumn: Codable, Sendable, Hashable {
    var entity: String
    var property: String
    var name: String
    /// What the history calls the relationship.
    var historyID: Int?
  }

  /// The table of an inheritance tree.
  struct Table: Codable, Sendable, Hashable {
    /// The row of the key counter.
    var id: Int
    var name: String
    var keyColumn: String
    var versionColumn: String
    /// The column that tells the entity; none where the tree has one entity only.
    var entityColumn: String?
    /// The entities in pre-order, numbered without holes.
    var entities: [Entity]
    var columns: [Column]
    var orderColumns: [OrderColumn]
    /// Columns that a migration left behind: nothing reads them, and no other column gets their names.
    var leftovers: [String]?
  }

  /// The table of a to-many relationship (and of its inverse, if that is to-many) that no to-one column stands for.
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
    /// The order of a target's sources, where the inverse is ordered.
    var sourceOrderColumn: String?
    /// Columns that a migration left behind.
    var leftovers: [String]?
    /// What the history calls the relationship, and its inverse where that is to-many.
    var historyID: Int?
    var inverseHistoryID: Int?
  }

  var tables: [Table] = []
  var joinTables: [JoinTable] = []
  /// Tables that a migration left behind, to be dropped later.
  var leftoverTables: [String]?
  /// Tables with columns that are to be cleared away later.
  var deferredTables: [String]?
  /// What the history knows of ids beside those above; nil where it was never switched on.
  var history: HistoryNumbering?
}

extension TableLayout {
  /// The names of all tables of the file but the bookkeeping.
  var physicalTables: [String] { tables.map(\.name) + joinTables.map(\.name) + (leftoverTables ?? []) }
}

extension TableLayout.Table {
  /// The names of all columns that the file's table has.
  var physicalColumns: [String] {
    [keyColumn, versionColumn] + (entityColumn.map { [$0] } ?? []) + columns.flatMap { [$0.name] + ($0.entityColumn.map { [$0] } ?? []) }
      + orderColumns.map(\.name) + (leftovers ?? [])
  }
}
