import SQLCipherConnection

/// An index, trigger, view or virtual table of a store's file. It follows from the model and its tables and holds no data of its own, so it
/// can be dropped and created again.
struct SchemaAuxiliary: Sendable {
  /// The type in SQLite. The raw value is the type in `sqlite_master` and the keyword after CREATE and DROP.
  enum Kind: String, Sendable {
    case index
    case trigger
    case view
    /// A virtual table.
    case table
  }

  /// An attribute of an entity and its subentities.
  struct ComputedSlot: Sendable, Hashable {
    let entity: Int
    let slot: Int
  }

  let kind: Kind
  /// The unquoted name in the file.
  let name: String
  /// The statement that creates it.
  let sql: String
  /// The statements that fill it from existing rows after its creation.
  var fill: [String] = []
  /// The derived attribute whose values ``fill`` computes.
  var computedSlot: ComputedSlot?
  /// The name of the auxiliary that it is filled from. If that is recreated, this one is too.
  var source: String?

  /// Returns the statement that drops an auxiliary.
  ///
  /// - Parameters:
  ///   - kind: Its type.
  ///   - name: Its unquoted name in the file.
  ///   - schema: The attached database that contains it, or `nil` for the store's own.
  static func dropping(_ kind: Kind, _ name: String, in schema: String? = nil) throws -> String {
    "DROP \(kind.rawValue.uppercased()) \(schema.map { "\($0)." } ?? "")\(try Identifier.quoted(name))"
  }
}
