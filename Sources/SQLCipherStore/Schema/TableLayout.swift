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
